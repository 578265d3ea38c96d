//! Turns and the model requests they make.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::event::content::{Content, Redact};
use crate::event::parts::{CompactionTrigger, ErrorKind, TurnOrigin, TurnOutcome, Usage};
use crate::id::{MessageId, TurnId};

/// `turn.started`: a turn began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnStarted {
    /// The turn.
    pub turn: TurnId,
    /// What began it.
    pub origin: TurnOrigin,
    /// True if the agent wrote the prompt itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub synthetic: bool,
}

impl Redact for TurnStarted {
    fn redact(&mut self) {}
}

/// `turn.ended`: a turn is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnEnded {
    /// The turn.
    pub turn: TurnId,
    /// How it ended.
    pub outcome: TurnOutcome,
    /// What failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorKind>,
    /// Why the model stopped, in the agent's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// The agent's own word for the outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// HTTP status of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The error text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Content>,
    /// Tokens of this turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Cost of this turn in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Cost of the process or session so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_total_usd: Option<f64>,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Model rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// Background work still running.
    pub background: u32,
    /// The host's ids of the prompts it settled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<String>,
}

impl TurnEnded {
    /// The end of a turn of which nothing more is known.
    pub fn new(turn: TurnId, outcome: TurnOutcome) -> Self {
        Self {
            turn,
            outcome,
            error: None,
            stop_reason: None,
            raw: None,
            status: None,
            message: None,
            usage: None,
            cost_usd: None,
            cost_total_usd: None,
            duration_ms: None,
            rounds: None,
            background: 0,
            prompts: Vec::new(),
        }
    }
}

impl Redact for TurnEnded {
    fn redact(&mut self) {
        self.message.redact();
    }
}

/// `api.retry`: a model request failed and is tried again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApiRetry {
    /// The turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// Which retry, from 1.
    pub attempt: u32,
    /// How many there will be at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// How long it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// HTTP status; absent if there was no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// What failed.
    pub error: ErrorKind,
}

impl Redact for ApiRetry {
    fn redact(&mut self) {}
}

/// `api.failed`: a model request failed for good.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApiFailed {
    /// What failed.
    pub error: ErrorKind,
    /// HTTP status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// When a limit is lifted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub resets_at: Option<Timestamp>,
    /// The error text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Content>,
}

impl Redact for ApiFailed {
    fn redact(&mut self) {
        self.message.redact();
    }
}

/// `usage.updated`: tokens or money so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsageUpdated {
    /// The message it belongs to; told once per message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Cost so far in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_total_usd: Option<f64>,
    /// Size of the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// Size the context may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_limit: Option<u64>,
}

impl Redact for UsageUpdated {
    fn redact(&mut self) {}
}

/// `compaction.started`: the conversation is being shortened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CompactionStarted {
    /// What set it off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<CompactionTrigger>,
}

impl Redact for CompactionStarted {
    fn redact(&mut self) {}
}

/// `compaction.ended`: the conversation was shortened, or that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CompactionEnded {
    /// What set it off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<CompactionTrigger>,
    /// True if it failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// Size before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_before: Option<u64>,
    /// Size after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_after: Option<u64>,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// What is left of the conversation, or the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Content>,
}

impl Redact for CompactionEnded {
    fn redact(&mut self) {
        self.summary.redact();
    }
}
