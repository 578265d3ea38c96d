//! `system` lines, by subtype, and the few other lines that say something about the service.

use jiff::Timestamp;
use linelamp_core::driver::Decoded;
use linelamp_core::event::{
    ApiRetry, CompactionEnded, CompactionStarted, ErrorKind, MessageCompleted, NoticeLevel,
    ReportedStatus, Role, Scope, StatusReported,
};
use linelamp_core::id::MessageId;

use super::decoder::StreamDecoder;
use super::head::Head;
use crate::claude_code::word;
use crate::json::Raw;

impl StreamDecoder {
    pub(super) fn system(&mut self, head: &Head<'_>) -> Decoded {
        match head.subtype() {
            b"init" => self.init(head),
            b"status" => self.status(head),
            b"api_retry" => self.api_retry(head),
            b"permission_denied" => self.permission_denied(head),
            b"task_started" => self.task_started(head),
            b"task_progress" => self.task_progress(head),
            b"task_updated" => self.task_updated(head),
            b"task_notification" => self.task_notification(head),
            b"background_tasks_changed" => self.background_tasks_changed(head),
            b"compact_boundary" => self.compact_boundary(head),
            b"session_state_changed" => self.session_state(head),
            b"session_title_changed" => self.title_changed(head),
            b"informational" => self.informational(head),
            b"notification" => self.notification(head),
            b"model_refusal_fallback" | b"model_refusal_no_fallback" => self.refusal(head),
            b"local_command_output" => self.local_output(head),
            b"session_writes_lost" => self.said(head, NoticeLevel::Error, "error_code"),
            b"worker_shutting_down" => self.said(head, NoticeLevel::Info, "reason"),
            b"mirror_error" => self.said(head, NoticeLevel::Warning, "error"),
            b"hook_started" | b"hook_response" if self.session_hook(head) => Decoded::Understood,
            _ => self.unknown(head),
        }
    }

    /// What the program is at: compacting, or the end of it; a new permission mode.
    fn status(&mut self, head: &Head<'_>) -> Decoded {
        let [status, mode, result, error] =
            head.fields(&["status", "permissionMode", "compact_result", "compact_error"]);
        if let Some(mode) = mode.and_then(Raw::id) {
            self.mode_is(mode.into_owned());
        }
        if status.is_some_and(|status| status.is("compacting")) && !self.compacting {
            self.compacting = true;
            self.outlet.main(CompactionStarted { trigger: None });
        }
        if result.is_some_and(|result| result.is("failed")) {
            self.compacting = false;
            let summary = self.private.text(error);
            self.outlet.main(CompactionEnded {
                trigger: None,
                failed: true,
                tokens_before: None,
                tokens_after: None,
                duration_ms: None,
                summary,
            });
        }
        Decoded::Understood
    }

    fn compact_boundary(&mut self, head: &Head<'_>) -> Decoded {
        let [metadata] = head.fields(&["compact_metadata"]);
        let [trigger, before, after, duration] = metadata
            .and_then(|metadata| {
                metadata.fields(&["trigger", "pre_tokens", "post_tokens", "duration_ms"])
            })
            .unwrap_or_default();
        self.compacting = false;
        self.outlet.main(CompactionEnded {
            trigger: trigger.and_then(Raw::str).map(|word| word::trigger(&word)),
            failed: false,
            tokens_before: before.and_then(Raw::u64),
            tokens_after: after.and_then(Raw::u64),
            duration_ms: duration.and_then(Raw::u64),
            summary: None,
        });
        Decoded::Understood
    }

    /// The turn is over, so a compaction in it is too.
    pub(super) fn end_compaction(&mut self) {
        if std::mem::take(&mut self.compacting) {
            self.outlet.main(CompactionEnded {
                trigger: None,
                failed: false,
                tokens_before: None,
                tokens_after: None,
                duration_ms: None,
                summary: None,
            });
        }
    }

