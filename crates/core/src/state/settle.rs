//! From the verdict to the state the world sees, and the event that tells of a change.

use jiff::Timestamp;

use crate::event::{Body, Origin, Status, StatusChanged, WaitingFor};
use crate::id::EventId;
use crate::state::desk::{Desk, concluded, conclusion_id};
use crate::state::verdict::{Reason, Verdict};
use crate::state::{OpenRequest, SessionRecord};

/// A session in the middle of a moment: what its evidence amounts to so far, and the draft that made it so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unsettled {
    says: (Status, Option<WaitingFor>, u32),
    cause: EventId,
}

impl Unsettled {
    /// After one more draft of the moment, `id`.
    pub(crate) fn after(
        record: &SessionRecord,
        before: Option<Self>,
        now: Timestamp,
        id: EventId,
    ) -> Self {
        let verdict = record.verdict(now);
        let says = (verdict.status, verdict.waiting_for, verdict.background);
        match before {
            Some(before) if before.says == says => before,
            _ => Self { says, cause: id },
        }
    }

    /// What caused the state at the end of the moment, whose last draft was `id`.
    pub(crate) fn cause(self, record: &SessionRecord, now: Timestamp, id: EventId) -> EventId {
        Self::after(record, Some(self), now, id).cause
    }
}

/// Brings the state of a session up to its evidence at `now`. Publishes `status.changed` if the status or
/// what is waited for changed, or the last background task of an idle session is over. Gives the time when
/// time alone may change the state again.
pub(crate) fn settle(
    record: &mut SessionRecord,
    now: Timestamp,
    cause: Option<EventId>,
    origin: &Origin,
    desk: &mut Desk<'_>,
) -> Option<Timestamp> {
    let verdict = record.verdict(now);
    let before = (record.state.status, record.state.waiting_for, record.state.background);
    let fresh = record.state.status == Status::Unknown;
    copy(record, &verdict);
    let changed = (verdict.status, verdict.waiting_for) != (before.0, before.1);
    let rests = verdict.status == Status::Idle;
    let is_done = rests && before.2 > 0 && verdict.background == 0;
    let told = changed || is_done;
    if !told {
        return verdict.due;
    }
    let at = change_time(&verdict, now);
    if verdict.status != before.0 {
        record.state.since = at;
    }
    let reason = verdict.because.map(|reason: Reason| reason.event);
    let mut because: Vec<EventId> = reason.into_iter().collect();
    if let Some(cause) = cause
        && !because.contains(&cause)
    {
        because.push(cause);
    }
    let what = format!("status/{}/{now}", verdict.status);
    let named = because.first().copied().unwrap_or_else(|| EventId::derive(at, b"status", 0));
    let id = conclusion_id(record, cause.unwrap_or(named), now, &what);
    let body = StatusChanged {
        from: (!fresh).then_some(before.0),
        to: verdict.status,
        waiting_for: verdict.waiting_for,
        background: verdict.background,
        activity: verdict.activity,
        outcome: verdict.outcome,
        error: verdict.error,
        because,
    };
    let scope = crate::event::Scope::Main;
    desk.publish(record, (id, now), concluded(origin), scope, Body::StatusChanged(body));
    verdict.due
}

/// When the state became what it is: when what decided it was seen, unless time alone did.
fn change_time(verdict: &Verdict, now: Timestamp) -> Timestamp {
    match verdict.because {
        Some(reason) if verdict.status != Status::Stale => reason.at.min(now),
        _ => now,
    }
}

/// True for what only a session does that was asked for something.
fn works(status: Status) -> bool {
    matches!(status, Status::Working | Status::WaitingForPermission | Status::WaitingForInput)
}

fn copy(record: &mut SessionRecord, verdict: &Verdict) {
    let turn = record.ledger.turns.iter().rev().find(|turn| turn.ended.is_none());
    let turn = turn.map(|turn| turn.id.clone());
    let ledger = &record.ledger;
    let state = &mut record.state;
    state.status = verdict.status;
    state.worked |= !ledger.turns.is_empty() || works(verdict.status);
    state.waiting_for = verdict.waiting_for;
    state.background = verdict.background;
    state.activity = verdict.activity;
    state.outcome = verdict.outcome;
    state.error = verdict.error;
    state.turn = turn;
    state.open.clear();
    state.open.extend(ledger.requests.iter().filter(|request| request.waits()).map(|request| {
        OpenRequest {
            request: request.id.clone(),
            call: request.call.clone(),
            tool: request.tool.clone(),
            waiting_for: request.waiting_for,
            scope: request.scope.clone(),
            since: request.opened.at,
        }
    }));
    state.children.clear();
    let over = verdict.status == Status::Ended;
    let running = ledger.children.iter().filter(|child| !over && child.over.is_none());
    state.children.extend(running.map(|child| child.scope.clone()));
}
