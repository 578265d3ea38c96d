//! Following what agents write for themselves: session files and status files.
//!
//! [`TranscriptFeed`] follows files that grow, one JSON record a line. It begins near the end of what is
//! there, tells what comes after, and keeps a cursor for each file in the store, so that a restart goes on
//! with the next line. [`StatusFeed`] reads small files that are replaced again and again, in which each running
//! process says what it does.
//!
//! Both are told of changes by the system where it lets them, and look for themselves every few seconds
//! where it does not, and now and then in any case. What is in a file is the business of the decoder that the
//! driver makes; which files are whose says the driver as well. Nothing here is ever written to an agent's
//! folder, and no file is opened that the driver does not call a session's or a status file.
//!
//! Start at `feed.rs` (the loop), then `catalog.rs` (what there is), `followed.rs` (one file), `tail.rs` (lines).

mod board;
mod catalog;
mod disk;
mod feed;
mod followed;
mod mark;
mod naming;
mod options;
mod root;
mod stats;
mod status;
mod tail;
mod watch;

#[cfg(all(test, unix))]
mod tests;

pub use self::feed::TranscriptFeed;
pub use self::options::{AgentFolders, StatusOptions, TranscriptOptions};
pub use self::stats::{StatusCounts, StatusStats, TranscriptCounts, TranscriptStats};
pub use self::status::StatusFeed;
