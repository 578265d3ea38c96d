//! What makes accepted events durable: the contract between the bus and a store.
//!
//! The bus hands each published batch to the journal while it still holds its order, so entries come
//! in `seq` order and a batch is never split. The journal writes an entry in one transaction together
//! with the batch's source position, so that an input is either taken in whole or will be read again.

use std::sync::Arc;

use crate::event::Event;
use crate::id::Seq;
use crate::state::SessionRecord;

/// Names one input: a spool file, a numbered batch of a wrapper, an offset of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position(pub Arc<str>);

impl Position {
    /// Takes the position's text, unique among all feeds: `hook/NAME`, `wrap/INSTANCE/N`, …
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }
}

/// One published batch.
#[derive(Debug)]
pub struct Entry {
    /// Where it came from; absent for what has no source to read again.
    pub position: Option<Position>,
    /// What was published, in order. May be empty: an input that only confirmed is known as well.
    pub events: Vec<Arc<Event>>,
    /// The evidence of every session the batch touched, as it was after the batch.
    pub sessions: Vec<Arc<SessionRecord>>,
    /// The bus goes on here: no number from here on was given away.
    pub next_seq: Seq,
    /// Told when the entry is durable.
    pub committed: Option<Committed>,
}

/// Called once when an entry is durable.
pub struct Committed(pub Box<dyn FnOnce() + Send>);

impl std::fmt::Debug for Committed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Committed(…)")
    }
}

/// Takes entries. Called under the bus's lock: must only queue, never wait, never do I/O.
pub trait Journal: Send + Sync {
    /// Queues an entry.
    fn append(&self, entry: Entry);
}
