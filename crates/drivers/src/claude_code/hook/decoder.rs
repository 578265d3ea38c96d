//! From a payload to its event's reader.

use jiff::Timestamp;
use linelamp_core::digest::{Digester, InputDigest};
use linelamp_core::draft::Draft;
use linelamp_core::driver::{
    Decoded, Decoder, DecoderOptions, Driver as _, HookContext, Raw as Signal,
};
use linelamp_core::event::{Body, Native, Notice, NoticeLevel, Scope, SessionUpdated};
use linelamp_core::id::{PromptId, SessionKey};
use linelamp_core::process::ProcessRef;

use super::payload::Payload;
use crate::claude_code::private::Private;
use crate::claude_code::{ClaudeCode, ignored};
use crate::json::{Raw, is_clean};

/// Reads hook payloads; see the module page.
#[derive(Debug)]
pub struct HookDecoder {
    driver: ClaudeCode,
    pub(super) private: Private,
    pub(super) digester: Digester,
}

/// Takes the drafts of one payload and gives each what the payload says about all of them.
pub(super) struct Outbox<'a> {
    template: Draft,
    pub(super) context: &'a HookContext,
    out: &'a mut Vec<Draft>,
}

impl Outbox<'_> {
    /// Adds a draft in the payload's own scope.
    pub(super) fn emit(&mut self, body: impl Into<Body>) -> &mut Draft {
        self.out.push(Draft { body: body.into(), ..self.template.clone() });
        self.out.last_mut().expect("a draft was just pushed")
    }

    /// Adds a draft of the main agent.
    pub(super) fn main(&mut self, body: impl Into<Body>) -> &mut Draft {
        let draft = self.emit(body);
        draft.scope = Scope::Main;
        draft
    }

    pub(super) fn process(&self) -> Option<ProcessRef> {
        self.template.process
    }

    /// A payload of the main agent says which permission mode holds; a subagent may have one of its
    /// own. It is said before what happened in that mode, in the update among the drafts from
    /// `first` on or in one more.
    fn mode_is(&mut self, first: usize, payload: &Payload<'_>) {
        let Some(mode) = payload.mode.and_then(Raw::id).filter(|_| self.template.scope.is_main())
        else {
            return;
        };
        let permission_mode = Some(mode.into_owned());
        let told = self.out.iter_mut().skip(first).find_map(|draft| match &mut draft.body {
            Body::SessionUpdated(update) => Some(update),
            _ => None,
        });
        if let Some(update) = told {
            update.permission_mode = permission_mode;
            return;
        }
        let began = self.out.get(first).is_some_and(|d| matches!(d.body, Body::SessionStarted(_)));
        let update = SessionUpdated { permission_mode, ..SessionUpdated::default() };
        let draft = Draft { body: update.into(), ..self.template.clone() };
        self.out.insert(first + usize::from(began), draft);
    }
}

impl HookDecoder {
    /// A decoder for the hooks of `driver`'s agent.
    pub fn new(driver: ClaudeCode, options: DecoderOptions) -> Self {
        Self { driver, private: Private::new(options.reading), digester: options.digester }
    }

