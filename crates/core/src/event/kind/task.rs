//! Subagents and background tasks.

use serde::{Deserialize, Serialize};

use crate::event::content::{Content, Redact};
use crate::event::parts::{RunningTask, TaskKind, TaskOutcome};
use crate::id::{CallId, TaskId, ToolName};

/// `subagent.started`: a subagent began; the event's scope is the subagent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SubagentStarted {
    /// The call that began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// Its type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// What it is to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Content>,
    /// True if the main agent goes on meanwhile.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// The task that carries it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
}

impl Redact for SubagentStarted {
    fn redact(&mut self) {
        self.description.redact();
    }
}

/// `subagent.ended`: a subagent is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SubagentEnded {
    /// How.
    pub outcome: TaskOutcome,
    /// The call that began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// What it reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Content>,
    /// Tokens it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Tool calls it made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_uses: Option<u64>,
    /// How long it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

impl Redact for SubagentEnded {
    fn redact(&mut self) {
        self.report.redact();
    }
}

/// `task.started`: a task runs beside or behind the turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskStarted {
    /// The task.
    pub task: TaskId,
    /// What kind of work.
    pub task_kind: TaskKind,
    /// The call that began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// True if the turn does not wait for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Content>,
}

impl Redact for TaskStarted {
    fn redact(&mut self) {
        self.description.redact();
    }
}

/// `task.progress`: a task goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskProgress {
    /// The task.
    pub task: TaskId,
    /// The tool it used last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_tool: Option<ToolName>,
    /// Tokens used so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Tool calls so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_uses: Option<u64>,
    /// How long it has run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Whether it runs in the background now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<bool>,
    /// What it says of itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Content>,
}

impl Redact for TaskProgress {
    fn redact(&mut self) {
        self.summary.redact();
    }
}

/// `task.ended`: a task is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskEnded {
    /// The task.
    pub task: TaskId,
    /// How.
    pub outcome: TaskOutcome,
    /// The call that began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// What it says of itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Content>,
    /// Tokens it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Tool calls it made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_uses: Option<u64>,
    /// How long it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

impl Redact for TaskEnded {
    fn redact(&mut self) {
        self.summary.redact();
    }
}

/// `tasks.changed`: the whole set of background tasks that run now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TasksChanged {
    /// All of them; an empty list means none.
    pub tasks: Vec<RunningTask>,
}

impl Redact for TasksChanged {
    fn redact(&mut self) {}
}
