//! The rules of state as data: what each kind of event is evidence of, and how long a claim holds.
//!
//! Nothing here looks at a session. What to do with an effect stands in `apply`, how effects of
//! several feeds become one state in `verdict`.

use jiff::SignedDuration;

use crate::event::{Body, ReportedStatus, Role};
use crate::state::stamp::Sign;

/// What a draft of the main agent says about its activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Work begins or goes on, whatever was before.
    Opens(Sign),
    /// Work goes on, if it had begun: a late sign of a turn that is over opens nothing.
    Confirms,
    /// The turn is over.
    Ends,
    /// A bare claim of the agent about itself.
    Says(ReportedStatus),
    /// Nothing about activity.
    Nothing,
}

/// The claim table. Requests, subagents, tasks, compaction and sessions have lives of their own beside it.
pub(crate) fn effect(body: &Body) -> Effect {
    match body {
        Body::TurnStarted(_) => Effect::Opens(Sign::Prompt),
        Body::ToolStarted(_) => Effect::Opens(Sign::Tool),
        Body::ApiRetry(_) => Effect::Opens(Sign::Retry),
        Body::MessageDelta(_) => Effect::Opens(Sign::Content),
        Body::MessageCompleted(data) if data.role == Role::Assistant && !data.synthetic => {
            Effect::Opens(Sign::Content)
        }
        Body::MessageRetracted(_)
        | Body::ToolProgress(_)
        | Body::ToolEnded(_)
        | Body::PermissionRequested(_)
        | Body::PermissionResolved(_)
        | Body::SubagentStarted(_)
        | Body::SubagentEnded(_) => Effect::Confirms,
        Body::TurnEnded(_) => Effect::Ends,
        Body::StatusReported(data) => Effect::Says(data.status),
        _ => Effect::Nothing,
    }
}

/// How long a claim holds with nothing to confirm it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// A process that is up and says nothing counts as starting for so long.
    pub(crate) starting: SignedDuration,
    /// Work without a running tool: a model request answers or is retried within this.
    pub(crate) thinking: SignedDuration,
    /// Work with a running tool, which may be slow and silent.
    pub(crate) tool: SignedDuration,
    /// A subagent or background work with no sign of life.
    pub(crate) background: SignedDuration,
    /// A request: a human may take long.
    pub(crate) request: SignedDuration,
    /// A session that has nothing to do.
    pub(crate) idle: SignedDuration,
    /// An authoritative feed that says nothing for so long lets others decide.
    pub(crate) silence: SignedDuration,
    /// A turn whose end was told from beside the stream counts as running for so long.
    pub(crate) settling: SignedDuration,
    /// A turn whose end was only announced counts as running for so long: of 92 turns measured 87 were over by
    /// then, which is once all that hooks had to say was heard.
    pub(crate) announced: SignedDuration,
    /// The same where the last word about it is sure to come.
    pub(crate) sealing: SignedDuration,
    /// What a process says of itself, as long as it lives and nobody contradicts it.
    pub(crate) word: SignedDuration,
    /// What others see of a change is in the word of the process after this at the latest.
    pub(crate) following: SignedDuration,
    /// A process that went on working after a wait was let, if nothing else was heard of it by then.
    pub(crate) let_go: SignedDuration,
    /// A process that goes on working or waiting although others saw an end is believed for so long.
    pub(crate) believed: SignedDuration,
    /// A background task that ended wakes its agent; so long it counts as not yet reported.
    pub(crate) report: SignedDuration,
    /// A cleared session's successor begins within this.
    pub(crate) clearing: SignedDuration,
    /// An ended session is forgotten.
    pub(crate) forget: SignedDuration,
}

/// The limits in use.
pub(crate) const LIMITS: Limits = Limits {
    starting: SignedDuration::from_secs(10),
    thinking: SignedDuration::from_secs(10 * 60),
    tool: SignedDuration::from_secs(60 * 60),
    background: SignedDuration::from_secs(2 * 60 * 60),
    request: SignedDuration::from_secs(24 * 60 * 60),
    idle: SignedDuration::from_secs(24 * 60 * 60),
    silence: SignedDuration::from_secs(60 * 60),
    settling: SignedDuration::from_millis(250),
    announced: SignedDuration::from_millis(500),
    sealing: SignedDuration::from_secs(10),
    word: SignedDuration::from_secs(24 * 60 * 60),
    following: SignedDuration::from_secs(1),
    let_go: SignedDuration::from_secs(2),
    believed: SignedDuration::from_secs(30),
    report: SignedDuration::from_secs(3),
    clearing: SignedDuration::from_secs(5),
    forget: SignedDuration::from_secs(24 * 60 * 60),
};

/// Two feeds may be this far apart about the time of one thing.
pub(crate) const SKEW: SignedDuration = SignedDuration::from_secs(1);

/// The same payload delivered twice comes within this time.
pub(crate) const REPEAT: SignedDuration = SignedDuration::from_millis(500);
