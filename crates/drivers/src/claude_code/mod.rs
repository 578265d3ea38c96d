//! Claude Code, and the programs that speak its dialect.
//!
//! [`ClaudeCode`] is the driver. Its stream decoder reads both directions of `stream-json`, its hook decoder
//! judges each payload by itself, one transcript decoder reads one session file and one status decoder the
//! status file of one process. None keeps or decides a session's state: they say what they saw, core resolves it. What is deliberately not
//! told stands in [`ignored`], with a reason for each entry.

mod arguments;
mod driver;
pub mod editor;
mod hook;
pub mod ignored;
mod places;
mod private;
pub mod settings;
mod single;
mod status;
mod stream;
mod tool;
mod transcript;
mod word;

pub use driver::ClaudeCode;
pub use hook::HookDecoder;
pub use status::StatusDecoder;
pub use stream::StreamDecoder;
pub use transcript::TranscriptDecoder;
