//! Payloads about the session itself.

use linelamp_core::driver::{Decoded, HookContext};
use linelamp_core::event::{
    CompactionEnded, CompactionStarted, Notice, NoticeLevel, ReportedStatus, RunMode, SessionEnded,
    SessionStarted, SessionUpdated, StatusReported,
};

use super::decoder::{HookDecoder, Outbox};
use super::payload::Payload;
use crate::claude_code::word;
use crate::json::Raw;

fn owned(raw: Option<Raw<'_>>) -> Option<String> {
    raw.and_then(Raw::id).map(std::borrow::Cow::into_owned)
}

impl HookDecoder {
    /// The session id here is the real one, also with `--continue`.
    pub(super) fn session_start(&self, payload: &Payload<'_>, out: &mut Outbox<'_>) -> Decoded {
        let [source, model, title] = payload.fields(&["source", "model", "session_title"]);
        let (entrypoint, mode) = entrypoint(out.context);
        let process = out.process();
        out.main(SessionStarted {
            source: word::start(&source.and_then(Raw::str).unwrap_or_default()),
            cwd: owned(payload.cwd),
            model: owned(model),
            version: None,
            entrypoint,
            mode,
            parent: None,
            process,
        });
        if let Some(title) = self.private.text(title) {
            out.main(SessionUpdated { title: Some(title), ..SessionUpdated::default() });
        }
        Decoded::Understood
    }

    pub(super) fn session_end(payload: &Payload<'_>, out: &mut Outbox<'_>) -> Decoded {
        let [reason] = payload.fields(&["reason"]);
        let process = out.process();
        out.main(SessionEnded {
            reason: word::end(&reason.and_then(Raw::str).unwrap_or_default()),
            exit_code: None,
            signal: None,
            process,
            error: None,
        });
        Decoded::Understood
    }

    pub(super) fn model_switched(payload: &Payload<'_>, out: &mut Outbox<'_>) -> Decoded {
        let [model] = payload.fields(&["to_model"]);
        out.main(SessionUpdated { model: owned(model), ..SessionUpdated::default() });
        Decoded::Understood
    }

    pub(super) fn cwd_changed(payload: &Payload<'_>, out: &mut Outbox<'_>) -> Decoded {
        let [cwd] = payload.fields(&["new_cwd"]);
        out.main(SessionUpdated { cwd: owned(cwd.or(payload.cwd)), ..SessionUpdated::default() });
        Decoded::Understood
    }

    pub(super) fn pre_compact(payload: &Payload<'_>, out: &mut Outbox<'_>) -> Decoded {
        let [trigger] = payload.fields(&["trigger"]);
        let trigger = trigger.and_then(Raw::str).map(|word| word::trigger(&word));
        out.main(CompactionStarted { trigger });
        Decoded::Understood
    }

    pub(super) fn post_compact(&self, payload: &Payload<'_>, out: &mut Outbox<'_>) -> Decoded {
        let [trigger, summary] = payload.fields(&["trigger", "compact_summary"]);
        out.main(CompactionEnded {
            trigger: trigger.and_then(Raw::str).map(|word| word::trigger(&word)),
            failed: false,
            tokens_before: None,
            tokens_after: None,
            duration_ms: None,
            summary: self.private.text(summary),
        });
        Decoded::Understood
    }

    /// Notices only confirm what other hooks have said: the idle notice comes a minute late and the
    /// permission notice six seconds, if at all.
    pub(super) fn notification(&self, payload: &Payload<'_>, out: &mut Outbox<'_>) -> Decoded {
        let [kind, message] = payload.fields(&["notification_type", "message"]);
        let kind = kind.and_then(Raw::id).unwrap_or_default();
        if kind == "idle_prompt" {
            let raw = Some(kind.into_owned());
            out.emit(StatusReported { status: ReportedStatus::Idle, waiting_for: None, raw })
                .hints
                .evidence_only = true;
            return Decoded::Understood;
        }
        let code = if kind.is_empty() { "notification".to_owned() } else { kind.into_owned() };
        let text = self.private.text(message);
        out.emit(Notice { level: NoticeLevel::Info, code, count: None, text });
        Decoded::Understood
    }
}

/// How the program was started, and what that says of how it is run.
fn entrypoint(context: &HookContext) -> (Option<String>, Option<RunMode>) {
    let Some(word) = context.env.get("CLAUDE_CODE_ENTRYPOINT").filter(|word| !word.is_empty())
    else {
        return (None, None);
    };
    let mode = match word.as_str() {
        "cli" => RunMode::Interactive,
        // `-p`, with one prompt or a host on stdin: the hook cannot tell which.
        "sdk-cli" => return (Some(word.clone()), None),
        _ => RunMode::Hosted,
    };
    (Some(word.clone()), Some(mode))
}
