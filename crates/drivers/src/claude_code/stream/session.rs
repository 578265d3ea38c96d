//! Which session the stream speaks of, and how it came to be.

use linelamp_core::driver::Decoded;
use linelamp_core::event::{
    Decision, EndReason, ModeChanged, SessionEnded, SessionStarted, SessionUpdated, StartSource,
    TurnOutcome,
};
use linelamp_core::id::NativeId;

use super::decoder::StreamDecoder;
use super::head::Head;
use crate::claude_code::arguments::Arguments;
use crate::claude_code::word;
use crate::json::Raw;

/// What is known of the session; a later absent value never takes one away.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    arguments: Arguments,
    cwd: Option<String>,
    model: Option<String>,
    version: Option<String>,
    pub(super) mode: Option<String>,
    /// How the next session begins, as its `SessionStart` hook said.
    source: Option<StartSource>,
    /// The session that was cleared, until the next one has a name.
    previous: Option<NativeId>,
}

impl Sessions {
    pub(super) fn new(arguments: Arguments) -> Self {
        Self { arguments, ..Self::default() }
    }
}

/// The parts of `init` that are told.
#[derive(Default)]
struct Init {
    cwd: Option<String>,
    model: Option<String>,
    version: Option<String>,
    mode: Option<String>,
}

impl StreamDecoder {
    /// Learns the session's name from a line. Unless the arguments say otherwise only lines of a running
    /// conversation name a session: with `--continue` what comes before carries an id that is thrown away,
    /// and after `/clear` the new id counts from the next `init`.
    pub(super) fn follow_session(&mut self, head: &Head<'_>) {
        let Some(id) = head.session.filter(|id| !id.is_null()) else {
            if self.outlet.session().is_none() && self.sessions.previous.is_none() {
                self.name_by_arguments();
            }
            return;
        };
        if let Some(known) = self.outlet.session() {
            if head.subtype() != b"init" || id.is(known.as_str()) {
                return;
            }
        } else {
            let names = match head.kind() {
                b"assistant" | b"user" | b"stream_event" | b"conversation_reset" => {
                    self.sessions.previous.is_none()
                }
                b"result" => true,
                b"system" => {
                    let first = self.sessions.previous.is_none();
                    head.subtype() == b"init"
                        || (first && self.sessions.arguments.is_named_at_once())
                }
                _ => false,
            };
            let left = self.sessions.previous.as_ref().is_some_and(|left| id.is(left.as_str()));
            if !names || (left && head.subtype() != b"init") {
                return;
            }
        }
        let Some(id) = id.id() else { return };
        let id = NativeId::new(&*id);
        if self.outlet.session().is_some_and(|known| *known == id) {
            return;
        }
        self.leave_session();
        let init = if head.subtype() == b"init" { read_init(head) } else { Init::default() };
        let joined = !matches!(head.kind(), b"system" | b"result");
        self.announce(id, init, joined);
    }

    /// A session chosen or resumed by id is known from the first line on.
    fn name_by_arguments(&mut self) {
        if let Some(id) = self.sessions.arguments.certain() {
            let id = NativeId::new(id);
            self.announce(id, Init::default(), false);
        }
    }

    fn announce(&mut self, id: NativeId, init: Init, joined: bool) {
        let sessions = &mut self.sessions;
        let source = sessions.source.take().unwrap_or(if sessions.previous.is_some() {
            StartSource::Clear
        } else if sessions.arguments.forks {
            StartSource::Fork
        } else if sessions.arguments.resumes {
            StartSource::Resume
        } else if joined {
            StartSource::Discovered
        } else {
            StartSource::Startup
        });
        let forked = || sessions.arguments.resumed.as_deref().map(NativeId::new);
        let parent = sessions
            .previous
            .take()
            .or_else(|| if source == StartSource::Fork { forked() } else { None });
        self.costs.session_began(source);
        sessions.cwd = init.cwd.or(sessions.cwd.take());
        sessions.model = init.model.or(sessions.model.take());
        sessions.version = init.version.or(sessions.version.take());
        let started = SessionStarted {
            source,
            cwd: sessions.cwd.clone(),
            model: sessions.model.clone(),
            version: sessions.version.clone(),
            entrypoint: None,
            mode: sessions.arguments.mode,
            parent,
            process: self.outlet.process(),
        };
        self.outlet.name(id);
        self.outlet.main(started);
        self.outlet.release();
    }

