//! What the sinks promise, against the real things: `SQLite` files, TCP, a session bus.

mod jsonl;
mod sample;

#[cfg(feature = "store")]
mod crash;
#[cfg(feature = "store")]
mod cursors;
#[cfg(all(feature = "desktop", target_os = "linux"))]
mod desktop;
#[cfg(feature = "webhook")]
mod receiver;
#[cfg(feature = "store")]
mod store;
#[cfg(feature = "webhook")]
mod webhook;
