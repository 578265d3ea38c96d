//! Claude Code, and the programs that speak its dialect.
//!
//! [`ClaudeCode`] is the driver. Its stream decoder reads both directions of `stream-json` and is
//! the only one with a memory; its hook decoder judges each payload by itself. Neither keeps or
//! decides a session's state: they say what they saw, core resolves it. What is deliberately not
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
mod stream;
mod tool;
mod word;

pub use driver::ClaudeCode;
pub use hook::HookDecoder;
pub use stream::StreamDecoder;
