//! What makes accepted events durable: the contract between the bus and a store.
//!
//! The bus hands each published batch to the journal while it still holds its order, so entries come
//! in `seq` order and a batch is never split. The journal writes an entry in one transaction together
//! with the batch's place in its source, so that an input is either taken in whole or will be read again.

use std::sync::Arc;

use crate::event::Event;
use crate::id::Seq;
use crate::state::SessionRecord;

/// Names one input that is taken once: a spool file, a numbered batch of a wrapper.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position(pub Arc<str>);

impl Position {
    /// Takes the position's text, unique among all feeds: `hook/NAME`, `wrap/INSTANCE/N`, …
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }
}

/// How far a source that grows has been read. A later cursor of the same source replaces it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cursor {
    /// The source, unique among all feeds: `transcript/PATH`.
    pub source: Arc<str>,
    /// The place in it, in the feed's own words.
    pub value: Arc<str>,
}

impl Cursor {
    /// How far `source` has been read.
    pub fn new(source: impl Into<Arc<str>>, value: impl Into<Arc<str>>) -> Self {
        Self { source: source.into(), value: value.into() }
    }
}

/// Where a batch came from, in the form in which it is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// An input that is taken once, as a whole.
    Position(Position),
    /// A part of a source that grows: it was read up to here.
    Cursor(Cursor),
}

impl Input {
    /// The position, if it is one.
    pub fn position(&self) -> Option<&Position> {
        match self {
            Self::Position(position) => Some(position),
            Self::Cursor(_) => None,
        }
    }

    /// The cursor, if it is one.
    pub fn cursor(&self) -> Option<&Cursor> {
        match self {
            Self::Cursor(cursor) => Some(cursor),
            Self::Position(_) => None,
        }
    }
}

impl From<Position> for Input {
    fn from(position: Position) -> Self {
        Self::Position(position)
    }
}

impl From<Cursor> for Input {
    fn from(cursor: Cursor) -> Self {
        Self::Cursor(cursor)
    }
}

/// One published batch.
#[derive(Debug)]
pub struct Entry {
    /// Where it came from; absent for what has no source to read again.
    pub input: Option<Input>,
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
