//! What the store is told when it is opened.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use linelamp_core::Event;
use linelamp_core::detail::Detail;
use linelamp_core::id::SinkName;
use linelamp_core::sink::BuildError;
use serde_json::Value;

use crate::option::{Key, Options, Shape, schema};

/// What to keep, at which level, for how long.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// The level of the history.
    pub detail: Detail,
    /// The sinks whose deliveries must survive a kill.
    pub durable: Vec<DurableSink>,
    /// How long history is kept.
    pub retention: Retention,
    /// How many events may wait in memory while the file cannot be written; an entry without events
    /// counts as one. Entries beyond it are refused: dropped, never called committed, and not known, so
    /// that their input stays where it is and is read again. So many order numbers are reserved ahead.
    pub waiting_limit: usize,
    /// The same in bytes, estimated.
    pub waiting_bytes: usize,
}

const KEYS: &[Key] = &[
    Key {
        name: "retention_days",
        shape: Shape::Whole(1, 36_500),
        required: false,
        about: "history older than this is forgotten (30)",
    },
    Key {
        name: "retention_mib",
        shape: Shape::Whole(1, 1 << 20),
        required: false,
        about: "the file's size; beyond it the oldest history is forgotten (256)",
    },
    Key {
        name: "queue_mib",
        shape: Shape::Whole(1, 1 << 20),
        required: false,
        about: "undelivered events kept for each durable sink (64)",
    },
];

impl StoreOptions {
    /// Reads the options of a configuration's `store`; the rest is as by default.
    ///
    /// # Errors
    ///
    /// [`BuildError::Option`] names what is wrong and what would be right.
    pub fn read(options: &Value) -> Result<Self, BuildError> {
        let options = Options::check(options, KEYS)?;
        let mut read = Self::default();
        let retention = &mut read.retention;
        if let Some(days) = options.whole("retention_days") {
            retention.age = Duration::from_secs(days * 24 * 60 * 60);
        }
        let bytes = |key, default| options.whole(key).map_or(default, |mebibytes| mebibytes << 20);
        retention.bytes = bytes("retention_mib", retention.bytes);
        retention.outbox_bytes = bytes("queue_mib", retention.outbox_bytes);
        Ok(read)
    }

    /// JSON Schema of these options.
    pub fn schema() -> Value {
        schema(KEYS)
    }
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            detail: Detail::Metadata,
            durable: Vec::new(),
            retention: Retention::default(),
            waiting_limit: 100_000,
            waiting_bytes: 64 << 20,
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
    /// At most so many source positions; of more, the oldest go. Far more than there can be inputs that
    /// wait to be read again: a spool holds 64 MiB, a wrapper one.
    pub positions: u64,
    /// A cursor that nobody moved for so long goes: its source has not grown since, and if it ever does it is
    /// read as one that is seen for the first time.
    pub cursor_age: Duration,
    /// Bytes of undelivered events per sink; beyond it the oldest go and are counted.
    pub outbox_bytes: u64,
}

impl Default for Retention {
    fn default() -> Self {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        Self {
            age: DAY * 30,
            bytes: 256 << 20,
            position_age: DAY * 2,
            positions: 500_000,
            cursor_age: DAY * 60,
            outbox_bytes: 64 << 20,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn retention_is_an_option_and_a_wrong_one_is_refused() {
        let read = StoreOptions::read(&json!({ "retention_days": 7, "retention_mib": 2 }));
        let retention = read.expect("right").retention;
        assert_eq!(retention.age, Duration::from_secs(7 * 24 * 60 * 60));
        assert_eq!(retention.bytes, 1 << 21);
        assert_eq!(retention.outbox_bytes, Retention::default().outbox_bytes);
        let none = StoreOptions::read(&Value::Null).expect("nothing is needed");
        assert_eq!(none.retention, Retention::default());
        let error = StoreOptions::read(&json!({ "retention_day": 7 })).expect_err("refused");
        assert!(error.to_string().contains("did you mean `retention_days`?"), "{error}");
    }
}