    fn payload(
        &mut self,
        bytes: &[u8],
        context: &HookContext,
        at: Timestamp,
        out: &mut Vec<Draft>,
    ) -> Decoded {
        let Some(payload) = Payload::read(bytes).filter(|_| is_clean(bytes)) else {
            return Decoded::Malformed;
        };
        let Some(session) = payload.session.and_then(Raw::id) else { return Decoded::Malformed };
        let event = payload.event.and_then(Raw::id).unwrap_or_default();
        if ignored::find(ignored::HOOK, &event).is_some() {
            return Decoded::Ignored;
        }
        let mut template = Draft::new(
            SessionKey::new(self.driver.agent(), &*session),
            at,
            Notice { level: NoticeLevel::Info, code: String::new(), count: None, text: None },
        );
        template.scope = payload.scope();
        template.process = self.driver.pick_process(context);
        template.hints.ancestors = above(template.process, context);
        template.hints.prompt = payload.prompt.and_then(Raw::id).map(|id| PromptId::new(&*id));
        let whole = serde_json::Value::String(String::from_utf8_lossy(bytes).into_owned());
        template.hints.payload = Some(self.digester.digest(&whole));
        let first = out.len();
        let mut outbox = Outbox { template, context, out };
        let decoded = match &*event {
            "SessionStart" => self.session_start(&payload, &mut outbox),
            "SessionEnd" => Self::session_end(&payload, &mut outbox),
            "PostModelSwitch" => Self::model_switched(&payload, &mut outbox),
            "CwdChanged" => Self::cwd_changed(&payload, &mut outbox),
            "Notification" => self.notification(&payload, &mut outbox),
            "UserPromptSubmit" => self.prompt(&payload, &mut outbox),
            "Stop" => Self::stop(&payload, &mut outbox),
            "StopFailure" => self.stop_failure(&payload, &mut outbox),
            "SubagentStart" => Self::subagent_start(&payload, &mut outbox),
            "SubagentStop" => self.subagent_stop(&payload, &mut outbox),
            "PreCompact" => Self::pre_compact(&payload, &mut outbox),
            "PostCompact" => self.post_compact(&payload, &mut outbox),
            "PreToolUse" => self.pre_tool(&payload, &mut outbox),
            "PostToolUse" => self.post_tool(&payload, &mut outbox),
            "PostToolUseFailure" => self.tool_failed(&payload, &mut outbox),
            "PostToolBatch" => Self::tool_batch(&payload, &mut outbox),
            "PermissionRequest" => self.permission_request(&payload, &mut outbox),
            "PermissionDenied" => self.permission_denied(&payload, &mut outbox),
            "Elicitation" => self.elicitation(&payload, &mut outbox),
            "ElicitationResult" => Self::elicitation_result(&payload, &mut outbox),
            _ => {
                let name = if event.is_empty() { "unnamed".into() } else { event.into_owned() };
                let payload = self.private.json(payload.object());
                outbox.emit(Native { source: "hook".to_owned(), name, payload });
                Decoded::Native
            }
        };
        if decoded != Decoded::Ignored {
            outbox.mode_is(first, &payload);
        }
        // Bytes that are no text may stand in any string: what could be read was read.
        if std::str::from_utf8(bytes).is_ok() { decoded } else { Decoded::Malformed }
    }

    /// Digest of a tool's input, by which a request without a call id finds its call.
    pub(super) fn input_digest(&self, payload: &Payload<'_>) -> Option<InputDigest> {
        payload.input.map(|input| self.digester.digest(&input.value()))
    }
}

/// The processes above the agent's own: one of them may run the session this one was begun in.
fn above(own: Option<ProcessRef>, context: &HookContext) -> Vec<ProcessRef> {
    let Some(own) = own else { return Vec::new() };
    context
        .ancestors
        .iter()
        .map(|ancestor| ancestor.process)
        .skip_while(|process| *process != own)
        .skip(1)
        .collect()
}

impl Decoder for HookDecoder {
    fn push(&mut self, raw: Signal<'_>, at: Timestamp, out: &mut Vec<Draft>) -> Decoded {
        match raw {
            Signal::Hook { payload, context } => self.payload(payload, context, at, out),
            Signal::Value { value, .. } => match serde_json::to_vec(value) {
                Ok(bytes) => self.payload(&bytes, &HookContext::default(), at, out),
                Err(_) => Decoded::Malformed,
            },
            Signal::Line { bytes, .. } => self.payload(bytes, &HookContext::default(), at, out),
            Signal::Gap { too_long: true, .. } | Signal::Record { .. } | Signal::Report { .. } => {
                Decoded::Malformed
            }
            Signal::Gap { .. } | Signal::Exit(_) => Decoded::Understood,
        }
    }
}