    /// The session's conversation ends; the process and its next session go on.
    fn leave_session(&mut self) {
        if self.outlet.session().is_none() {
            return;
        }
        let reason = match self.sessions.source {
            None | Some(StartSource::Clear) => EndReason::Clear,
            Some(_) => EndReason::Unknown,
        };
        if self.turns.is_open() {
            self.turns.cleared = reason == EndReason::Clear;
            self.end_turn_as(TurnOutcome::Completed, Some("clear".to_owned()));
        }
        self.settle_requests(|_| true, Decision::Cancelled);
        self.outlet.main(SessionEnded {
            reason,
            exit_code: None,
            signal: None,
            process: self.outlet.process(),
            error: None,
        });
        self.sessions.previous = self.outlet.session().cloned();
        self.outlet.unname();
        self.tasks.clear();
        self.ledger.clear();
        self.calls.clear();
    }

    /// `/clear`: still under the old id. The frame's `new_conversation_id` is not the new session.
    /// After any other reset the turn goes on there.
    pub(super) fn conversation_reset(&mut self, head: &Head<'_>) -> Decoded {
        let [trigger] = head.fields(&["trigger"]);
        self.leave_session();
        self.turns.cleared &= trigger.is_none_or(|trigger| trigger.is("clear"));
        Decoded::Understood
    }

    /// `init` comes at the start of each turn, so it is news only where something changed.
    pub(super) fn init(&mut self, head: &Head<'_>) -> Decoded {
        let init = read_init(head);
        let sessions = &mut self.sessions;
        let mut update = SessionUpdated::default();
        changed(&mut sessions.cwd, init.cwd, &mut update.cwd);
        changed(&mut sessions.model, init.model, &mut update.model);
        changed(&mut sessions.version, init.version, &mut update.version);
        if sessions.mode.is_none() {
            changed(&mut sessions.mode, init.mode.clone(), &mut update.permission_mode);
        }
        if update != SessionUpdated::default() {
            self.outlet.main(update);
        }
        if let Some(mode) = init.mode {
            self.mode_is(mode);
        }
        self.turn_inits();
        Decoded::Understood
    }

    /// The permission mode is `mode` now.
    pub(super) fn mode_is(&mut self, mode: String) {
        if self.sessions.mode.as_ref() != Some(&mode) {
            if let Some(before) = self.sessions.mode.replace(mode.clone()) {
                self.outlet.main(ModeChanged { mode, from: Some(before) });
            } else {
                let permission_mode = Some(mode);
                self.outlet.main(SessionUpdated { permission_mode, ..SessionUpdated::default() });
            }
        }
    }

    /// The model is `model` now.
    pub(super) fn model_is(&mut self, model: String) {
        let mut update = SessionUpdated::default();
        changed(&mut self.sessions.model, Some(model), &mut update.model);
        if update.model.is_some() {
            self.outlet.main(update);
        }
    }

    /// A `SessionStart` hook runs: its name says how the session begins. The id beside it does not
    /// count (see [`Self::follow_session`]).
    pub(super) fn session_hook(&mut self, head: &Head<'_>) -> bool {
        let [name] = head.fields(&["hook_name"]);
        let name = name.and_then(Raw::str);
        let Some(source) = name.as_deref().and_then(|name| name.strip_prefix("SessionStart:"))
        else {
            return false;
        };
        let source = word::start(source);
        if !matches!(source, StartSource::Compact | StartSource::Discovered) {
            self.sessions.source = Some(source);
        }
        true
    }

    pub(super) fn title_changed(&mut self, head: &Head<'_>) -> Decoded {
        let [title] = head.fields(&["title"]);
        let title = self.private.text(title);
        self.outlet.main(SessionUpdated { title, ..SessionUpdated::default() });
        Decoded::Understood
    }
}

fn read_init(head: &Head<'_>) -> Init {
    let values = head.fields(&["cwd", "model", "claude_code_version", "permissionMode"]);
    let [cwd, model, version, mode] =
        values.map(|value| value.and_then(Raw::id).map(std::borrow::Cow::into_owned));
    Init { cwd, model, version, mode }
}

fn changed(known: &mut Option<String>, now: Option<String>, told: &mut Option<String>) {
    if now.is_some() && *known != now {
        known.clone_from(&now);
        *told = now;
    }
}
