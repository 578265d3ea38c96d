//! Tool calls and the requests about them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::content::{Content, Redact};
use crate::event::parts::{Choice, DecidedBy, Decision, Part, ToolOutcome, WaitingFor};
use crate::id::{CallId, RequestId, ToolName};

/// `tool.started`: a tool call began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolStarted {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: ToolName,
    /// Its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Content<Value>>,
    /// The tool server it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

impl Redact for ToolStarted {
    fn redact(&mut self) {
        self.input.redact();
    }
}

/// `tool.progress`: a tool call is still running.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolProgress {
    /// The call.
    pub call: CallId,
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolName>,
    /// How long it has run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
    /// Bytes of output before this piece.
    pub offset: u64,
    /// A piece of output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Content>,
}

impl Redact for ToolProgress {
    fn redact(&mut self) {
        self.output.redact();
    }
}

/// `tool.ended`: a tool call is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolEnded {
    /// The call.
    pub call: CallId,
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolName>,
    /// How it ended.
    pub outcome: ToolOutcome,
    /// Exit code of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// What the model was given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output: Vec<Part>,
    /// The structured result, in the agent's shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Content<Value>>,
    /// How its request was settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// Who settled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<DecidedBy>,
    /// The agent's own word for a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// How long it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

impl Redact for ToolEnded {
    fn redact(&mut self) {
        self.output.redact();
        self.structured.redact();
    }
}

/// `permission.requested`: a human must act.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PermissionRequested {
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
    /// The tool's input, or the schema asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Content<Value>>,
    /// Title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Content>,
    /// What the human reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Content>,
    /// What can be chosen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Choice>,
    /// Permission changes the agent offers, ready to send back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestions: Option<Content<Value>>,
    /// Why it is asked, in the agent's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The tool server that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

impl Redact for PermissionRequested {
    fn redact(&mut self) {
        self.input.redact();
        self.title.redact();
        self.text.redact();
        self.options.redact();
        self.suggestions.redact();
    }
}

/// `permission.resolved`: a request is settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PermissionResolved {
    /// The request.
    pub request: RequestId,
    /// The tool call it was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// How.
    pub decision: Decision,
    /// By whom.
    pub by: DecidedBy,
    /// What the decider said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Content>,
}

impl Redact for PermissionResolved {
    fn redact(&mut self) {
        self.message.redact();
    }
}
