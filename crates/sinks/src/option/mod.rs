//! The options of a sink, read strictly.
//!
//! Each sink declares its options once, as [`Key`]s; from them come the check (an unknown key is refused
//! with the nearest valid one, a value of the wrong type with the right one) and the JSON Schema. No
//! message repeats a value: it might be a secret in the wrong place.

mod nearest;
mod reference;
mod table;

pub(crate) use self::reference::is_reference;
pub use self::reference::{Resolve, Secret};
pub(crate) use self::table::{Key, Options, Shape, schema, wrong};