    fn api_retry(&mut self, head: &Head<'_>) -> Decoded {
        let [attempt, most, delay, status, error] =
            head.fields(&["attempt", "max_retries", "retry_delay_ms", "error_status", "error"]);
        let status = status.and_then(Raw::u64).and_then(|status| u16::try_from(status).ok());
        let word = error.and_then(Raw::str).unwrap_or_default();
        let mut kind = word::error(&word, None, status);
        if kind == ErrorKind::Unknown && status.is_none() {
            kind = ErrorKind::Network;
        }
        if let Some(turn) = &mut self.turns.open {
            turn.unreachable = kind == ErrorKind::Network;
        }
        let retry = ApiRetry {
            turn: self.turns.id().cloned(),
            attempt: number(attempt).unwrap_or(1),
            max_attempts: number(most),
            delay_ms: delay.and_then(Raw::u64),
            status,
            error: kind,
        };
        self.outlet.main(retry);
        Decoded::Understood
    }

    /// What the agent itself says of its state, where the host switched that on.
    fn session_state(&mut self, head: &Head<'_>) -> Decoded {
        let [state] = head.fields(&["state"]);
        if let Some(word) = state.and_then(Raw::str) {
            self.says(&word);
        }
        Decoded::Understood
    }

    /// The agent's own word for its state.
    pub(super) fn says(&mut self, word: &str) {
        let status = match word {
            "idle" => ReportedStatus::Idle,
            "running" => ReportedStatus::Busy,
            "requires_action" => ReportedStatus::Waiting,
            _ => ReportedStatus::Unknown,
        };
        let raw = Some(word.to_owned());
        self.outlet.main(StatusReported { status, waiting_for: None, raw });
    }

    fn informational(&mut self, head: &Head<'_>) -> Decoded {
        let [content, level, tag, verdict, prevent, outcome] = head.fields(&[
            "content",
            "level",
            "tag",
            "hook_no_verdict",
            "prevent_continuation",
            "prompt_submit_outcome",
        ]);
        let blocked = outcome
            .and_then(|outcome| outcome.get("kind"))
            .and_then(Raw::quoted)
            .is_some_and(|kind| kind.starts_with(b"blocked"));
        if blocked && let Some(turn) = &mut self.turns.open {
            turn.blocked = true;
        }
        let level = match level.and_then(Raw::quoted).unwrap_or_default() {
            b"warning" => NoticeLevel::Warning,
            b"error" => NoticeLevel::Error,
            _ => NoticeLevel::Info,
        };
        let code = if blocked {
            "prompt_blocked".to_owned()
        } else if verdict.is_some_and(Raw::is_object) {
            "hook_no_verdict".to_owned()
        } else if prevent.and_then(Raw::bool) == Some(true) {
            "hook_stopped".to_owned()
        } else {
            tag.and_then(Raw::id).map_or_else(|| "informational".to_owned(), |tag| code(&tag))
        };
        let text = self.private.text(content);
        self.notice(level, &code, text);
        Decoded::Understood
    }

    fn notification(&mut self, head: &Head<'_>) -> Decoded {
        let [key, text, priority] = head.fields(&["key", "text", "priority"]);
        let level = match priority.and_then(Raw::quoted).unwrap_or_default() {
            b"high" | b"immediate" => NoticeLevel::Warning,
            _ => NoticeLevel::Info,
        };
        let name =
            key.and_then(Raw::id).map_or_else(|| "notification".to_owned(), |key| code(&key));
        let text = self.private.text(text);
        self.notice(level, &name, text);
        Decoded::Understood
    }

