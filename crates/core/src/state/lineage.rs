//! Which process runs which session.
//!
//! One process carries several sessions over its life, one after the other: when it begins another, the one
//! before is over, whether or not anybody said so. Late words of the earlier session do not bring it back.

use std::collections::HashMap;

use jiff::Timestamp;

use crate::event::EndReason;
use crate::id::{NativeId, SessionKey};
use crate::process::ProcessRef;
use crate::state::SessionRecord;
use crate::state::rules::SKEW;

impl SessionRecord {
    /// When the session was cleared, if what takes its place is not known yet and may live in `process`.
    pub(crate) fn cleared(&self, process: Option<ProcessRef>) -> Option<Timestamp> {
        let last = self.ledger.starts.last().filter(|_| self.is_over())?;
        let elsewhere = process.is_some() && last.process.is_some() && process != last.process;
        let cleared = last.reason == Some(EndReason::Clear) && last.next.is_none() && !elsewhere;
        last.ended.filter(|_| cleared).map(|ended| ended.at)
    }

    /// The session `next` took the place of this one.
    pub(crate) fn go_on_as(&mut self, next: NativeId) {
        if let Some(last) = self.ledger_mut().starts.last_mut() {
            last.next = Some(next);
        }
    }
}

/// The newest session of each process.
#[derive(Debug, Default)]
pub(crate) struct Processes(HashMap<ProcessRef, (SessionKey, Timestamp)>);

impl Processes {
    /// What saved records tell.
    pub(crate) fn restore<'a>(records: impl Iterator<Item = &'a SessionRecord>) -> Self {
        let mut starts: Vec<_> = records
            .flat_map(|record| record.ledger.starts.iter().map(move |start| (start, record)))
            .filter_map(|(start, record)| {
                start.process.map(|process| (start.began.at, &record.state.session, process))
            })
            .collect();
        starts.sort_unstable();
        let mut processes = Self::default();
        for (at, session, process) in starts {
            processes.take(process, session, at);
        }
        processes
    }

    /// `session` lives in `process` at `at`. Gives the session that is left for it, if there is one.
    pub(crate) fn take(
        &mut self,
        process: ProcessRef,
        session: &SessionKey,
        at: Timestamp,
    ) -> Option<SessionKey> {
        // Without its start time a pid may be anybody's.
        process.start?;
        let Some((known, since)) = self.0.get_mut(&process) else {
            self.0.insert(process, (session.clone(), at));
            return None;
        };
        if known == session || at.duration_since(*since) < SKEW || known.agent != session.agent {
            return None;
        }
        *since = at;
        Some(std::mem::replace(known, session.clone()))
    }

    /// The session that runs in one of these processes, the first that does.
    pub(crate) fn above(&self, ancestors: &[ProcessRef]) -> Option<&SessionKey> {
        ancestors.iter().find_map(|process| self.0.get(process)).map(|(session, _)| session)
    }

    /// Forgets a session.
    pub(crate) fn forget(&mut self, session: &SessionKey) {
        self.0.retain(|_, (known, _)| known != session);
    }
}
