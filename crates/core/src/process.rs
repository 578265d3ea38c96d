//! Which operating-system process something is about.
//!
//! A pid alone names nobody for long; together with the start time it does. Nothing here looks at
//! the running system: feeds do, and say what they saw.

use serde::{Deserialize, Serialize};

/// A process, told apart from a later one with the same pid by its start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessRef {
    /// The process id.
    pub pid: u32,
    /// Start time in the system's own unit (Linux: clock ticks since boot), if it could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<u64>,
}

/// A process seen above a hook's own, nearest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ancestor {
    /// Pid and start time.
    #[serde(flatten)]
    pub process: ProcessRef,
    /// The program's name, without its folder.
    pub program: String,
}

/// How a process ended: exactly one of the two is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessExit {
    /// The exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal's number, if one ended it.
    pub signal: Option<i32>,
}
