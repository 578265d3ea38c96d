//! Noticing that a process is gone although nothing says so.
//!
//! [`LivenessFeed`] asks the bus in which processes sessions are open and looks at each of them once a second. One
//! that is gone, and still gone a moment later, ended its session: crashed, as far as anybody can tell. The moment
//! is for the orderly end, which is on its way in just before a process goes and knows better. When a process is
//! first seen its arguments are asked how the session is run.
//!
//! It never looks for agents by themselves: a session comes to be by what its agent says. Arguments hold prompts;
//! they are looked at and dropped.
//!
//! Start at `feed.rs` (the loop), then `roll.rs` (who is gone since when, without a clock or a system).

mod feed;
mod roll;

pub use self::feed::{LivenessFeed, LivenessOptions};
