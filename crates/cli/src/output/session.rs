//! A session as `ls` and `show` print it with `--format json`.

use jiff::Timestamp;
use linelamp_core::event::{Status, TurnOutcome, WaitingFor};
use linelamp_core::state::{Activity, OpenRequest, SessionState};
use serde::Serialize;

/// The session JSON, version 1. Fields are only added within a version.
#[derive(Debug, Serialize)]
pub(crate) struct SessionJson<'a> {
    v: u32,
    agent: &'a str,
    id: &'a str,
    state: Status,
    waiting_for: Option<WaitingFor>,
    since: Timestamp,
    background: u32,
    activity: Option<Activity>,
    outcome: Option<TurnOutcome>,
    error: Option<linelamp_core::event::ErrorKind>,
    cwd: Option<&'a str>,
    model: Option<&'a str>,
    permission_mode: Option<&'a str>,
    pid: Option<u32>,
    host: &'a str,
    open: &'a [OpenRequest],
    children: Vec<&'a str>,
    parent: Option<&'a str>,
    cost_usd: Option<f64>,
}

impl<'a> From<&'a SessionState> for SessionJson<'a> {
    fn from(state: &'a SessionState) -> Self {
        Self {
            v: 1,
            agent: state.session.agent.as_str(),
            id: state.session.id.as_str(),
            state: state.status,
            waiting_for: state.waiting_for,
            since: state.since,
            background: state.background,
            activity: state.activity,
            outcome: state.outcome,
            error: state.error,
            cwd: state.cwd.as_deref(),
            model: state.model.as_deref(),
            permission_mode: state.permission_mode.as_deref(),
            pid: state.process.map(|process| process.pid),
            host: &state.host,
            open: &state.open,
            children: state.children.iter().map(linelamp_core::id::ScopeId::as_str).collect(),
            parent: state.parent.as_ref().map(|link| link.id.as_str()),
            cost_usd: state.cost_usd,
        }
    }
}

/// How urgently a session wants somebody: lower comes first.
pub(crate) fn urgency(state: &SessionState) -> u8 {
    match state.status {
        Status::WaitingForPermission => 0,
        Status::WaitingForInput => 1,
        Status::Idle if state.error.is_some() => 2,
        Status::Working => 3,
        Status::Starting => 4,
        Status::Idle => 5,
        Status::Stale | Status::Unknown => 6,
        Status::Ended => 7,
    }
}
