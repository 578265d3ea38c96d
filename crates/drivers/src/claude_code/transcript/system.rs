//! `system` lines, attachments and the book-keeping that says something.

use linelamp_core::driver::Decoded;
use linelamp_core::event::{
    ApiRetry, CompactionEnded, SessionUpdated, TurnEnded, TurnOutcome, UsageUpdated,
};

use super::decoder::{Compact, Outbox, TranscriptDecoder};
use super::line::{Line, is_true};
use crate::claude_code::word;
use crate::json::Raw;

impl TranscriptDecoder {
    pub(super) fn system(&mut self, line: &Line<'_>, out: &mut Outbox<'_>) -> Decoded {
        match line.subtype() {
            b"turn_duration" => self.turn_duration(line, out),
            b"stop_hook_summary" => self.hooks_asked(line, out),
            b"api_error" => self.api_error(line, out),
            b"compact_boundary" => self.compacted(line, out),
            b"local_command" => {
                let [said] = line.fields(&["content"]);
                self.local_command(said.and_then(Raw::quoted).unwrap_or_default(), out);
                Decoded::Ignored
            }
            b"informational" => self.informational(line, out),
            _ => self.unknown(line, out),
        }
    }

    /// The mark of a turn that a person began and that ran to its end.
    fn turn_duration(&self, line: &Line<'_>, out: &mut Outbox<'_>) -> Decoded {
        let [duration, agents] = line.fields(&["durationMs", "pendingBackgroundAgentCount"]);
        let agents = agents.and_then(Raw::u64).and_then(|count| u32::try_from(count).ok());
        let draft = out.emit(TurnEnded {
            duration_ms: duration.and_then(Raw::u64),
            background: agents.unwrap_or_default(),
            ..self.turn_end(TurnOutcome::Completed)
        });
        draft.hints.running_agents = agents;
        Decoded::Understood
    }

    /// Hooks were asked whether the turn may end. Where one of them objected the turn goes on.
    fn hooks_asked(&mut self, line: &Line<'_>, out: &mut Outbox<'_>) -> Decoded {
        let [prevented] = line.fields(&["preventedContinuation"]);
        let objected = std::mem::take(&mut self.objected) && !is_true(prevented);
        if out.is_main() && !objected {
            out.emit(self.turn_end(TurnOutcome::Completed));
        }
        Decoded::Understood
    }

    fn api_error(&self, line: &Line<'_>, out: &mut Outbox<'_>) -> Decoded {
        let [error, attempt, most, delay] =
            line.fields(&["error", "retryAttempt", "maxRetries", "retryInMs"]);
        let number = |raw: Option<Raw<'_>>| {
            raw.and_then(Raw::u64).and_then(|number| u32::try_from(number).ok())
        };
        let Some(attempt) = number(attempt) else { return Decoded::Understood };
        let status = error.and_then(|error| error.get("status")).and_then(Raw::u64);
        let status = status.and_then(|status| u16::try_from(status).ok());
        if !out.is_main() {
            return Decoded::Understood;
        }
        out.emit(ApiRetry {
            turn: Some(self.turn()).filter(|turn| !turn.is_empty()),
            attempt,
            max_attempts: number(most),
            delay_ms: delay.and_then(Raw::f64).filter(|delay| *delay >= 0.0).and_then(whole),
            status,
            error: word::error("", None, status),
        });
        Decoded::Understood
    }

    fn compacted(&mut self, line: &Line<'_>, out: &mut Outbox<'_>) -> Decoded {
        self.compact = Compact::Done;
        let [metadata] = line.fields(&["compactMetadata"]);
        let [trigger, before, after, duration] = metadata
            .and_then(|data| data.fields(&["trigger", "preTokens", "postTokens", "durationMs"]))
            .unwrap_or_default();
        out.emit(CompactionEnded {
            trigger: trigger.and_then(Raw::str).map(|trigger| word::trigger(&trigger)),
            failed: false,
            tokens_before: before.and_then(Raw::u64),
            tokens_after: after.and_then(Raw::u64),
            duration_ms: duration.and_then(Raw::u64),
            summary: None,
        });
        Decoded::Understood
    }

    /// A hook of the user let a prompt not through.
    fn informational(&self, line: &Line<'_>, out: &mut Outbox<'_>) -> Decoded {
        let [prevents, ending] = line.fields(&["preventContinuation", "promptSubmitEnding"]);
        if is_true(prevents) && ending.is_some() && out.is_main() {
            out.emit(self.turn_end(TurnOutcome::Blocked));
        }
        Decoded::Understood
    }

    pub(super) fn attachment(&mut self, line: &Line<'_>, out: &mut Outbox<'_>) -> Decoded {
        let [attachment] = line.fields(&["attachment"]);
        let kind = attachment.and_then(|attachment| attachment.get("type")).and_then(Raw::quoted);
        let outcome = match kind {
            Some(b"max_turns_reached") => TurnOutcome::MaxTurns,
            Some(b"hook_stopped_continuation") => TurnOutcome::HookStopped,
            Some(b"hook_blocking_error") => {
                let event = attachment.and_then(|attachment| attachment.get("hookEvent"));
                self.objected |= event.is_none_or(|event| event.is("Stop"));
                return Decoded::Ignored;
            }
            // What the model is shown beside the conversation.
            _ => return Decoded::Ignored,
        };
        if out.is_main() {
            out.emit(self.turn_end(outcome));
        }
        Decoded::Understood
    }

    pub(super) fn permission_mode(line: &Line<'_>, out: &mut Outbox<'_>) -> Decoded {
        let [mode] = line.fields(&["permissionMode"]);
        if let Some(mode) = mode.and_then(Raw::id).filter(|_| out.is_main()) {
            out.emit(SessionUpdated {
                permission_mode: Some(mode.into()),
                ..SessionUpdated::default()
            });
        }
        Decoded::Understood
    }

    pub(super) fn title(&self, line: &Line<'_>, out: &mut Outbox<'_>) -> Decoded {
        let [custom, made, name] = line.fields(&["customTitle", "aiTitle", "agentName"]);
        let title = self.private.text(custom.or(made).or(name));
        if title.is_some() && self.private.is_full() && out.is_main() {
            out.emit(SessionUpdated { title, ..SessionUpdated::default() });
        }
        Decoded::Understood
    }

    /// What the process has cost so far; written as it ends, and when a session is left.
    pub(super) fn cost(line: &Line<'_>, out: &mut Outbox<'_>) -> Decoded {
        let [total] = line.fields(&["totalCostUSD"]);
        if let Some(total) = total.and_then(Raw::f64).filter(|_| out.is_main()) {
            out.emit(UsageUpdated {
                message: None,
                usage: None,
                cost_total_usd: Some(total),
                context_tokens: None,
                context_limit: None,
            });
        }
        Decoded::Understood
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float is cut to the range of the integer"
)]
fn whole(number: f64) -> Option<u64> {
    number.is_finite().then_some(number as u64)
}
