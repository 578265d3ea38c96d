//! The options of a sink, read strictly.
//!
//! Each sink declares its options once, as a table of keys; from it come the check (an unknown key is
//! refused with the nearest valid one, a value of the wrong type with the right one) and the JSON
//! Schema. No message repeats a value: it might be a secret in the wrong place.

mod nearest;
#[cfg(feature = "webhook")]
mod reference;
#[cfg_attr(
    all(not(test), not(all(feature = "webhook", feature = "desktop"))),
    expect(dead_code, reason = "each sink uses its own part of it")
)]
mod table;

#[cfg(feature = "webhook")]
pub(crate) use self::reference::is_reference;
#[cfg(feature = "webhook")]
pub use self::reference::{Resolve, Secret};
pub(crate) use self::table::{Key, Options, Shape, schema, wrong};
