//! A draft: what a decoder says happened, before the bus gives it identity and order.

use jiff::Timestamp;

use crate::digest::InputDigest;
use crate::event::{Body, Scope, Trust};
use crate::id::{EventId, PromptId, SessionKey};
use crate::process::ProcessRef;

/// What a decoder saw. The publisher adds order, trust and the feed's name.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// The event's id, made by the feed from the source position; without one it is random.
    pub id: Option<EventId>,
    /// Which session.
    pub session: SessionKey,
    /// When it happened, by the source's clock.
    pub at: Timestamp,
    /// Whose it is.
    pub scope: Scope,
    /// The agent's process, if the source names it.
    pub process: Option<ProcessRef>,
    /// What helps to recognise a second sighting; never published.
    pub hints: Hints,
    /// The kind and its data. An empty id in it asks identity to find the real one.
    pub body: Body,
}

/// What helps identity and is never published.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Hints {
    /// Digest of the tool's input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<InputDigest>,
    /// The prompt the event belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PromptId>,
    /// Other names of the thing the draft is about: a line's uuid, a request's second id.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Digest of the whole payload, to recognise the same payload delivered twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<InputDigest>,
    /// The draft is evidence only: it may confirm or move state, and is never published itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub evidence_only: bool,
    /// What a status report says is how things stand, and goes on standing until the same process says
    /// otherwise; else it is what somebody noticed just then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stands: bool,
    /// Of the end of a turn: whether something may still hold it up.
    #[serde(skip_serializing_if = "Ending::is_final")]
    pub ending: Ending,
    /// Background subagents that still run, where the source says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running_agents: Option<u32>,
    /// The draft weighs at most this much, whatever its feed: a hint steers attention, never state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Trust>,
    /// Other agents' processes above this session's own: whoever it was started by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ancestors: Vec<ProcessRef>,
}

/// Whether the end of a turn is the last word about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It is.
    #[default]
    Final,
    /// It was announced: somebody may still hold it up, or let the agent go on.
    Announced,
    /// It was announced. Where others were asked whether it may end, the same source is sure to tell when none of
    /// them holds it up any more.
    SealedIfAsked,
    /// It was announced, and the same source is sure to tell when nothing holds it up any more.
    Sealed,
}

impl Ending {
    /// True if nothing more is to come.
    pub fn is_final(&self) -> bool {
        *self == Self::Final
    }
}

impl Draft {
    /// A draft of the main agent without hints.
    pub fn new(session: SessionKey, at: Timestamp, body: impl Into<Body>) -> Self {
        Self {
            id: None,
            session,
            at,
            scope: Scope::Main,
            process: None,
            hints: Hints::default(),
            body: body.into(),
        }
    }

    /// The same draft, of a subagent or the main agent.
    #[must_use]
    pub fn in_scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }
}
