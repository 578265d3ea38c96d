//! What the sinks promise, against the real things: `SQLite` files, TCP, a session bus.

mod sample;

#[cfg(feature = "store")]
mod crash;
#[cfg(feature = "store")]
mod store;
