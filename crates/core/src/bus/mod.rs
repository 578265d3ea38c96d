//! Orders events and carries them to sinks, waiting for none of them.
//!
//! A [`Publisher`] takes drafts in under one short lock, where the resolver makes them events and gives
//! them their order. From there they go over a ring; for each sink a pump filters them into a mailbox,
//! and a lane delivers what is in it, in batches, with time limits and retries. A sink that is slow, dead
//! or mad loses its own events and hears of it ([`BusGap`](crate::event::BusGap), then the state of every
//! session); the publisher and other sinks never notice.
//!
//! The bus does no I/O and reads no configuration. Start at [`Bus`]; what is promised, clause by clause,
//! stands in `docs/spec/bus.md`.
//!
//! ```text
//! Publisher ─► publish lock: rate, validate, resolver, seq ─► journal
//!                 └─► ring ─► pump: filter, detail ─► mailbox ─► lane: batch, deadline, retry ─► Sink
//! ```

mod backlog;
mod backoff;
mod builder;
mod clock;
mod counter;
mod drain;
mod engine;
mod entry;
mod feed_set;
mod feed_state;
mod filter;
mod guard;
mod handle;
mod item;
mod lane;
mod lane_state;
mod mailbox;
mod merge;
mod open_keys;
mod order;
mod publisher;
mod pump;
mod rate;
mod ring;
mod setup;
mod shared;
mod sink_state;
mod slots;
mod stats;
mod subscribe;
mod supply;
mod validate;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use self::builder::Builder;
pub use self::clock::{Clock, SystemClock};
pub use self::drain::{Drain, DrainReport, Unfinished};
pub use self::feed_set::FeedSet;
pub use self::filter::{Filter, State};
pub use self::handle::Bus;
pub use self::publisher::{PublishError, Publisher};
pub use self::rate::Rate;
pub use self::setup::{AddSinkError, MailboxLimits, RetryPolicy, SinkSetup, SinkSource};
pub use self::stats::{BusStats, Dropped, FeedStats, LaneStats};
pub use self::subscribe::{Subscription, Update};
