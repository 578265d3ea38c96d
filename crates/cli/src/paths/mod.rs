//! Where linelamp keeps its things: configuration, state and sockets.
//!
//! One rule for the daemon and all clients, so that they meet without reading any configuration. Finding
//! the folders touches no disk (but for the question whose the runtime folder is); only
//! [`Paths::create`] makes them. What lies inside them is the business of those who put it there.

mod find;
mod layout;
#[cfg(unix)]
mod unix;
#[cfg(not(unix))]
mod windows;

pub(crate) use self::find::Paths;
#[cfg(unix)]
pub(crate) use self::unix::create_private;
#[cfg(unix)]
use self::unix::runtime_of_user;
#[cfg(not(unix))]
pub(crate) use self::windows::create_private;
#[cfg(not(unix))]
use self::windows::runtime_of_user;
