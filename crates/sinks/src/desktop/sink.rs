//! The sink around the desk and the screen.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use linelamp_core::Event;
use linelamp_core::sink::{BoxFuture, DeliverError, Sink, SinkNeeds};
use tokio::time::Instant;

use super::desk::{Action, Desk};
use super::screen::Screen;

/// After a failure, this long nothing is shown.
const OFF: Duration = Duration::from_secs(300);

/// Shows what events ask for.
pub(super) struct Notifier {
    desk: Desk,
    screen: Box<dyn Screen>,
    off_until: Option<Instant>,
}

impl Notifier {
    pub(super) fn new(desk: Desk, screen: Box<dyn Screen>) -> Self {
        Self { desk, screen, off_until: None }
    }

    async fn act(&mut self, action: Action) {
        let off = self.off_until.is_some_and(|until| Instant::now() < until);
        match action {
            Action::Show(session, note) if !off => match self.screen.show(&session, &note).await {
                Ok(()) => self.off_until = None,
                Err(error) => {
                    if self.off_until.is_none() {
                        tracing::warn!(%error, "no desktop to show notifications on, they are off");
                    }
                    self.off_until = Some(Instant::now() + OFF);
                }
            },
            Action::Close(session) if !off => self.screen.close(&session).await,
            Action::Show(session, _) | Action::Close(session) | Action::Forget(session) => {
                self.screen.forget(&session);
            }
        }
    }
}

impl Sink for Notifier {
    fn deliver<'a>(
        &'a mut self,
        batch: &'a [Arc<Event>],
    ) -> BoxFuture<'a, Result<(), DeliverError>> {
        Box::pin(async move {
            for event in batch {
                let mut actions = Vec::new();
                self.desk.take(event, &mut actions);
                for action in actions {
                    self.act(action).await;
                }
            }
            // A notification that could not be shown now is not worth showing later.
            Ok(())
        })
    }

    fn needs(&self) -> SinkNeeds {
        SinkNeeds { deliver_limit: Duration::from_secs(60), ..SinkNeeds::default() }
    }
}

impl fmt::Debug for Notifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Notifier").field("desk", &self.desk).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use linelamp_core::SessionKey;
    use linelamp_core::sink::BoxError;

    use super::super::note::{Note, Topic};
    use super::*;

    /// A screen that is there or not, and counts how often it was asked.
    #[derive(Clone, Default)]
    struct Fake(Arc<Mutex<(bool, u32)>>);

    impl Screen for Fake {
        fn show<'a>(
            &'a mut self,
            _: &'a SessionKey,
            _: &'a Note,
        ) -> BoxFuture<'a, Result<(), BoxError>> {
            let mut state = self.0.lock().expect("a lock");
            state.1 += 1;
            let result = if state.0 { Ok(()) } else { Err("nobody is there".into()) };
            Box::pin(std::future::ready(result))
        }

        fn close<'a>(&'a mut self, _: &'a SessionKey) -> BoxFuture<'a, ()> {
            Box::pin(std::future::ready(()))
        }

        fn forget(&mut self, _: &SessionKey) {}
    }

    fn show() -> Action {
        let session = SessionKey::new("codex", "1");
        let note = Note::new(Topic::Done, &session, None, "is done".to_owned());
        Action::Show(session, note)
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_desktop_it_is_off_and_tries_again_only_now_and_then() {
        let fake = Fake::default();
        let asked = || fake.0.lock().expect("a lock").1;
        let mut notifier = Notifier::new(Desk::new([]), Box::new(fake.clone()));
        for _ in 0..100 {
            notifier.act(show()).await;
        }
        assert_eq!(asked(), 1);
        tokio::time::advance(OFF).await;
        for _ in 0..100 {
            notifier.act(show()).await;
        }
        assert_eq!(asked(), 2);
        fake.0.lock().expect("a lock").0 = true;
        tokio::time::advance(OFF).await;
        for _ in 0..100 {
            notifier.act(show()).await;
        }
        assert_eq!(asked(), 102);
    }
}
