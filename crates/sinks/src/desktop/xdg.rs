//! Notifications over the session bus: Linux and other free desktops.

use std::collections::HashMap;
use std::time::Duration;

use linelamp_core::SessionKey;
use linelamp_core::sink::{BoxError, BoxFuture};
use notify_rust::{Notification, NotificationHandle, Timeout};
use tokio::time::timeout;

use super::note::Note;
use super::screen::Screen;

/// A service that takes longer for one notification counts as absent.
const PATIENCE: Duration = Duration::from_secs(5);

/// The desktop of the session bus, with what is shown there.
#[derive(Debug, Default)]
pub(super) struct Desktop {
    shown: HashMap<SessionKey, NotificationHandle>,
}

impl Screen for Desktop {
    fn show<'a>(
        &'a mut self,
        session: &'a SessionKey,
        note: &'a Note,
    ) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async move {
            let mut notification = Notification::new();
            notification.appname("linelamp").summary(&note.title).body(&escape(&note.text));
            // What waits stays until it is settled; the rest goes as is usual on this desktop.
            notification.timeout(if note.topic.waits() {
                Timeout::Never
            } else {
                Timeout::Default
            });
            if let Some(shown) = self.shown.get(session) {
                notification.id(shown.id());
            }
            let handle = timeout(PATIENCE, notification.show_async())
                .await
                .map_err(|_| "the notification service does not answer")??;
            self.shown.insert(session.clone(), handle);
            Ok(())
        })
    }

    fn close<'a>(&'a mut self, session: &'a SessionKey) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Some(handle) = self.shown.remove(session)
                && timeout(PATIENCE, handle.close_async()).await.is_err()
            {
                tracing::debug!("the notification service does not answer");
            }
        })
    }

    fn forget(&mut self, session: &SessionKey) {
        self.shown.remove(session);
    }
}

/// Bodies may hold markup, so what looks like it is escaped.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
