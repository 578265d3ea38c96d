//! The ways events leave linelamp, and the place where they are kept.
//!
//! - `store`: one `SQLite` file with sessions, history, source positions and the queues of durable sinks.
//!   It is no sink: it implements core's [`Journal`](linelamp_core::journal::Journal) and
//!   [`Outbox`](linelamp_core::sink::Outbox).
//!
//! Sinks neither buffer, retry nor filter: the lane that drives them does. Nothing here reads the
//! environment or a configuration file; what a sink may know is in its options. Each heavy one is
//! behind a cargo feature of its own.

#[cfg(feature = "store")]
mod private;
#[cfg(feature = "store")]
pub mod store;
