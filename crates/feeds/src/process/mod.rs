//! What the operating system says about processes and time, read once and without waiting.
//!
//! Pids with start times, the chain of parents, the boot's identity and its clock. Nothing here
//! watches anything and nothing fails: what cannot be read is absent.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use self::unix::{Stat, ancestors, boot_id, boottime_ns, reference, stat};
#[cfg(windows)]
pub use self::windows::{Stat, ancestors, boot_id, boottime_ns, reference, stat};
