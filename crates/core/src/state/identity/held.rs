//! Ends that were told from beside the stream, of things whose start the stream told.
//!
//! The stream tells such an end too, a moment later, and knows more of it: what came out, who decided. Until
//! it does, the end counts as evidence and is held back here, without content. It is published when the
//! stream can no longer tell it: its turn ended, or it closed.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::event::{
    Body, CompactionEnded, Origin, Redact as _, Scope, SubagentEnded, ToolEnded, Trust,
};
use crate::id::{CallId, EventId, ScopeId, Seq};
use crate::state::SessionRecord;
use crate::state::bound;
use crate::state::desk::Desk;
use crate::state::intake::Intake;
use crate::state::ledger::{Ledger, Sighting};
use crate::state::rules::LIMITS;

/// An end that is held back, and whose it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Held {
    id: EventId,
    at: Timestamp,
    scope: Scope,
    origin: Origin,
    end: End,
}

/// What ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum End {
    /// A tool call.
    Tool(Box<ToolEnded>),
    /// The subagent of the draft's scope.
    Subagent(SubagentEnded),
    /// The compaction that ran.
    Compaction(CompactionEnded),
}

impl End {
    fn redact(&mut self) {
        match self {
            Self::Tool(data) => data.redact(),
            Self::Subagent(data) => data.redact(),
            Self::Compaction(data) => data.redact(),
        }
    }
}

/// The thing whose end is looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Thing<'a> {
    Tool(&'a CallId),
    Subagent(&'a ScopeId),
    Compaction,
}

impl Held {
    fn is_of(&self, thing: Thing<'_>) -> bool {
        match (&self.end, thing) {
            (End::Tool(data), Thing::Tool(call)) => data.call == *call,
            (End::Subagent(_), Thing::Subagent(scope)) => {
                matches!(&self.scope, Scope::Child(own) if own == scope)
            }
            (End::Compaction(_), Thing::Compaction) => true,
            _ => false,
        }
    }
}

impl Intake<'_> {
    /// True if the end of what began as `started` is the stream's to tell.
    pub(crate) fn leaves_to_stream(&self, started: Option<Sighting>) -> bool {
        self.overshadowed
            && !self.hints.evidence_only
            && started.is_some_and(|started| started.by.has(Trust::Authoritative))
            && self.ledger().held.len() < bound::HELD
    }

    /// Holds an end back. The first one told of a thing stays.
    pub(crate) fn hold(&mut self, thing: Thing<'_>, mut end: End) {
        if self.ledger().held.iter().any(|held| held.is_of(thing)) {
            return;
        }
        end.redact();
        let origin = Origin { trust: self.trust, ..self.origin.clone() };
        let held = Held { id: self.id, at: self.at, scope: self.scope.clone(), origin, end };
        self.ledger_mut().held.push(held);
    }

    /// The end is told by somebody who knows more.
    pub(crate) fn drop_held(&mut self, thing: Thing<'_>) {
        if self.ledger().held.iter().any(|held| held.is_of(thing)) {
            self.ledger_mut().held.retain(|held| !held.is_of(thing));
        }
    }

    /// The stream tells no more of `thing`.
    pub(crate) fn release(&mut self, thing: Thing<'_>) {
        release(self.record, &mut self.desk, |_, held| held.is_of(thing));
    }

    /// The stream closes.
    pub(crate) fn release_all(&mut self) {
        release(self.record, &mut self.desk, |_, _| true);
    }

    /// The stream's turn ended: what ended within it would have been told by now. What goes on beside the
    /// turn has a moment more.
    pub(crate) fn release_turn(&mut self) {
        let now = self.at;
        release(self.record, &mut self.desk, |ledger, held| {
            let beside = match &held.scope {
                Scope::Main => false,
                Scope::Child(scope) => {
                    let mut children = ledger.children.iter();
                    let child = children.find(|child| child.scope == *scope);
                    child.is_some_and(|child| child.background == Some(true))
                }
            };
            held.at <= now && (!beside || now.duration_since(held.at) > LIMITS.report)
        });
    }
}

/// Publishes the ends that `which` picks, as they were told.
pub(crate) fn release(
    record: &mut SessionRecord,
    desk: &mut Desk<'_>,
    which: impl Fn(&Ledger, &Held) -> bool,
) {
    if record.ledger.held.is_empty() {
        return;
    }
    let held = std::mem::take(&mut record.ledger_mut().held);
    let (out, kept): (Vec<_>, Vec<_>) =
        held.into_iter().partition(|held| which(&record.ledger, held));
    record.ledger_mut().held = kept;
    for Held { id, at, scope, origin, end } in out {
        let (thing, body) = match end {
            End::Tool(data) => (Told::Tool(data.call.clone()), Body::ToolEnded(*data)),
            End::Subagent(data) => (Told::Subagent(scope.clone()), Body::SubagentEnded(data)),
            End::Compaction(data) => (Told::Compaction(at), Body::CompactionEnded(data)),
        };
        let seq = desk.publish(record, (id, at), origin, scope, body);
        thing.number(record.ledger_mut(), seq);
    }
}

/// Whose end was published at last.
enum Told {
    Tool(CallId),
    Subagent(Scope),
    Compaction(Timestamp),
}

impl Told {
    /// Keeps the number of the event.
    fn number(self, ledger: &mut Ledger, seq: Seq) {
        let ended = match self {
            Self::Tool(id) => {
                ledger.calls.iter_mut().rfind(|call| call.id == id).and_then(|it| it.ended.as_mut())
            }
            Self::Subagent(Scope::Child(scope)) => {
                let mut children = ledger.children.iter_mut();
                children.find(|child| child.scope == scope).and_then(|it| it.ended.as_mut())
            }
            Self::Subagent(Scope::Main) => None,
            Self::Compaction(at) => {
                let mut ends = ledger.compactions.iter_mut().filter_map(|it| it.ended.as_mut());
                ends.rfind(|ended| ended.at == at)
            }
        };
        if let Some(ended) = ended {
            ended.seq = seq;
        }
    }
}
