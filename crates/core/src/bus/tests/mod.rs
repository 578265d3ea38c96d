//! Promises of the bus as a whole, each a test.

mod drain;
mod durable;
mod feeds;
mod hostile;
mod mailbox;
mod order;
