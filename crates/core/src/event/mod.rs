//! One normalized thing that happened in one session.
//!
//! [`Event`] is the envelope, [`Body`] the kinds with their data, [`Content`] the part of the data
//! that is private by default. [`Delivery`] says how a kind behaves when a sink is behind. The JSON
//! form is made and read in [`wire`] only.

mod body;
mod content;
mod delivery;
mod envelope;
mod kind;
mod parts;
pub mod wire;
pub(crate) mod word;

#[cfg(feature = "schema")]
pub mod schema;

pub use self::body::Body;
pub use self::content::{Content, Redact};
pub use self::delivery::{CoalesceKey, Delivery};
pub use self::envelope::{Event, Origin, Scope, Trust};
pub use self::kind::*;
pub use self::parts::*;
