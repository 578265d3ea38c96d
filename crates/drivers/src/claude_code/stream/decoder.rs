//! The decoder: from a signal to the part that reads it.

use jiff::Timestamp;
use linelamp_core::digest::Digester;
use linelamp_core::draft::Draft;
use linelamp_core::driver::{Decoded, Decoder, DecoderOptions, Direction, Raw as Signal};
use linelamp_core::event::{Content, Native, Notice, NoticeLevel, Scope};
use linelamp_core::id::{AgentName, NativeId, ScopeId};

use memchr::memmem::Finder;

use super::block::Ledger;
use super::call::Calls;
use super::cost::Costs;
use super::head::Head;
use super::outlet::Outlet;
use super::request::Requests;
use super::session::Sessions;
use super::task::Tasks;
use super::turn::Turns;
use crate::claude_code::arguments::Arguments;
use crate::claude_code::ignored;
use crate::claude_code::private::Private;
use crate::claude_code::single::may_be_glued;
use crate::json::{Raw, is_clean};

/// Reads the stream of one process; see the module page.
#[derive(Debug)]
pub struct StreamDecoder {
    pub(super) outlet: Outlet,
    pub(super) private: Private,
    pub(super) digester: Digester,
    pub(super) sessions: Sessions,
    pub(super) turns: Turns,
    pub(super) requests: Requests,
    pub(super) calls: Calls,
    pub(super) tasks: Tasks,
    pub(super) ledger: Ledger,
    pub(super) costs: Costs,
    /// A line of the host was seen: its prompts need not be read off the agent's echo.
    pub(super) hears_host: bool,
    pub(super) compacting: bool,
    pub(super) ended: bool,
    pub(super) finders: Finders,
}

/// Searches made once: whether a message can hold what a part of the decoder looks for.
#[derive(Debug)]
pub(super) struct Finders {
    pub(super) call: Finder<'static>,
    pub(super) result: Finder<'static>,
}

impl StreamDecoder {
    /// A decoder for the stream of one process of `agent`.
    pub fn new(agent: AgentName, options: DecoderOptions) -> Self {
        let arguments = Arguments::read(&options.arguments);
        Self {
            outlet: Outlet::new(agent, options.process),
            private: Private::new(options.reading),
            digester: options.digester,
            costs: Costs::new(arguments.resumes),
            sessions: Sessions::new(arguments),
            turns: Turns::default(),
            requests: Requests::default(),
            calls: Calls::default(),
            tasks: Tasks::default(),
            ledger: Ledger::default(),
            hears_host: false,
            compacting: false,
            ended: false,
            finders: Finders { call: Finder::new("tool_use"), result: Finder::new("tool_result") },
        }
    }

    /// One line; several objects glued on it are read one after the other. The line counts as the
    /// worst that was found on it.
    fn line(&mut self, direction: Direction, bytes: &[u8]) -> Decoded {
        let mut bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text = std::str::from_utf8(bytes).is_ok();
        if text && direction == Direction::FromAgent && self.is_piece(bytes) {
            return Decoded::Understood;
        }
        if !is_clean(bytes) {
            return Decoded::Malformed;
        }
        let mut seen = None;
        loop {
            let Some((head, rest)) = Head::read(bytes) else { return Decoded::Malformed };
            let this = match direction {
                Direction::FromAgent => self.agent_said(&head),
                Direction::ToAgent => self.host_said(&head),
            };
            seen = Some(worse(seen, this));
            if rest.is_empty() {
                break;
            }
            bytes = rest;
        }
        match seen {
            // Bytes that are no text may stand in any string: what could be read was read.
            Some(decoded) if text => decoded,
            _ => Decoded::Malformed,
        }
    }

