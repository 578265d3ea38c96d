//! What the writer is asked besides entries.

use linelamp_core::id::SinkName;
use linelamp_core::sink::BoxError;
use tokio::sync::oneshot;

/// Rows of a sink that are delivered or given up.
#[derive(Debug)]
pub(super) struct Settle {
    pub(super) sink: SinkName,
    pub(super) row: u64,
    pub(super) done: oneshot::Sender<Result<(), BoxError>>,
}
