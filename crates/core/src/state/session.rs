//! The state of one session as the world sees it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::event::{
    Activity, ErrorKind, RunMode, Scope, StartSource, Status, TurnOutcome, WaitingFor,
};
use crate::id::{CallId, NativeId, RequestId, ScopeId, SessionKey, ToolName, TurnId};
use crate::process::ProcessRef;

/// Everything linelamp knows of a session that is not content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionState {
    /// Which session.
    pub session: SessionKey,
    /// Its state.
    pub status: Status,
    /// What it waits for, while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<WaitingFor>,
    /// Since when it is in this state.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub since: Timestamp,
    /// When the newest evidence was observed.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub last_seen: Timestamp,
    /// Background shells and tasks that still run.
    pub background: u32,
    /// `compacting` or `retrying`, while it does so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<Activity>,
    /// The turn that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// How the last turn ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<TurnOutcome>,
    /// What failed, if the last turn failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorKind>,
    /// It had a turn, or was seen at work.
    #[serde(default)]
    pub worked: bool,
    /// How the session came to be.
    pub source: StartSource,
    /// Working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The agent program's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How it is run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<RunMode>,
    /// Permission mode, in the agent's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// Version-control branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The process it runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessRef>,
    /// The machine it runs on.
    pub host: std::sync::Arc<str>,
    /// Requests that wait for a human, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<OpenRequest>,
    /// Subagents that run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ScopeId>,
    /// The session it descends from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Link>,
    /// Cost so far in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl SessionState {
    /// True for a session that is none yet, or never came to be one: nothing was ever asked of it, and no process is
    /// known in which that could still happen. Programs that look around leave such sessions behind, and so does an agent
    /// that takes up another session than the one it began with. Whoever lists or tells sessions to people leaves
    /// them out.
    pub fn is_ghost(&self) -> bool {
        !self.worked && (self.status == Status::Ended || self.process.is_none())
    }
}

/// A request that waits for a human.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenRequest {
    /// The request.
    pub request: RequestId,
    /// The tool call it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// The tool it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolName>,
    /// What is asked for.
    pub waiting_for: WaitingFor,
    /// Who asks.
    #[serde(default)]
    pub scope: Scope,
    /// Since when.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub since: Timestamp,
}

/// How a session descends from another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Link {
    /// The other session, of the same agent.
    pub id: NativeId,
    /// `clear`, `resume`, `fork`, …
    pub how: StartSource,
}
