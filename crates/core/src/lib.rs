//! The model, the state and the bus of linelamp.
//!
//! Feeds hand [`Draft`]s to a publisher; identity decides whether a draft is news or a second
//! sighting; the resolver turns all evidence of a session into one state; the bus orders the
//! resulting [`Event`]s and fans them out to sinks without ever waiting for one.
//!
//! This crate does no I/O, knows no agent and no transport. Those live in `linelamp-drivers`,
//! `linelamp-feeds` and `linelamp-sinks`, which all depend on this crate and never on one another.
//!
//! Start reading at [`event`] (what is carried), then [`state`] (how state is decided), then
//! `bus` (how it is delivered).

pub mod detail;
pub mod digest;
pub mod draft;
pub mod driver;
pub mod event;
pub mod id;
pub mod process;
pub mod state;

#[cfg(feature = "runtime")]
pub mod bus;
#[cfg(feature = "runtime")]
pub mod feed;
#[cfg(feature = "runtime")]
pub mod journal;
#[cfg(feature = "runtime")]
pub mod sink;

pub use jiff::Timestamp;

pub use crate::draft::{Draft, Ending, Hints};
pub use crate::event::{Body, Event, Origin, Scope, Trust};
pub use crate::id::{AgentName, EventId, Seq, SessionKey};
