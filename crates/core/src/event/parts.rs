//! The words and small records that several kinds share.

use serde::{Deserialize, Serialize};

use super::content::{Content, Redact};
use super::word::words;
use crate::id::{CallId, ScopeId, TaskId};

words! {
    /// A session's state.
    Status, otherwise Unknown {
        /// The process is up, nothing was asked yet.
        Starting = "starting",
        /// The agent does something.
        Working = "working",
        /// A human must allow or deny.
        WaitingForPermission = "waiting_for_permission",
        /// A human must answer, choose, or approve a plan.
        WaitingForInput = "waiting_for_input",
        /// Nothing to do until somebody prompts.
        Idle = "idle",
        /// What was known is too old to be believed.
        Stale = "stale",
        /// The session is over.
        Ended = "ended",
        /// A state that a newer writer knows and this reader does not.
        Unknown = "unknown",
    }
}

words! {
    /// What a waiting session waits for.
    WaitingFor, otherwise Permission {
        /// Leave to run a tool.
        Permission = "permission",
        /// An answer to a question of the model.
        Question = "question",
        /// Approval of a plan.
        Plan = "plan",
        /// An answer to a question of a tool server.
        Elicitation = "elicitation",
    }
}

impl WaitingFor {
    /// The state of a session with such a request open.
    pub fn status(self) -> Status {
        match self {
            Self::Permission => Status::WaitingForPermission,
            Self::Question | Self::Plan | Self::Elicitation => Status::WaitingForInput,
        }
    }
}

words! {
    /// What a session does besides its turn.
    Activity, otherwise Unknown {
        /// It shortens its conversation.
        Compacting = "compacting",
        /// A model request failed and is tried again.
        Retrying = "retrying",
        /// A later version has a word for it.
        Unknown = "unknown",
    }
}

words! {
    /// How a session came to be.
    StartSource, otherwise Discovered {
        /// A fresh start.
        Startup = "startup",
        /// An earlier session taken up again.
        Resume = "resume",
        /// The conversation was cleared; a new session in the same process.
        Clear = "clear",
        /// The conversation was compacted.
        Compact = "compact",
        /// A copy of an earlier session.
        Fork = "fork",
        /// First seen while it was already running.
        Discovered = "discovered",
    }
}

words! {
    /// How a session is run.
    RunMode, otherwise Interactive {
        /// A human at a terminal.
        Interactive = "interactive",
        /// One prompt, then exit.
        OneShot = "one_shot",
        /// A host program speaks to it.
        Hosted = "hosted",
    }
}

words! {
    /// Why a session ended.
    EndReason, otherwise Unknown {
        /// It ended by itself or was told to exit.
        Exit = "exit",
        /// Its conversation was cleared.
        Clear = "clear",
        /// The user logged out.
        Logout = "logout",
        /// It vanished or failed.
        Crashed = "crashed",
        /// A signal ended it.
        Killed = "killed",
        /// Nobody said.
        Unknown = "unknown",
    }
}

words! {
    /// Who or what began a turn.
    TurnOrigin, otherwise Human {
        /// A prompt of the user or the host.
        Human = "human",
        /// A finished background task woke the agent.
        Task = "task",
        /// Another agent or a channel.
        Peer = "peer",
    }
}

words! {
    /// How a turn ended.
    TurnOutcome, otherwise Failed {
        /// The model was done.
        Completed = "completed",
        /// Somebody stopped it.
        Interrupted = "interrupted",
        /// An error ended it.
        Failed = "failed",
        /// The limit on model rounds.
        MaxTurns = "max_turns",
        /// The limit on money.
        MaxBudget = "max_budget",
        /// The model declined.
        Refused = "refused",
        /// A hook kept the prompt from the model.
        Blocked = "blocked",
        /// A hook ended it.
        HookStopped = "hook_stopped",
        /// Its end was never seen.
        Lost = "lost",
    }
}

words! {
    /// What kind of failure an API call met.
    ErrorKind, otherwise Unknown {
        /// Too many requests.
        RateLimit = "rate_limit",
        /// The service is overloaded.
        Overloaded = "overloaded",
        /// Not logged in, or the key is wrong.
        Authentication = "authentication",
        /// Credit or payment.
        Billing = "billing",
        /// The request itself was wrong.
        InvalidRequest = "invalid_request",
        /// The service failed.
        Server = "server",
        /// The service could not be reached.
        Network = "network",
        /// Anything else.
        Unknown = "unknown",
    }
}

words! {
    /// Who speaks in a message.
    Role, otherwise Assistant {
        /// The model.
        Assistant = "assistant",
        /// The user or the host.
        User = "user",
        /// The agent program itself.
        System = "system",
    }
}

