//! Notifications of macOS and Windows, which are shown and then out of our hands.

use linelamp_core::SessionKey;
use linelamp_core::sink::{BoxError, BoxFuture};
use notify_rust::Notification;

use super::note::Note;
use super::screen::Screen;

/// The desktop of this system.
#[derive(Debug, Default)]
pub(super) struct Desktop;

impl Screen for Desktop {
    fn show<'a>(
        &'a mut self,
        _session: &'a SessionKey,
        note: &'a Note,
    ) -> BoxFuture<'a, Result<(), BoxError>> {
        let mut notification = Notification::new();
        notification.appname("linelamp").summary(&note.title).body(&note.text);
        Box::pin(async move {
            // The system's call blocks.
            let shown = tokio::task::spawn_blocking(move || {
                notification.show().map(drop).map_err(BoxError::from)
            });
            shown.await?
        })
    }

    fn close<'a>(&'a mut self, _session: &'a SessionKey) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    fn forget(&mut self, _session: &SessionKey) {}
}
