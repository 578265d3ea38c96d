//! Where drafts go: to the caller once the session is known, into a short wait before.

use jiff::Timestamp;
use linelamp_core::draft::Draft;
use linelamp_core::event::{Body, Scope};
use linelamp_core::id::{AgentName, NativeId, SessionKey};
use linelamp_core::process::ProcessRef;

/// Drafts kept while the session has no id. Lines before the first one that names it are few; the
/// bound is there for a stream that never does.
const HELD: usize = 256;

/// Collects the drafts of one signal.
#[derive(Debug)]
pub(super) struct Outlet {
    agent: AgentName,
    process: Option<ProcessRef>,
    session: Option<SessionKey>,
    held: Vec<Draft>,
    ready: Vec<Draft>,
    at: Timestamp,
    serial: u64,
}

impl Outlet {
    pub(super) fn new(agent: AgentName, process: Option<ProcessRef>) -> Self {
        Self {
            agent,
            process,
            session: None,
            held: Vec::new(),
            ready: Vec::new(),
            at: Timestamp::UNIX_EPOCH,
            serial: 0,
        }
    }

    /// Begins a signal seen at `at`, writing into `out`; ended by a second swap.
    pub(super) fn swap(&mut self, at: Timestamp, out: &mut Vec<Draft>) {
        self.at = at;
        std::mem::swap(&mut self.ready, out);
    }

    /// Adds a draft and lets the caller give it hints.
    pub(super) fn emit(&mut self, scope: Scope, body: impl Into<Body>) -> &mut Draft {
        let known = self.session.is_some();
        let key = match &self.session {
            Some(key) => key.clone(),
            None => SessionKey { agent: self.agent.clone(), id: NativeId::default() },
        };
        let mut draft = Draft::new(key, self.at, body).in_scope(scope);
        draft.process = self.process;
        let list = if known { &mut self.ready } else { &mut self.held };
        if !known && list.len() == HELD {
            list.remove(0);
        }
        list.push(draft);
        list.last_mut().expect("a draft was just pushed")
    }

    /// Adds a draft of the main agent.
    pub(super) fn main(&mut self, body: impl Into<Body>) -> &mut Draft {
        self.emit(Scope::Main, body)
    }

    /// The session is `id` from here on.
    pub(super) fn name(&mut self, id: NativeId) {
        self.session = Some(SessionKey { agent: self.agent.clone(), id });
    }

    /// Lets go what was held for the session now known. Whoever names a session announces it
    /// first.
    pub(super) fn release(&mut self) {
        if let Some(key) = &self.session {
            // The session is as old as the first thing seen of it.
            if let (Some(first), Some(started)) = (self.held.first(), self.ready.last_mut()) {
                started.at = started.at.min(first.at);
            }
            for mut draft in self.held.drain(..) {
                draft.session = key.clone();
                self.ready.push(draft);
            }
        }
    }

    /// The session is over and the next one has no name yet.
    pub(super) fn unname(&mut self) {
        self.session = None;
    }

    pub(super) fn session(&self) -> Option<&NativeId> {
        self.session.as_ref().map(|key| &key.id)
    }

    pub(super) fn process(&self) -> Option<ProcessRef> {
        self.process
    }

    /// An id for a thing the stream gave none: unique within the process and, by the time in it,
    /// over the processes of a session.
    pub(super) fn mint(&mut self) -> String {
        self.serial += 1;
        format!("{:x}-{}", self.at.as_nanosecond(), self.serial)
    }
}
