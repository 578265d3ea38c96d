//! The data of each kind of event: one struct per kind.
//!
//! Within one schema version kinds and fields are only ever added and a field never changes its type.
//! Every field that may be absent has a default, so that readers of any age get along. Ids stand under
//! the same key wherever they appear: `turn`, `message` + `block`, `call`, `request`, `task`.

mod bus;
mod message;
mod session;
mod task;
mod tool;
mod turn;

pub use self::bus::*;
pub use self::message::*;
pub use self::session::*;
pub use self::task::*;
pub use self::tool::*;
pub use self::turn::*;
