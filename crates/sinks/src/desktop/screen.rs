//! What the sink needs of a desktop.

use linelamp_core::SessionKey;
use linelamp_core::sink::{BoxError, BoxFuture};

use super::note::Note;

/// Shows one notification for each session.
pub(super) trait Screen: Send {
    /// Shows a note in place of the session's present one.
    fn show<'a>(
        &'a mut self,
        session: &'a SessionKey,
        note: &'a Note,
    ) -> BoxFuture<'a, Result<(), BoxError>>;

    /// Takes the session's note away, if it is still there.
    fn close<'a>(&'a mut self, session: &'a SessionKey) -> BoxFuture<'a, ()>;

    /// The session's note, if any, stays and will not be replaced.
    fn forget(&mut self, session: &SessionKey);
}
