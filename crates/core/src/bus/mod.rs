//! Orders events and carries them to sinks, waiting for none of them.

mod publisher;

pub use self::publisher::{PublishError, Publisher};
