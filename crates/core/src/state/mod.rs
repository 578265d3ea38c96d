//! How the evidence of all feeds becomes one state per session.
//!
//! [`SessionState`] is what the world sees. [`Resolver`] is the one place that decides it: pure, with
//! time as an argument, restorable from [`SessionRecord`]s. Feeds and drivers say what they saw, never
//! what it means; nothing here reads a clock or does I/O.

mod record;
mod resolver;
mod session;

pub use self::record::SessionRecord;
pub use self::resolver::{Answer, Resolver};
pub use self::session::{Activity, Link, OpenRequest, SessionState};
