//! The things of a session that have an identity: what was seen of each, and by whom.
//!
//! Identity looks a draft up here to tell news from a second sighting; the verdict reads what is open.
//! Every list is bounded: what is over is forgotten first, the oldest first.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::digest::InputDigest;
use crate::event::{
    DecidedBy, Decision, EndReason, Scope, StartSource, TaskKind, ToolOutcome, TurnOutcome,
    WaitingFor,
};
use crate::id::{
    CallId, EventId, NativeId, PromptId, RequestId, ScopeId, Seq, TaskId, ToolName, TurnId,
};
use crate::process::ProcessRef;
use crate::state::identity::held::Held;
use crate::state::seen::{Key, Seen};
use crate::state::stamp::SeenBy;

/// Everything of one session that has an identity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Ledger {
    /// Tool calls.
    pub(crate) calls: Vec<Call>,
    /// Requests, in the order they were first seen.
    pub(crate) requests: Vec<Request>,
    /// Answers seen before their requests.
    pub(crate) answers: Vec<Answered>,
    /// Turns of the main agent.
    pub(crate) turns: Vec<Turn>,
    /// Subagents.
    pub(crate) children: Vec<Child>,
    /// Background shells and other tasks that are no subagents.
    pub(crate) tasks: Vec<Task>,
    /// Compactions.
    pub(crate) compactions: Vec<Compaction>,
    /// Starts of the session in processes.
    pub(crate) starts: Vec<Start>,
    /// Retries of model requests.
    pub(crate) retries: Vec<Retry>,
    /// The whole set of background tasks that was told last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) told_set: Option<(Key, Seq)>,
    /// Prompts of the human that were told, newest last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) prompts: Vec<Prompted>,
    /// Ends that wait for the stream to tell them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) held: Vec<Held>,
    /// Everything else, by digest.
    pub(crate) seen: Seen,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) id: CallId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tool: Option<ToolName>,
    #[serde(default, skip_serializing_if = "Scope::is_main")]
    pub(crate) scope: Scope,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) input: Option<InputDigest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) prompt: Option<PromptId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) started: Option<Sighting>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<Sighting>,
    /// How it ended, for a request that comes late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) settled: Option<Settled>,
}

/// The first sighting of something. Stored as a list, as there are many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(Timestamp, Seq, EventId, SeenBy)", into = "(Timestamp, Seq, EventId, SeenBy)")]
pub(crate) struct Sighting {
    pub(crate) at: Timestamp,
    /// The number it was published under; zero if it was not.
    pub(crate) seq: Seq,
    pub(crate) event: EventId,
    pub(crate) by: SeenBy,
}

impl From<(Timestamp, Seq, EventId, SeenBy)> for Sighting {
    fn from((at, seq, event, by): (Timestamp, Seq, EventId, SeenBy)) -> Self {
        Self { at, seq, event, by }
    }
}

impl From<Sighting> for (Timestamp, Seq, EventId, SeenBy) {
    fn from(Sighting { at, seq, event, by }: Sighting) -> Self {
        (at, seq, event, by)
    }
}

/// How a request was, or would be, settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Settled {
    pub(crate) decision: Decision,
    pub(crate) by: DecidedBy,
}

impl Settled {
    /// It is closed; nobody saw how.
    pub(crate) const UNSEEN: Self = Self { decision: Decision::Unknown, by: DecidedBy::Unknown };

    /// What the end of a tool call says about its request.
    pub(crate) fn by_tool(
        outcome: ToolOutcome,
        decision: Option<Decision>,
        by: Option<DecidedBy>,
    ) -> Self {
        let implied = match outcome {
            ToolOutcome::Ok | ToolOutcome::Error => Decision::Allowed,
            ToolOutcome::Denied => Decision::Denied,
            ToolOutcome::Interrupted => Decision::Cancelled,
        };
        Self { decision: decision.unwrap_or(implied), by: by.unwrap_or(DecidedBy::Unknown) }
    }

