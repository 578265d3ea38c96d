//! Which event shows or closes what. Pure: no desktop, no clock.
//!
//! The state that the resolver tells is what counts; other events only add names to it.

use std::collections::{HashMap, HashSet};

use linelamp_core::event::{
    EndReason, ErrorKind, Event, SessionEnded, Status, StatusChanged, TurnOutcome,
};
use linelamp_core::id::ToolName;
use linelamp_core::{Body, SessionKey};

use super::note::{self, Note, Topic};

/// What is to be done on the desktop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Show this as the session's one notification.
    Show(SessionKey, Note),
    /// Take the session's notification away.
    Close(SessionKey),
    /// The session is over: what it shows stays, and nothing will replace it.
    Forget(SessionKey),
}

/// What is known of every session.
#[derive(Debug)]
pub(super) struct Desk {
    topics: HashSet<Topic>,
    sessions: HashMap<SessionKey, Seat>,
}

#[derive(Debug, Default)]
struct Seat {
    folder: Option<String>,
    tool: Option<ToolName>,
    error: Option<ErrorKind>,
    /// Something was begun whose end was not told yet.
    busy: bool,
    /// Something was begun at any time: else nobody knows the session, and nobody is told of it.
    worked: bool,
    /// It is idle with shells still running; done comes when they are gone.
    idle: Option<TurnOutcome>,
    shown: Option<Topic>,
}

impl Desk {
    pub(super) fn new(topics: impl IntoIterator<Item = Topic>) -> Self {
        Self { topics: topics.into_iter().collect(), sessions: HashMap::new() }
    }

    /// Takes an event; what it asks for is appended to `actions`.
    pub(super) fn take(&mut self, event: &Event, actions: &mut Vec<Action>) {
        let session = &event.session;
        let seat = self.sessions.entry(session.clone()).or_default();
        match &event.body {
            Body::SessionStarted(data) => seat.moved(data.cwd.as_deref()),
            Body::SessionUpdated(data) => seat.moved(data.cwd.as_deref()),
            Body::BusSnapshot(data) => {
                seat.moved(data.state.cwd.as_deref());
                seat.tool = data.state.open.last().and_then(|open| open.tool.clone());
                seat.busy |= is_busy(data.state.status);
                seat.worked |= data.state.worked;
            }
            Body::PermissionRequested(data) => seat.tool.clone_from(&data.tool),
            Body::TurnStarted(_) => {
                seat.busy = true;
                seat.worked = true;
            }
            Body::TurnEnded(data) if event.scope.is_main() => {
                seat.error = data.error;
                seat.worked = true;
            }
            Body::TasksChanged(data) if data.tasks.is_empty() => {
                if let Some(outcome) = seat.idle.take() {
                    let told = seat.end(&self.topics, session, Some(outcome));
                    actions.extend(told);
                }
            }
            Body::SessionEnded(data) => {
                actions.extend(seat.gone(&self.topics, session, data));
            }
            Body::StatusChanged(data) => {
                actions.extend(seat.changed(&self.topics, session, data));
                if data.to == Status::Ended {
                    self.sessions.remove(session);
                    actions.push(Action::Forget(session.clone()));
                }
            }
            _ => {}
        }
    }
}

impl Seat {
    fn moved(&mut self, cwd: Option<&str>) {
        if let Some(folder) = cwd.and_then(note::folder_name) {
            self.folder = Some(folder.to_owned());
        }
    }

    fn changed(
        &mut self,
        topics: &HashSet<Topic>,
        session: &SessionKey,
        data: &StatusChanged,
    ) -> Option<Action> {
        self.busy |= is_busy(data.to) || data.from.is_some_and(is_busy);
        self.worked |= self.busy || data.outcome.is_some();
        self.idle = None;
        match data.to {
            Status::WaitingForPermission | Status::WaitingForInput => {
                let topic = match data.to {
                    Status::WaitingForPermission => Topic::WaitingForPermission,
                    _ => Topic::WaitingForInput,
                };
                let text = note::waiting(data.waiting_for, self.tool.as_ref());
                self.show(topics, session, topic, text).or_else(|| self.close(session))
            }
            Status::Idle if data.background > 0 => {
                self.idle = data.outcome.filter(|_| self.busy);
                self.close(session)
            }
            Status::Idle => self.end(topics, session, data.outcome).or_else(|| self.close(session)),
            Status::Ended => self.end(topics, session, data.outcome).or_else(|| {
                // What is done or failed stays to be read; what waited has nobody left to wait.
                self.shown.filter(|shown| shown.waits()).and_then(|_| self.close(session))
            }),
            // Nothing is known any more, so nothing changes.
            Status::Stale | Status::Unknown => None,
            Status::Starting | Status::Working => self.close(session),
        }
    }

    /// What was begun is over: told once.
    fn end(
        &mut self,
        topics: &HashSet<Topic>,
        session: &SessionKey,
        outcome: Option<TurnOutcome>,
    ) -> Option<Action> {
        if !std::mem::take(&mut self.busy) {
            return None;
        }
        let (topic, text) = note::ended(outcome?, self.error.take())?;
        self.show(topics, session, topic, text)
    }

    fn gone(
        &mut self,
        topics: &HashSet<Topic>,
        session: &SessionKey,
        data: &SessionEnded,
    ) -> Option<Action> {
        if data.reason != EndReason::Crashed || !self.worked {
            return None;
        }
        self.busy = false;
        self.show(topics, session, Topic::Failed, "crashed".to_owned())
    }

    fn show(
        &mut self,
        topics: &HashSet<Topic>,
        session: &SessionKey,
        topic: Topic,
        text: String,
    ) -> Option<Action> {
        if !topics.contains(&topic) {
            return None;
        }
        self.shown = Some(topic);
        let note = Note::new(topic, session, self.folder.as_deref(), text);
        Some(Action::Show(session.clone(), note))
    }

    fn close(&mut self, session: &SessionKey) -> Option<Action> {
        self.shown.take().map(|_| Action::Close(session.clone()))
    }
}

fn is_busy(status: Status) -> bool {
    matches!(status, Status::Working | Status::WaitingForPermission | Status::WaitingForInput)
}

#[cfg(test)]
mod tests;
