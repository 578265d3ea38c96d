//! Nothing is read on Windows yet: sessions are bound by id alone.

use std::ffi::OsString;

use linelamp_core::process::{Ancestor, ProcessRef};

use super::Presence;

/// One process as the system shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The program's short name.
    pub name: Vec<u8>,
    /// One letter for what it does.
    pub state: u8,
    /// The parent's pid; 0 for none.
    pub parent: u32,
    /// Start time in the system's unit.
    pub start: u64,
}

/// Always absent.
pub fn stat(_pid: u32) -> Option<Stat> {
    None
}

/// Always unknown.
pub fn presence(_process: ProcessRef) -> Presence {
    Presence::Unknown
}

/// Always absent.
pub fn arguments(_process: ProcessRef) -> Option<Vec<OsString>> {
    None
}

/// The pid alone.
pub fn reference(pid: u32) -> ProcessRef {
    ProcessRef { pid, start: None }
}

/// Always empty.
pub fn ancestors(_limit: usize) -> Vec<Ancestor> {
    Vec::new()
}

/// Always absent.
pub fn boot_id() -> Option<String> {
    None
}

/// Always absent.
pub fn boottime_ns() -> Option<u64> {
    None
}
