//! Replay: a recorded session once more, in its true order.
//!
//! A [`Recording`] is a folder in the layout of `docs/spec/recording.md`, read into [`Step`]s: what was
//! seen, when, on the recording's own clock. A [`Replay`] plays the steps through a driver's decoders and
//! a bus of its own, at full or real speed, with time passing every [`TICK_MS`] of the recording. The same
//! recording gives the same events with the same ids every time.
//!
//! Nothing here starts a daemon, writes a file or prints: whoever replays decides what to do with the events.

mod feeds;
mod file;
mod files;
mod interleave;
mod player;
mod recording;
mod report;
mod score;
mod timeline;

pub use self::feeds::{FeedSet, RecordedFeed, UnknownFeed};
pub use self::player::{EPOCH, Replay, ReplayOptions, Speed, TICK_MS};
pub use self::recording::{Recording, RecordingError, Signal, Step};
pub use self::report::{ReplayStats, StateChange};
pub use self::score::{Score, Wrong, score};
