//! Reads the few fields a decoder wants out of a JSON line without building a tree of it.
//!
//! A long session writes mostly deltas, of which the state-only path needs a type and an id. So a
//! line is walked once: [`fields`] returns the raw bytes of the wanted keys wherever they stand,
//! and [`Raw`] turns such bytes into a string, a number or a tree only when asked. The walk checks
//! the grammar of the object it reads and the nesting of what it skips, not every scalar inside;
//! [`is_valid`] is the exact check. This module knows nothing about any agent.

mod fields;
mod raw;
mod repair;
mod scan;

pub use fields::{Walked, fields, walk};
pub use raw::{Elements, Raw};

/// Whether `bytes` hold exactly one JSON value by the grammar (text encoding aside).
pub fn is_valid(bytes: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
}
