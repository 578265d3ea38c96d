//! Why a session is in its state: what decided, what was overruled, and what would change it.
//!
//! It reads the evidence as the verdict does and decides nothing itself. Everything here is metadata: an
//! explanation may be shown to anybody who may see the session.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::event::word::words;
use crate::event::{Activity, ErrorKind, Status, Trust, TurnOutcome, WaitingFor};
use crate::id::EventId;
use crate::state::claims::{Claim, Says, standing};
use crate::state::verdict::Verdict;
use crate::state::{OpenRequest, SessionRecord, Sign};

/// Time is looked ahead in at most so many steps.
const STEPS: usize = 16;

words! {
    /// Why a piece of evidence did not decide.
    Overruled, otherwise Outweighed {
        /// Something later replaced it.
        Older = "older",
        /// It is later and weighs less than what stands.
        Weaker = "weaker",
        /// What decided goes before it, whenever it was seen.
        Outweighed = "outweighed",
        /// Its feed has no say while somebody holds the session's stream.
        Unheard = "unheard",
    }
}

words! {
    /// Something that would change the state.
    Change, otherwise Sign {
        /// Somebody prompts.
        Prompt = "prompt",
        /// The turn ends.
        TurnEnd = "turn_end",
        /// Somebody stops the turn.
        Interrupt = "interrupt",
        /// The agent asks a human.
        Request = "request",
        /// The open request is answered or withdrawn.
        Answer = "answer",
        /// The subagent ends.
        SubagentEnd = "subagent_end",
        /// What runs in the background ends.
        BackgroundEnd = "background_end",
        /// The compaction ends.
        CompactionEnd = "compaction_end",
        /// Anything is heard of the session.
        Sign = "sign",
        /// The process ends.
        ProcessEnd = "process_end",
        /// The session is taken up again.
        Resume = "resume",
    }
}

impl Change {
    /// What it is, for people.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Prompt => "a prompt",
            Self::TurnEnd => "the end of the turn",
            Self::Interrupt => "an interrupt",
            Self::Request => "a question to a human",
            Self::Answer => "an answer",
            Self::SubagentEnd => "the end of the subagent",
            Self::BackgroundEnd => "the end of the background work",
            Self::CompactionEnd => "the end of the compaction",
            Self::Sign => "any sign of life",
            Self::ProcessEnd => "the end of the process",
            Self::Resume => "taking the session up again",
        }
    }
}

impl Sign {
    /// What was seen, for people, whichever feed saw it.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Prompt => "a turn began",
            Self::Tool => "a tool call began",
            Self::Content => "the model spoke",
            Self::Retry => "a model request is tried again",
            Self::SaysBusy => "the agent says it is at work",
            Self::SaysWaiting => "the agent says it waits",
            Self::SaysIdle => "the agent says it has nothing to do",
            Self::TurnEnd => "a turn ended",
            Self::Activity => "something only an agent at work does",
            Self::Request => "a request is open",
            Self::Subagent => "a subagent runs",
            Self::Background => "background work runs",
            Self::Compaction => "the conversation is being shortened",
            Self::Start => "the session began",
            Self::End => "the session ended",
        }
    }
}

/// One piece of evidence with its weight and age.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Weighed {
    /// What was seen.
    pub sign: Sign,
    /// The event that told it.
    pub event: EventId,
    /// When it was seen, by the source's clock.
    pub at: Timestamp,
    /// How old it is.
    pub age_ms: i64,
    /// How much it weighs; none where the thing decides and not who told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// The state it speaks for.
    pub status: Status,
    /// Why it did not decide, if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overruled: Option<Overruled>,
}

/// Why a session is in its state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// The state.
    pub status: Status,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<WaitingFor>,
    /// Background shells and tasks that still run.
    #[serde(default)]
    pub background: u32,
    /// What it does beside its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<Activity>,
    /// How the last turn ended, unless another began since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<TurnOutcome>,
    /// What failed, if the last turn failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorKind>,
    /// What decided; for a stale session, what it was believed on before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<Weighed>,
    /// What was outweighed or outlived, oldest first.
    pub overruled: Vec<Weighed>,
    /// What the process keeps saying of itself, if it says anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<Weighed>,
    /// Requests that hold the state until they are settled.
    pub open: Vec<OpenRequest>,
    /// Feeds that weigh less than this have no say now.
    pub least_trust: Trust,
    /// What would change the state.
    #[serde(default)]
    pub changes: Vec<Change>,
    /// When time alone changes the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// What the state is from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<Status>,
}

