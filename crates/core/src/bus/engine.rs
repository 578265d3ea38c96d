//! What decides behind the publish lock: the resolver, or a stand-in in tests of the bus alone.

use jiff::Timestamp;
use std::sync::Arc;

use crate::draft::Draft;
use crate::event::{Event, Origin, Status};
use crate::id::{Seq, SessionKey};
use crate::process::ProcessRef;
use crate::state::{Answer, Explanation, Resolver, SessionRecord, SessionState};

/// Makes events of drafts. See [`Resolver`] for the contract.
pub(super) trait Engine: Send {
    /// Takes one draft.
    fn accept(
        &mut self,
        draft: Draft,
        origin: &Origin,
        observed_at: Timestamp,
        out: &mut Vec<Event>,
    ) -> Answer;

    /// Takes one draft of a moment that has more to tell about its session.
    fn accept_part(
        &mut self,
        draft: Draft,
        origin: &Origin,
        observed_at: Timestamp,
        out: &mut Vec<Event>,
    ) -> Answer {
        self.accept(draft, origin, observed_at, out)
    }

    /// Lets time pass.
    fn tick(&mut self, now: Timestamp, out: &mut Vec<Event>);

    /// The authoritative feed of a session is gone, and nobody saw its process end.
    fn feed_closed(
        &mut self,
        session: &SessionKey,
        at: Timestamp,
        origin: &Origin,
        out: &mut Vec<Event>,
    );

    /// Why a session is in its state.
    fn explain(&self, session: &SessionKey, now: Timestamp) -> Option<Explanation>;

    /// The state of every session.
    fn snapshot(&self) -> Vec<SessionState>;

    /// The processes in which sessions are open.
    fn open_processes(&self) -> Vec<(SessionKey, ProcessRef)> {
        Vec::new()
    }

    /// What is kept of one session.
    fn record(&self, session: &SessionKey) -> Option<Arc<SessionRecord>>;
}

impl Engine for Resolver {
    fn accept(
        &mut self,
        draft: Draft,
        origin: &Origin,
        observed_at: Timestamp,
        out: &mut Vec<Event>,
    ) -> Answer {
        Self::accept(self, draft, origin, observed_at, out)
    }

    fn accept_part(
        &mut self,
        draft: Draft,
        origin: &Origin,
        observed_at: Timestamp,
        out: &mut Vec<Event>,
    ) -> Answer {
        Self::accept_part(self, draft, origin, observed_at, out)
    }

    fn tick(&mut self, now: Timestamp, out: &mut Vec<Event>) {
        Self::tick(self, now, out);
    }

    fn feed_closed(
        &mut self,
        session: &SessionKey,
        at: Timestamp,
        origin: &Origin,
        out: &mut Vec<Event>,
    ) {
        Self::feed_closed(self, session, at, origin, out);
    }

    fn explain(&self, session: &SessionKey, now: Timestamp) -> Option<Explanation> {
        Self::explain(self, session, now)
    }

    fn snapshot(&self) -> Vec<SessionState> {
        Self::snapshot(self)
    }

    fn open_processes(&self) -> Vec<(SessionKey, ProcessRef)> {
        Self::open_processes(self)
    }

    fn record(&self, session: &SessionKey) -> Option<Arc<SessionRecord>> {
        Self::record(self, session).cloned()
    }
}

/// The sessions somebody must be told who missed everything from `first` on: those that live, and
/// those whose end was missed.
pub(super) fn sessions_since(engine: &dyn Engine, first: Seq) -> Vec<SessionState> {
    let mut states = engine.snapshot();
    states.retain(|state| {
        state.status != Status::Ended
            || engine.record(&state.session).is_none_or(|record| record.last_seq >= first)
    });
    states
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::testing::{draft, ended, essential_body, start};
    use super::*;
    use crate::event::Trust;

    #[test]
    fn a_session_whose_end_was_missed_is_told_and_one_that_ended_before_is_not() {
        let mut resolver = Resolver::default();
        let origin = Origin {
            feed: "feed".into(),
            trust: Trust::Authoritative,
            pid: None,
            host: Arc::from("host"),
        };
        let mut out = Vec::new();
        for (id, body) in [
            ("gone", essential_body("t")),
            ("lives", essential_body("t")),
            ("gone", ended(1, "gone").body),
        ] {
            resolver.accept(draft(id, body), &origin, start(), &mut out);
        }
        let told = |first| {
            let states = sessions_since(&resolver, first);
            let mut names: Vec<_> =
                states.iter().map(|state| state.session.id.to_string()).collect();
            names.sort();
            names
        };
        let last = out.last().expect("events").seq;
        assert_eq!(told(last), ["gone", "lives"]);
        assert_eq!(told(resolver.next_seq()), ["lives"]);
    }
}
