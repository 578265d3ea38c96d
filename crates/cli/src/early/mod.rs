//! A way around the language runtime for the hook client.
//!
//! The hook client runs at every tool call of every session, and the agent waits for it. A fifth of its time is
//! what Rust sets up before `main` (reading the memory map for a stack guard, signal stacks, checking the standard
//! streams). Where the system offers a step before that, the hook client runs there and ends the process; elsewhere
//! `main` dispatches it. Nothing else is ever done here.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod unix;
