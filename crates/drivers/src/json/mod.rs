//! Reads the few fields a decoder wants out of a JSON line without building a tree of it.
//!
//! A long session writes mostly deltas, of which the state-only path needs a type and an id. So a
//! line is walked once: [`fields`] returns the raw bytes of the wanted keys wherever they stand,
//! and [`Raw`] turns such bytes into a string, a number or a tree only when asked. The walk accepts
//! exactly the grammar of JSON, what it skips included, but for raw control characters in strings,
//! which [`is_clean`] finds; whether the bytes are text is not its question. This module knows nothing about any agent.

mod fields;
mod raw;
mod repair;
mod scan;

pub use fields::{Walked, fields, is_clean, walk};
pub use raw::{Elements, Raw};
