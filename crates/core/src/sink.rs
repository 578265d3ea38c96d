//! The way events go out: what a sink must do, and what it may ask for.
//!
//! A sink is driven by a lane of the bus, which batches, waits, retries and isolates. A sink does not
//! buffer, retry, or filter by itself.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::detail::Detail;
use crate::event::Event;
use crate::id::{Seq, SinkName};

/// An owned future that can be sent to another thread.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// An error of any kind, for the log.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Takes events out of linelamp.
pub trait Sink: Send {
    /// Delivers a batch, in order. A batch whose delivery is cut short by the lane's time limit is
    /// delivered again.
    fn deliver<'a>(
        &'a mut self,
        batch: &'a [Arc<Event>],
    ) -> BoxFuture<'a, Result<(), DeliverError>>;

    /// Finishes what is buffered; at most `within`.
    fn flush(&mut self, within: Duration) -> BoxFuture<'_, Result<(), BoxError>> {
        let _ = within;
        Box::pin(std::future::ready(Ok(())))
    }

    /// What the sink wants to get, and in what portions.
    fn needs(&self) -> SinkNeeds {
        SinkNeeds::default()
    }
}

/// What a sink wants.
#[derive(Clone, Debug, PartialEq)]
pub struct SinkNeeds {
    /// Whether pieces of messages are wanted; without them only whole ones come.
    pub deltas: bool,
    /// The most detail the sink can use. The configuration must grant it as well.
    pub detail: Detail,
    /// How many events one batch may hold.
    pub max_batch: usize,
    /// How long a batch may wait to fill.
    pub linger: Duration,
    /// How long one delivery may take before the sink counts as stalled.
    pub deliver_limit: Duration,
}

impl Default for SinkNeeds {
    fn default() -> Self {
        Self {
            deltas: false,
            detail: Detail::Metadata,
            max_batch: 64,
            linger: Duration::from_millis(20),
            deliver_limit: Duration::from_secs(10),
        }
    }
}

/// Why a batch was not delivered. `taken` events of it were, from the front.
#[derive(Debug)]
pub enum DeliverError {
    /// Try the rest again, not before `after` if it is given.
    Retry {
        /// How many were delivered.
        taken: usize,
        /// How long the other side asks to wait.
        after: Option<Duration>,
        /// Why.
        source: BoxError,
    },
    /// The event after the `taken` ones will never be accepted: skip it and go on.
    Rejected {
        /// How many were delivered.
        taken: usize,
        /// Why.
        source: BoxError,
    },
    /// The sink is broken and must be built anew.
    Fatal(BoxError),
}

impl fmt::Display for DeliverError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Retry { source, .. } => write!(formatter, "delivery failed for now: {source}"),
            Self::Rejected { source, .. } => write!(formatter, "event rejected: {source}"),
            Self::Fatal(source) => write!(formatter, "sink is broken: {source}"),
        }
    }
}

impl std::error::Error for DeliverError {}

/// Makes sinks of one kind from their configuration.
pub trait SinkFactory: Send + Sync {
    /// The word that stands for this kind in the configuration.
    fn kind(&self) -> &str;

    /// JSON Schema of the options, if there is one.
    fn schema(&self) -> Option<serde_json::Value> {
        None
    }

    /// Builds a sink. Called again after a fatal error.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if the options are wrong or the sink cannot start.
    fn build(&self, options: &serde_json::Value) -> Result<Box<dyn Sink>, BuildError>;
}

/// Why a feed or a sink could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// An option is wrong.
    #[error("option `{key}`: {problem}")]
    Option {
        /// The option's name, with dots for tables.
        key: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// Something outside is missing or refused.
    #[error("{0}")]
    Unavailable(BoxError),
}

/// One queued delivery of a durable sink.
#[derive(Clone, Debug, PartialEq)]
pub struct OutboxRow {
    /// Order within the sink's queue.
    pub row: u64,
    /// The event, exactly as it was queued; a repeated delivery has the same bytes.
    pub event: Arc<Event>,
}

/// A durable queue per sink, filled in the transaction that commits the events.
///
/// A durable lane reads from here instead of the ring, so a delivery survives a kill of the daemon.
pub trait Outbox: Send + Sync {
    /// The oldest rows of `sink` after row `after`, at most `limit`.
    fn pending(
        &self,
        sink: &SinkName,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OutboxRow>, BoxError>>;

    /// Removes every row of `sink` up to and including `row`: they are delivered or given up.
    fn settle(&self, sink: &SinkName, row: u64) -> BoxFuture<'_, Result<(), BoxError>>;

    /// Resolves when rows may have been added for any sink since `seq` was committed; gives the newest
    /// committed order number.
    fn committed_after(&self, seq: Seq) -> BoxFuture<'_, Seq>;
}