    /// Whether this is one piece of a message, of which the state reading takes nothing once the
    /// session is known. Most lines of a long turn are, so they are told by their two ends and not
    /// walked: damage in the middle of one goes unnoticed, an object glued behind it does not.
    fn is_piece(&self, bytes: &[u8]) -> bool {
        !self.private.is_full()
            && bytes.starts_with(br#"{"type":"stream_event","event":{"#)
            && bytes.ends_with(b"}")
            && self.outlet.session().is_some()
            && !may_be_glued(bytes)
    }

    fn agent_said(&mut self, head: &Head<'_>) -> Decoded {
        self.follow_session(head);
        match head.kind() {
            b"stream_event" => self.stream_event(head),
            b"assistant" => self.assistant(head),
            b"user" => self.user(head),
            b"system" => self.system(head),
            b"result" => self.result(head),
            b"control_request" => self.control_request(head),
            b"control_response" => self.control_response(head),
            b"control_cancel_request" => self.control_cancel(head),
            b"tool_progress" => self.tool_progress(head),
            b"conversation_reset" => self.conversation_reset(head),
            b"command_lifecycle" => self.command_lifecycle(head),
            b"rate_limit_event" => self.rate_limit(head),
            b"auth_status" => self.auth_status(head),
            _ => self.unknown(head),
        }
    }

    fn host_said(&mut self, head: &Head<'_>) -> Decoded {
        self.hears_host = true;
        match head.kind() {
            b"user" => self.prompt(head),
            b"control_request" => self.host_request(head),
            b"control_response" => self.answer(head),
            b"control_cancel_request" => Decoded::Understood,
            // The agent itself passes over what it does not know on its input.
            _ => Decoded::Ignored,
        }
    }

    /// A line of a kind that no part above knows: listed as meaningless, or kept whole.
    pub(super) fn unknown(&mut self, head: &Head<'_>) -> Decoded {
        let mut name = String::from_utf8_lossy(head.kind()).into_owned();
        let subtype = if name == "control_request" {
            head.body.and_then(|body| body.get("subtype")).and_then(Raw::quoted).unwrap_or_default()
        } else {
            head.subtype()
        };
        if !subtype.is_empty() {
            name.push('/');
            name.push_str(&String::from_utf8_lossy(subtype));
        }
        if ignored::find(ignored::STREAM, &name).is_some() {
            return Decoded::Ignored;
        }
        if name.is_empty() {
            "untyped".clone_into(&mut name);
        }
        let payload = self.private.json(head.object);
        let scope = self.scope(head);
        self.outlet.emit(scope, Native { source: "stream".to_owned(), name, payload });
        Decoded::Native
    }

    /// Lines that never reached this decoder.
    fn gap(&mut self, lines: u64, too_long: bool) -> Decoded {
        // Pieces around the gap do not join; whole blocks still come.
        self.ledger.tear();
        if !too_long {
            return Decoded::Understood;
        }
        self.outlet.main(Notice {
            level: NoticeLevel::Warning,
            code: "line_too_long".to_owned(),
            count: Some(lines),
            text: None,
        });
        Decoded::Malformed
    }

    /// Whose a line is. The agent id is the task id of the subagent; older versions only name the
    /// call that began it, which `task_started` joined to the task.
    pub(super) fn scope(&self, head: &Head<'_>) -> Scope {
        if let Some(agent) = head.agent.and_then(Raw::id) {
            return Scope::Child(ScopeId::new(&*agent));
        }
        match head.parent.and_then(Raw::id) {
            Some(call) => Scope::Child(
                self.tasks.scope_of(&call).cloned().unwrap_or_else(|| ScopeId::new(&*call)),
            ),
            None => Scope::Main,
        }
    }

    /// A notice of the main agent.
    pub(super) fn notice(&mut self, level: NoticeLevel, code: &str, text: Option<Content>) {
        self.outlet.main(Notice { level, code: code.to_owned(), count: None, text });
    }
}

impl Decoder for StreamDecoder {
    fn push(&mut self, raw: Signal<'_>, at: Timestamp, out: &mut Vec<Draft>) -> Decoded {
        self.outlet.swap(at, out);
        let decoded = match raw {
            Signal::Line { direction, bytes } => self.line(direction, bytes),
            Signal::Value { direction, value } => match serde_json::to_vec(value) {
                Ok(bytes) => self.line(direction, &bytes),
                Err(_) => Decoded::Malformed,
            },
            Signal::Gap { lines, too_long } => self.gap(lines, too_long),
            Signal::Exit(exit) => self.exit(exit),
            Signal::Hook { .. } | Signal::Record { .. } | Signal::Report { .. } => {
                Decoded::Malformed
            }
        };
        self.outlet.swap(at, out);
        decoded
    }

    fn end(&mut self, at: Timestamp, out: &mut Vec<Draft>) {
        self.outlet.swap(at, out);
        self.close();
        self.outlet.swap(at, out);
    }

    fn session(&self) -> Option<NativeId> {
        self.outlet.session().cloned()
    }
}

fn worse(seen: Option<Decoded>, this: Decoded) -> Decoded {
    let rank = |decoded| match decoded {
        Decoded::Ignored => 0,
        Decoded::Understood => 1,
        Decoded::Native => 2,
        Decoded::Malformed => 3,
    };
    match seen {
        Some(before) if rank(before) > rank(this) => before,
        _ => this,
    }
}
