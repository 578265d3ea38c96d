//! One `SQLite` file that remembers: sessions, history, source positions, queues of durable sinks.
//!
//! [`Store`] is the daemon's end: it takes entries from the bus without ever making it wait, and one
//! thread writes them, many whole entries to a transaction. [`Reader`] is everybody else's end: a
//! connection of its own that may read while the daemon runs, and when it does not.
//!
//! What is kept: every essential event, the newest event of each [`Latest`] key, the record of every
//! session, every position of the last two days, how far each source that grows was read, and for each durable sink the events its filter
//! accepts. Pieces of messages and what may be shed are not kept. History is stored without content
//! unless [`StoreOptions::detail`] says otherwise; a queue is stored at its sink's level.
//!
//! Durability. The file is in WAL mode with `synchronous = NORMAL`: a commit has handed its bytes to
//! the operating system, so a kill of the process (also `kill -9`) at any moment loses nothing that
//! was committed and leaves no half entry. A crash of the whole machine may cost the last moments
//! before it, never the file's consistency. An entry's `committed` is only called after its commit.
//!
//! What it does not do: it decides no state, sends nothing, and never deletes what it has not been
//! told to keep for a limited time (see [`Retention`]).
//!
//! Start reading at `handle.rs` (the parts and how they meet), then `writer.rs` (the thread), then
//! `group.rs` (one transaction).
//!
//! [`Latest`]: linelamp_core::event::Delivery::Latest

mod command;
mod connection;
mod error;
mod group;
mod handle;
mod health;
mod known;
mod number;
mod option;
mod outbox;
mod prepare;
mod query;
mod queue;
mod read;
mod restore;
mod retention;
mod schema;
mod writer;

pub use self::error::StoreError;
pub use self::handle::Store;
pub use self::health::{StoreHealth, StoreState};
pub use self::option::{DurableSink, Retention, StoreOptions};
pub use self::query::{EventQuery, SessionQuery, StoredEvent};
pub use self::read::Reader;
pub use self::restore::Restored;
