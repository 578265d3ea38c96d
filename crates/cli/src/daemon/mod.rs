//! The daemon: the bus with everything around it, and how other commands talk to it.
//!
//! [`serve`] puts it together and takes it down again. [`control`] is the server behind
//! `control.sock`, [`protocol`] what is spoken there, [`lock`] what makes sure that there is only one.

pub(crate) mod control;
mod follow;
mod health;
pub(crate) mod ledger;
pub(crate) mod lock;
pub(crate) mod logging;
pub(crate) mod protocol;
pub(crate) mod serve;
mod sinks;
mod sockets;