    /// The model declined: another one takes over, or the turn will fail.
    fn refusal(&mut self, head: &Head<'_>) -> Decoded {
        let [content, lines, fallback, original, category, why] = head.fields(&[
            "content",
            "retracted_message_uuids",
            "fallback_model",
            "original_model",
            "api_refusal_category",
            "api_refusal_explanation",
        ]);
        for uuid in lines.into_iter().flat_map(Raw::elements).filter_map(Raw::id) {
            let dropped = self.ledger.retract_line(&uuid);
            self.retracted(Scope::Main, dropped);
        }
        if let Some(model) = fallback.and_then(Raw::id) {
            self.model_is(model.into_owned());
        } else if let Some(turn) = &mut self.turns.open {
            turn.refused = true;
        }
        let category = category.and_then(Raw::id);
        let name = category.map_or_else(
            || "model_refusal".to_owned(),
            |category| code(&format!("model_refusal_{category}")),
        );
        let text = match (words(original), words(content).or_else(|| words(why))) {
            (Some(model), Some(words)) => Some(format!("{model} declined: {words}")),
            (Some(model), None) => Some(format!("{model} declined")),
            (None, words) => words.map(std::borrow::Cow::into_owned),
        };
        let text = text.map(|text| self.private.made(text));
        self.notice(NoticeLevel::Warning, &name, text);
        Decoded::Understood
    }

    fn local_output(&mut self, head: &Head<'_>) -> Decoded {
        if self.private.is_full() {
            let [content] = head.fields(&["content"]);
            let id = head.uuid.and_then(Raw::id).map(std::borrow::Cow::into_owned);
            let message = MessageId::new(id.unwrap_or_else(|| self.outlet.mint()));
            if let Some(text) = self.private.text(content) {
                self.outlet.main(MessageCompleted {
                    message,
                    block: 0,
                    block_kind: linelamp_core::event::BlockKind::Text,
                    role: Role::System,
                    text,
                    aborted: false,
                    synthetic: true,
                    media_type: None,
                });
            }
        }
        Decoded::Understood
    }

    /// A line that is a notice of its own subtype.
    fn said(&mut self, head: &Head<'_>, level: NoticeLevel, key: &str) -> Decoded {
        let [text] = head.fields(&[key]);
        let text = self.private.text(text);
        let name = String::from_utf8_lossy(head.subtype()).into_owned();
        self.notice(level, &name, text);
        Decoded::Understood
    }

    /// How near the account is to a limit.
    pub(super) fn rate_limit(&mut self, head: &Head<'_>) -> Decoded {
        let [info] = head.fields(&["rate_limit_info"]);
        let [status, resets] =
            info.and_then(|info| info.fields(&["status", "resetsAt"])).unwrap_or_default();
        let rejected = status.is_some_and(|status| status.is("rejected"));
        if let Some(turn) = &mut self.turns.open {
            turn.resets_at = resets
                .and_then(Raw::u64)
                .and_then(|seconds| i64::try_from(seconds).ok())
                .and_then(|seconds| Timestamp::from_second(seconds).ok())
                .filter(|_| rejected);
        }
        match status.and_then(Raw::quoted).unwrap_or_default() {
            b"allowed_warning" => self.notice(NoticeLevel::Warning, "rate_limit_near", None),
            b"rejected" => self.notice(NoticeLevel::Error, "rate_limit_reached", None),
            _ => {}
        }
        Decoded::Understood
    }

    /// Logging in.
    pub(super) fn auth_status(&mut self, head: &Head<'_>) -> Decoded {
        let [error] = head.fields(&["error"]);
        if let Some(text) = self.private.text(error) {
            self.notice(NoticeLevel::Error, "authentication", Some(text));
        }
        Decoded::Understood
    }
}

/// A text that says something.
fn words(raw: Option<Raw<'_>>) -> Option<std::borrow::Cow<'_, str>> {
    raw.and_then(Raw::str).filter(|text| !text.is_empty())
}

fn number(raw: Option<Raw<'_>>) -> Option<u32> {
    raw.and_then(Raw::u64).and_then(|number| u32::try_from(number).ok())
}

/// A name as a notice code: `snake_case`, no longer than a name is.
fn code(name: &str) -> String {
    name.chars()
        .take(64)
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
        .collect()
}