words! {
    /// What a block of a message holds.
    BlockKind, otherwise Other {
        /// Text for the reader.
        Text = "text",
        /// The model's thinking.
        Thought = "thought",
        /// An image.
        Image = "image",
        /// A document.
        Document = "document",
        /// Something else.
        Other = "other",
    }
}

words! {
    /// How a tool call ended.
    ToolOutcome, otherwise Error {
        /// It did what it was asked.
        Ok = "ok",
        /// It failed.
        Error = "error",
        /// It was not allowed to run.
        Denied = "denied",
        /// It was stopped.
        Interrupted = "interrupted",
    }
}

words! {
    /// How a request was settled.
    Decision, otherwise Unknown {
        /// Go ahead.
        Allowed = "allowed",
        /// No.
        Denied = "denied",
        /// The question was answered.
        Answered = "answered",
        /// It was withdrawn, or its turn ended.
        Cancelled = "cancelled",
        /// It is closed; nobody saw how.
        Unknown = "unknown",
    }
}

words! {
    /// Who settled a request.
    DecidedBy, otherwise Unknown {
        /// The user, at the agent's own dialog.
        User = "user",
        /// The host program.
        Host = "host",
        /// A hook.
        Hook = "hook",
        /// A rule or mode in the agent's configuration.
        Rule = "rule",
        /// The agent itself (an interrupt, a withdrawn question).
        Agent = "agent",
        /// Nobody saw.
        Unknown = "unknown",
    }
}

words! {
    /// What kind of work a background task is.
    TaskKind, otherwise Other {
        /// A shell command.
        Shell = "shell",
        /// A subagent.
        Agent = "agent",
        /// A scripted workflow.
        Workflow = "workflow",
        /// Something else.
        Other = "other",
    }
}

words! {
    /// How a task or subagent ended.
    TaskOutcome, otherwise Unknown {
        /// Done.
        Completed = "completed",
        /// Failed.
        Failed = "failed",
        /// Stopped by somebody.
        Stopped = "stopped",
        /// Its end was seen, not how.
        Unknown = "unknown",
    }
}

words! {
    /// What set a compaction off.
    CompactionTrigger, otherwise Auto {
        /// The user asked for it.
        Manual = "manual",
        /// The context was nearly full.
        Auto = "auto",
    }
}

words! {
    /// What an agent says of its own state.
    ReportedStatus, otherwise Unknown {
        /// Nothing to do.
        Idle = "idle",
        /// At work.
        Busy = "busy",
        /// Only a background shell is left.
        Shell = "shell",
        /// A human must act.
        Waiting = "waiting",
        /// A word this version does not know; the event keeps it as `raw`.
        Unknown = "unknown",
    }
}

words! {
    /// How much a notice matters.
    NoticeLevel, otherwise Info {
        /// For the record.
        Info = "info",
        /// Somebody may want to act.
        Warning = "warning",
        /// Something failed.
        Error = "error",
    }
}

words! {
    /// Why a sink missed events.
    GapReason, otherwise Overflow {
        /// Its mailbox was full of essential events.
        Overflow = "overflow",
        /// The ring overtook its pump.
        RingLapped = "ring_lapped",
        /// Deliveries failed for too long.
        GaveUp = "gave_up",
    }
}

words! {
    /// How a sink is doing.
    SinkHealth, otherwise Healthy {
        /// Delivers.
        Healthy = "healthy",
        /// The last delivery failed; it is tried again.
        Retrying = "retrying",
        /// A delivery exceeded its time.
        Stalled = "stalled",
        /// Given up until restarted.
        Quarantined = "quarantined",
    }
}

/// Tokens of a turn, or of a process so far. Absent numbers were not told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Usage {
    /// Tokens read, without cached ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Tokens written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Tokens read from the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// Tokens written to the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_creation: Option<u64>,
}

/// One choice of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Choice {
    /// The agent's id or label for it, if it has one that is not content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What the human reads.
    pub label: Content,
}

impl Redact for Choice {
    fn redact(&mut self) {
        self.label.redact();
    }
}

/// One part of a tool's output or of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part {
    /// What it is.
    pub kind: BlockKind,
    /// The media type, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Text, or base64 data.
    pub data: Content,
}

impl Redact for Part {
    fn redact(&mut self) {
        self.data.redact();
    }
}

/// A background task that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunningTask {
    /// The task.
    pub task: TaskId,
    /// What kind of work it is.
    pub task_kind: TaskKind,
    /// The subagent's scope, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<ScopeId>,
    /// The call that began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
}
