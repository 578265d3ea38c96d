//! What the operating system says about processes and time, read once and without waiting.
//!
//! Pids with start times, the chain of parents, whether a process is still there and with which arguments, the
//! boot's identity and its clock. Nothing here watches anything and nothing fails: what cannot be read is absent.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use self::unix::{Stat, ancestors, arguments, boot_id, boottime_ns, presence, reference, stat};
#[cfg(windows)]
pub use self::windows::{
    Stat, ancestors, arguments, boot_id, boottime_ns, presence, reference, stat,
};

/// Whether a process is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is.
    Runs,
    /// It is not: nobody has the pid, or somebody else, or all that is left is its exit status.
    Gone,
    /// The system does not say.
    Unknown,
}
