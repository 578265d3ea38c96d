//! The pumps: bytes from here to there, forwarded first and looked at afterwards.
//!
//! A pump waits for its two ends and for nothing else. It ends as the agent alone would have seen it: the
//! end of input is passed on at once; an output nobody reads any more is closed towards the agent.

#[cfg(unix)]
mod unix;

#[cfg(target_os = "linux")]
pub(super) use self::unix::PIPE_SIZE;
#[cfg(unix)]
pub(super) use self::unix::{Handover, Inbound, Outbound};
