//! What happens to a session as a whole.

use serde::{Deserialize, Serialize};

use crate::event::content::{Content, Redact};
use crate::event::parts::{
    Activity, EndReason, ErrorKind, ReportedStatus, RunMode, StartSource, Status, TurnOutcome,
    WaitingFor,
};
use crate::id::{EventId, NativeId};
use crate::process::ProcessRef;

/// `status.changed`: the session has another state. Published by the resolver only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatusChanged {
    /// The state before; absent for a session not seen before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Status>,
    /// The state now.
    pub to: Status,
    /// What a waiting session waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<WaitingFor>,
    /// Background shells and tasks still running.
    pub background: u32,
    /// What it does besides its turn, just then: a change of this alone makes no event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<Activity>,
    /// How the last turn ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<TurnOutcome>,
    /// What failed, if the last turn failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorKind>,
    /// The events that decided.
    pub because: Vec<EventId>,
}

impl Redact for StatusChanged {
    fn redact(&mut self) {}
}

/// `session.started`: a session began, or was first seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionStarted {
    /// How it came to be.
    pub source: StartSource,
    /// Working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Model, as the agent names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The agent program's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How the program was started, in its own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<String>,
    /// How it is run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<RunMode>,
    /// The session it continues, was cleared or forked from, or was started by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<NativeId>,
    /// The process it runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessRef>,
}

impl Redact for SessionStarted {
    fn redact(&mut self) {}
}

/// `session.updated`: something about the session changed; only what changed is set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionUpdated {
    /// Working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Title of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Content>,
    /// Permission mode, in the agent's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// Version-control branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The agent program's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How the program was started, in its own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<String>,
    /// How it is run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<RunMode>,
    /// The session it descends from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<NativeId>,
    /// The process it runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessRef>,
}

impl Redact for SessionUpdated {
    fn redact(&mut self) {
        self.title.redact();
    }
}

/// `session.ended`: a session is over, as far as this process goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionEnded {
    /// Why.
    pub reason: EndReason,
    /// Exit code, if the process exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Signal number, if one ended the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// The process it ran in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessRef>,
    /// What the program said last on its error output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Content>,
}

impl Redact for SessionEnded {
    fn redact(&mut self) {
        self.error.redact();
    }
}

/// `mode.changed`: the permission mode changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModeChanged {
    /// The mode now, in the agent's word.
    pub mode: String,
    /// The mode before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

impl Redact for ModeChanged {
    fn redact(&mut self) {}
}

/// `status.reported`: what the agent itself says of its state. Evidence, not truth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatusReported {
    /// Its state.
    pub status: ReportedStatus,
    /// What it waits for, if it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<WaitingFor>,
    /// Its own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

impl Redact for StatusReported {
    fn redact(&mut self) {}
}