    /// The same for a request of this kind: a question that went through was answered.
    pub(crate) fn of(self, waiting_for: WaitingFor) -> Self {
        let asks = matches!(waiting_for, WaitingFor::Question | WaitingFor::Elicitation);
        if asks && self.decision == Decision::Allowed {
            Self { decision: Decision::Answered, ..self }
        } else {
            self
        }
    }
}

/// A request that waits, or waited, for a human.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Request {
    /// The id it was published under.
    pub(crate) id: RequestId,
    /// Ids that mean the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) aliases: Vec<RequestId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) call: Option<CallId>,
    /// No source named the call: it was found by what is alike.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) guessed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tool: Option<ToolName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) input: Option<InputDigest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) prompt: Option<PromptId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<String>,
    #[serde(default, skip_serializing_if = "Scope::is_main")]
    pub(crate) scope: Scope,
    pub(crate) waiting_for: WaitingFor,
    pub(crate) opened: Sighting,
    /// Only whoever stands beside a stream told of it: it was not published and nobody waits, until the
    /// stream tells of it, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) hearsay: bool,
    /// The process said at this time that it waits no more. How it was settled is not known yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) passed: Option<Timestamp>,
    /// When and under which number it was settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) closed: Option<Sighting>,
    /// How.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) settled: Option<Settled>,
}

impl Request {
    /// Not settled.
    pub(crate) fn is_open(&self) -> bool {
        self.closed.is_none() && !self.hearsay
    }

    /// Not settled, and somebody must act.
    pub(crate) fn waits(&self) -> bool {
        self.is_open() && self.passed.is_none()
    }

    pub(crate) fn is_called(&self, id: &RequestId) -> bool {
        self.id == *id || self.aliases.contains(id)
    }

    /// Every id that means it.
    pub(crate) fn names(&self) -> impl Iterator<Item = RequestId> {
        std::iter::once(&self.id).chain(&self.aliases).cloned()
    }
}

/// An answer that came before its request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Answered {
    pub(crate) request: RequestId,
    pub(crate) settled: Settled,
}

/// A turn of the main agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Turn {
    /// The id it was published under.
    pub(crate) id: TurnId,
    /// The same turn in another feed's words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) aliases: Vec<TurnId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) prompt: Option<PromptId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) started: Option<Sighting>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<Sighting>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) outcome: Option<TurnOutcome>,
    /// Its cost or tokens were told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) priced: bool,
}

/// A subagent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Child {
    pub(crate) scope: ScopeId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) call: Option<CallId>,
    /// Whether the main agent goes on meanwhile, where a source says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) background: Option<bool>,
    /// Its first sign of life since it last began.
    pub(crate) since: Timestamp,
    /// Its newest sign of life.
    pub(crate) last: Timestamp,
    /// The event that showed it.
    pub(crate) event: EventId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) started: Option<Sighting>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<Sighting>,
    /// When it was over, by its own end or by what ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) over: Option<Timestamp>,
    /// Its task's start and end were published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) task_started: Option<Seq>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) task_ended: Option<Seq>,
}

/// A background shell or another task that is no subagent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) id: TaskId,
    pub(crate) kind: TaskKind,
    pub(crate) background: bool,
    pub(crate) since: Timestamp,
    pub(crate) last: Timestamp,
    pub(crate) event: EventId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) started: Option<Sighting>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<Sighting>,
    /// When it was over, by its own end or because the whole set no longer held it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) over: Option<Timestamp>,
    /// The newest whole set that held it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) listed: Option<Timestamp>,
}

/// A compaction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Compaction {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) started: Option<Sighting>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<Sighting>,
}

/// The session in one process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Start {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) process: Option<ProcessRef>,
    pub(crate) source: StartSource,
    pub(crate) began: Sighting,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<Sighting>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<EndReason>,
    /// A lesser feed says it ended while an authoritative one still speaks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) said_over: Option<Timestamp>,
    /// The session that took over its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<NativeId>,
}

/// The text of a prompt, as far as it may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Prompted {
    pub(crate) size: u64,
    pub(crate) seen: Sighting,
}

/// A retry of a model request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Retry {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) turn: Option<TurnId>,
    pub(crate) attempt: u32,
    pub(crate) seen: Sighting,
}