impl SessionRecord {
    /// Why the session is in its state at `now`.
    pub fn explain(&self, now: Timestamp) -> Explanation {
        let verdict = self.verdict(now);
        let least_trust = self.least_trust(now);
        let (until, then) = self.by_time_alone(now, &verdict).unzip();
        let decided = verdict.because.map(|reason| Weighed {
            sign: reason.sign,
            event: reason.event,
            at: reason.at,
            age_ms: age(reason.at, now),
            trust: reason.trust,
            status: verdict.status,
            overruled: None,
        });
        let word = self.word(now).map(|word| {
            let is_deciding = decided.as_ref().is_some_and(|it| it.event == word.stamp.event);
            let is_older = decided.as_ref().is_some_and(|it| it.at >= word.stamp.at);
            let why = if is_older { Overruled::Older } else { Overruled::Outweighed };
            Weighed {
                sign: word.stamp.sign,
                event: word.stamp.event,
                at: word.stamp.at,
                age_ms: age(word.stamp.at, now),
                trust: Some(Trust::Reported),
                status: word.status(),
                overruled: (!is_deciding).then_some(why),
            }
        });
        Explanation {
            status: verdict.status,
            waiting_for: verdict.waiting_for,
            background: verdict.background,
            activity: verdict.activity,
            outcome: verdict.outcome,
            error: verdict.error,
            overruled: self.overruled(now, decided.as_ref(), least_trust),
            changes: changes(&verdict),
            decided,
            word,
            open: self.state.open.clone(),
            least_trust,
            until,
            then,
        }
    }

    /// Every claim that did not decide, oldest first.
    fn overruled(
        &self,
        now: Timestamp,
        decided: Option<&Weighed>,
        least_trust: Trust,
    ) -> Vec<Weighed> {
        let counted = self.claims(now);
        let (stands, _) = standing(&counted);
        let counts = |event| counted.iter().any(|claim| claim.stamp.event == event);
        let all =
            self.evidence.claims.in_order(Trust::Inferred, self.past(), |_, over| over.stamp.at);
        all.into_iter()
            .filter(|claim| decided.is_none_or(|decided| decided.event != claim.stamp.event))
            .map(|claim| {
                let event = claim.stamp.event;
                let why = if claim.trust < least_trust {
                    Overruled::Unheard
                } else if stands.is_some_and(|stands| stands.stamp.event == event) {
                    Overruled::Outweighed
                } else if stands.is_some_and(|stands| claim.stamp.is_after(&stands.stamp))
                    && counts(event)
                {
                    Overruled::Weaker
                } else {
                    Overruled::Older
                };
                Weighed {
                    sign: claim.stamp.sign,
                    event: claim.stamp.event,
                    at: claim.stamp.at,
                    age_ms: age(claim.stamp.at, now),
                    trust: Some(claim.trust),
                    status: speaks_for(&claim),
                    overruled: Some(why),
                }
            })
            .collect()
    }

    /// When time alone changes the state, and what it is then.
    fn by_time_alone(&self, now: Timestamp, verdict: &Verdict) -> Option<(Timestamp, Status)> {
        let mut due = verdict.due?;
        let mut at = now;
        for _ in 0..STEPS {
            // The verdict of a moment that has passed already is due again at that moment.
            at = due.max(at);
            let later = self.verdict(at);
            if (later.status, later.waiting_for) != (verdict.status, verdict.waiting_for) {
                return Some((at, later.status));
            }
            due = later.due.filter(|due| *due > at)?;
        }
        None
    }
}

fn age(at: Timestamp, now: Timestamp) -> i64 {
    i64::try_from(now.duration_since(at).as_millis()).unwrap_or(i64::MAX)
}

fn speaks_for(claim: &Claim<'_>) -> Status {
    match claim.says {
        Says::Busy => Status::Working,
        Says::Waiting(waiting_for) => waiting_for.status(),
        Says::Idle | Says::Over(_) => Status::Idle,
    }
}

/// What would change a state that came about like this.
fn changes(verdict: &Verdict) -> Vec<Change> {
    let mut changes = match verdict.status {
        Status::Ended => return vec![Change::Resume],
        Status::Working => match verdict.because.map(|reason| reason.sign) {
            Some(Sign::Subagent) => vec![Change::SubagentEnd, Change::Request],
            Some(Sign::Background) => vec![Change::BackgroundEnd],
            Some(Sign::Compaction) => vec![Change::CompactionEnd, Change::Interrupt],
            _ => vec![Change::TurnEnd, Change::Interrupt, Change::Request],
        },
        Status::WaitingForPermission | Status::WaitingForInput => {
            vec![Change::Answer, Change::Interrupt, Change::Prompt]
        }
        Status::Stale | Status::Unknown => vec![Change::Sign],
        Status::Starting | Status::Idle if verdict.background > 0 => {
            vec![Change::Prompt, Change::BackgroundEnd]
        }
        Status::Starting | Status::Idle => vec![Change::Prompt],
    };
    changes.push(Change::ProcessEnd);
    changes
}
