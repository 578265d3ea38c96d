//! Hooks: what an agent's hook command hands over, one payload a call.
//!
//! Here is only the client, the program that the agent starts and waits for. It copies its input into
//! the spool and is gone; the daemon's side takes the files in. Start at [`run`].

mod client;

pub use self::client::run;
