//! One draft in, the events it makes out: identity first, then state.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::draft::Draft;
use crate::event::{Event, Origin};
use crate::id::{Seq, SessionKey};
use crate::state::{SessionRecord, SessionState};

/// What became of a draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was news and is published under this number.
    New(Seq),
    /// It had been published already, under this number (zero if that is no longer known); it counts as
    /// evidence.
    Confirms(Seq),
}

/// Evidence of all feeds in, one state per session out.
#[derive(Debug, Default)]
pub struct Resolver {
    sessions: HashMap<SessionKey, Arc<SessionRecord>>,
    next_seq: u64,
}

impl Resolver {
    /// Goes on from saved records; the next event gets `next_seq`.
    pub fn restore(next_seq: Seq, records: impl IntoIterator<Item = SessionRecord>) -> Self {
        let sessions = records
            .into_iter()
            .map(|record| (record.state.session.clone(), Arc::new(record)))
            .collect();
        Self { sessions, next_seq: next_seq.0 }
    }

    /// Takes one draft; every event it makes is appended to `out` in order.
    pub fn accept(
        &mut self,
        draft: Draft,
        origin: &Origin,
        observed_at: Timestamp,
        out: &mut Vec<Event>,
    ) -> Answer {
        let _ = (draft, origin, observed_at, out);
        self.next_seq += 1;
        Answer::New(Seq(self.next_seq))
    }

    /// Lets time pass: claims age. Sessions whose state changes make events.
    pub fn tick(&mut self, now: Timestamp, out: &mut Vec<Event>) {
        let _ = (now, out);
    }

    /// The state of every session, in no particular order.
    pub fn snapshot(&self) -> Vec<SessionState> {
        self.sessions.values().map(|record| record.state.clone()).collect()
    }

    /// Everything kept of one session.
    pub fn record(&self, session: &SessionKey) -> Option<&Arc<SessionRecord>> {
        self.sessions.get(session)
    }
}
