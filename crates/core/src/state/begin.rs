//! How a session and its authoritative feed begin, before anything is decided about them.

use std::sync::Arc;

use crate::draft::Draft;
use crate::event::{
    EndReason, Origin, Scope, SessionEnded, SessionUpdated, StartSource, Status, Trust,
};
use crate::id::EventId;
use crate::state::desk::{Desk, conclusion_id};
use crate::state::intake::Intake;
use crate::state::lineage::Processes;
use crate::state::record::Watch;
use crate::state::rules::SKEW;
use crate::state::{Link, SessionRecord, SessionState};

/// Keeps account of the authoritative feed.
pub(crate) fn watch(record: &mut SessionRecord, draft: &Draft, trust: Trust) {
    if trust != Trust::Authoritative {
        return;
    }
    let fresh = Watch { since: draft.at, last: draft.at, closed: None, process: draft.process };
    match &mut record.evidence.watch {
        Some(watch)
            if watch.closed.is_none_or(|closed| draft.at.duration_since(closed) <= SKEW) =>
        {
            watch.since = watch.since.min(draft.at);
            watch.last = watch.last.max(draft.at);
            watch.process = watch.process.or(draft.process);
        }
        slot => *slot = Some(fresh),
    }
}

/// The state of a session before anything was decided about it.
pub(crate) fn first_state(draft: &Draft, origin: &Origin) -> SessionState {
    SessionState {
        session: draft.session.clone(),
        // Not told to anybody: the first verdict follows at once.
        status: Status::Unknown,
        waiting_for: None,
        since: draft.at,
        last_seen: draft.at,
        background: 0,
        activity: None,
        turn: None,
        outcome: None,
        error: None,
        worked: false,
        source: StartSource::Discovered,
        cwd: None,
        model: None,
        version: None,
        mode: None,
        permission_mode: None,
        branch: None,
        process: draft.process,
        host: Arc::clone(&origin.host),
        open: Vec::new(),
        children: Vec::new(),
        parent: None,
        cost_usd: None,
    }
}

/// A lesser feed had said that the session ended; whoever held the stream is gone and cannot say how.
pub(crate) fn end_as_said(record: &mut SessionRecord, desk: &mut Desk<'_>, origin: &Origin) {
    let said = record.ledger.starts.iter().filter(|start| start.ended.is_none());
    let Some((at, process, reason)) =
        said.filter_map(|start| Some((start.said_over?, start.process, start.reason))).max()
    else {
        return;
    };
    let id = conclusion_id(record, EventId::derive(at, b"said over", 0), at, "end");
    let mut intake =
        Intake::inferred(record, desk.lend(), origin, (id, at), process, Trust::Reported);
    intake.session_ended(SessionEnded {
        reason: reason.unwrap_or(EndReason::Unknown),
        exit_code: None,
        signal: None,
        process,
        error: None,
    });
}

impl Intake<'_> {
    /// Links a session to the one it goes on from, or to the one it was begun in.
    pub(crate) fn descend(&mut self, left: Option<Link>, processes: &Processes) {
        let state = &self.record.state;
        if state.parent.is_some() {
            return;
        }
        let begun_in = || {
            let above = processes.above(&self.hints.ancestors)?;
            let other = above.agent == state.session.agent && *above != state.session;
            other.then(|| Link { id: above.id.clone(), how: state.source })
        };
        let Some(link) = left.or_else(begun_in) else { return };
        let update = SessionUpdated { parent: Some(link.id.clone()), ..SessionUpdated::default() };
        self.record.state.parent = Some(link);
        self.conclude("descends", Scope::Main, update);
    }
}
