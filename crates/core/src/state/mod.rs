//! How the evidence of all feeds becomes one state per session.
//!
//! [`SessionState`] is what the world sees. [`Resolver`] is the one place that decides it: pure, with
//! time as an argument, restorable from [`SessionRecord`]s. Feeds and drivers say what they saw, never
//! what it means; nothing here reads a clock or does I/O.
//!
//! A draft passes `intake`: `identity` tells whether it is news and publishes it, `apply` takes what it
//! says of the session as evidence, `verdict` reads the evidence and decides. `rules` holds the table and
//! the limits, `ledger` what is remembered of each thing, `claims` what each trust says.

mod apply;
mod begin;
mod beside;
mod bound;
mod claims;
mod desk;
mod explain;
mod identity;
mod intake;
mod ledger;
mod lineage;
mod record;
mod resolver;
mod rules;
mod seen;
mod session;
mod settle;
mod stamp;
mod verdict;
mod word;

pub use self::explain::{Change, Explanation, Overruled, Weighed};
pub use self::record::SessionRecord;
pub use self::resolver::{Answer, Resolver};
pub use self::session::{Link, OpenRequest, SessionState};
pub use self::stamp::Sign;
pub use crate::event::Activity;

#[cfg(test)]
mod tests;
