//! Recording a session: run an agent, pass everything through, and keep what was seen and when.
//!
//! [`record`] makes a folder in the layout of `docs/spec/recording.md`, which [`replay`](crate::replay)
//! reads. Bytes are passed on first and written down second; files grow as things happen, so a recording that
//! is cut off holds everything up to then. A recording holds content: its folder is for its owner only.
//!
//! What is not done here: hooks are not installed (the caller passes whatever makes the agent report to a
//! private state folder), terminals are not recorded, and signals are not handled.

mod files;
mod folder;
mod run;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

pub use self::files::AgentFiles;
pub use self::run::{RecordEnd, RecordError, RecordOptions, record};
