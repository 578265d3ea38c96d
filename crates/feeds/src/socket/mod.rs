//! Reaching the daemon's sockets without ever waiting for it.
//!
//! A poke is a datagram that says «look into the spool»; its content means nothing and its loss does no
//! harm. A connection is opened only if the daemon's queue has room at this moment. A path too
//! long for a socket address is reached through its folder's descriptor.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use self::unix::{Connection, Progress, connect, poke};
#[cfg(windows)]
pub use self::windows::{Connection, Progress, connect, poke};
