//! Waking the observer: rung by the pumps, waited for together with the daemon's connection.
//!
//! Ringing never waits and never fails; rings before the wait are not lost.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use self::unix::Bell;
#[cfg(windows)]
pub(super) use self::windows::Bell;
