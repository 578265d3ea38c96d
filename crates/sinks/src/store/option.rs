//! What the store is told when it is opened.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use linelamp_core::Event;
use linelamp_core::detail::Detail;
use linelamp_core::id::SinkName;

/// What to keep, at which level, for how long.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// The level of the history.
    pub detail: Detail,
    /// The sinks whose deliveries must survive a kill.
    pub durable: Vec<DurableSink>,
    /// How long history is kept.
    pub retention: Retention,
    /// How many events may wait in memory while the file cannot be written. Entries beyond it are
    /// refused: never called committed, so their input stays where it is and is read after a restart.
    pub waiting_limit: usize,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            detail: Detail::Metadata,
            durable: Vec::new(),
            retention: Retention::default(),
            waiting_limit: 100_000,
        }
    }
}

/// A sink with a queue in the store.
#[derive(Clone)]
pub struct DurableSink {
    /// Its name in the configuration.
    pub name: SinkName,
    /// The level its queue is stored at.
    pub detail: Detail,
    /// Which events it wants. Pieces of messages are never queued.
    accepts: Arc<dyn Fn(&Event) -> bool + Send + Sync>,
}

impl DurableSink {
    /// A sink whose queue holds, at `detail`, what `accepts` says yes to: usually its filter's `passes`.
    /// It is called on the store's own thread and must not wait.
    pub fn new(
        name: impl Into<SinkName>,
        detail: Detail,
        accepts: impl Fn(&Event) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), detail, accepts: Arc::new(accepts) }
    }

    pub(super) fn accepts(&self, event: &Event) -> bool {
        (self.accepts)(event)
    }
}

impl fmt::Debug for DurableSink {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("DurableSink")
            .field("name", &self.name)
            .field("detail", &self.detail)
            .finish_non_exhaustive()
    }
}

/// When things are forgotten. All deletions come in small steps between the writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Events, ended sessions and undelivered rows older than this go.
    pub age: Duration,
    /// The file's size in use; the oldest events go until it fits.
    pub bytes: u64,
    /// Source positions older than this go: no input lives longer than the spool's 24 hours.
    pub position_age: Duration,
    /// Bytes of undelivered events per sink; beyond it the oldest go and are counted.
    pub outbox_bytes: u64,
}

impl Default for Retention {
    fn default() -> Self {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        Self { age: DAY * 30, bytes: 256 << 20, position_age: DAY * 2, outbox_bytes: 64 << 20 }
    }
}
