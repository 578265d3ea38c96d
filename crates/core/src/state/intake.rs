//! One draft on its way in: what came with it, and the ways to publish.

use jiff::Timestamp;

use crate::draft::Hints;
use crate::event::{Body, Origin, Scope, Trust};
use crate::id::{EventId, Seq};
use crate::process::ProcessRef;
use crate::state::desk::{Desk, concluded, conclusion_id};
use crate::state::ledger::{Ledger, Sighting};
use crate::state::stamp::{SeenBy, Sign, Stamp};
use crate::state::{Answer, SessionRecord};

/// A draft being taken in, without its body.
#[derive(Debug)]
pub(crate) struct Intake<'a> {
    pub(crate) record: &'a mut SessionRecord,
    pub(crate) desk: Desk<'a>,
    pub(crate) origin: &'a Origin,
    pub(crate) id: EventId,
    pub(crate) at: Timestamp,
    pub(crate) scope: Scope,
    pub(crate) process: Option<ProcessRef>,
    pub(crate) hints: Hints,
    /// The feed's trust, or less where the draft itself says so.
    pub(crate) trust: Trust,
    /// A stronger feed was there when it happened: what this one says of turns only confirms.
    pub(crate) overshadowed: bool,
}

impl<'a> Intake<'a> {
    /// What nobody has told in so many words, and follows from what is known: it arrives as a draft would.
    pub(crate) fn inferred(
        record: &'a mut SessionRecord,
        desk: Desk<'a>,
        origin: &'a Origin,
        (id, at): (EventId, Timestamp),
        process: Option<ProcessRef>,
        trust: Trust,
    ) -> Self {
        record.evidence.arrivals += 1;
        Self {
            record,
            desk,
            origin,
            id,
            at,
            scope: Scope::Main,
            process,
            hints: Hints::default(),
            trust,
            overshadowed: false,
        }
    }
}

impl Intake<'_> {
    pub(crate) fn ledger(&self) -> &Ledger {
        &self.record.ledger
    }

    pub(crate) fn ledger_mut(&mut self) -> &mut Ledger {
        self.record.ledger_mut()
    }

    /// True unless the draft is evidence only: what it is about then stays untold, and news to whoever tells it.
    pub(crate) fn tells(&self) -> bool {
        !self.hints.evidence_only
    }

    /// Publishes the draft itself; one that is evidence only gets no number.
    pub(crate) fn publish(&mut self, body: impl Into<Body>) -> Seq {
        if self.hints.evidence_only {
            return Seq(0);
        }
        let named = (self.id, self.at);
        let origin = Origin { trust: self.trust, ..self.origin.clone() };
        self.desk.publish(self.record, named, origin, self.scope.clone(), body.into())
    }

    /// Publishes the draft as news and says so.
    pub(crate) fn news(&mut self, body: impl Into<Body>) -> Answer {
        match self.publish(body) {
            Seq(0) => Answer::Confirms(Seq(0)),
            seq => Answer::New(seq),
        }
    }

    /// Publishes what follows from the draft; `what` tells several conclusions of one draft apart.
    pub(crate) fn conclude(&mut self, what: &str, scope: Scope, body: impl Into<Body>) -> Seq {
        self.conclude_at(self.at, what, scope, body)
    }

    /// The same for what follows at another time.
    pub(crate) fn conclude_at(
        &mut self,
        at: Timestamp,
        what: &str,
        scope: Scope,
        body: impl Into<Body>,
    ) -> Seq {
        let id = conclusion_id(self.record, self.id, at, what);
        let origin = concluded(self.origin);
        self.desk.publish(self.record, (id, at), origin, scope, body.into())
    }

    /// The first sighting of a thing, published under `seq`.
    pub(crate) fn sighting(&self, seq: Seq) -> Sighting {
        Sighting { at: self.at, seq, event: self.id, by: SeenBy::only(self.trust) }
    }

    /// The draft as a sign.
    pub(crate) fn stamp(&self, sign: Sign) -> Stamp {
        Stamp { at: self.at, order: self.record.evidence.arrivals, event: self.id, sign }
    }
}
