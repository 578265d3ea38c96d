//! The end of a turn.

use linelamp_core::driver::Decoded;
use linelamp_core::event::{
    ApiFailed, Content, Decision, ErrorKind, Scope, TurnEnded, TurnOrigin, TurnOutcome, TurnStarted,
};

use super::cost;
use super::decoder::StreamDecoder;
use super::head::Head;
use super::outcome::{Verdict, outcome};
use crate::claude_code::word::{self, tokens};
use crate::json::Raw;

impl StreamDecoder {
    /// A `result` line. It ends exactly one turn; one that was not open (a blocked prompt, an
    /// unknown session to resume) is begun here first. Only the turn of `/clear` is over already.
    pub(super) fn result(&mut self, head: &Head<'_>) -> Decoded {
        let [origin, queued, rounds, total] =
            head.fields(&["origin", "queued_turn_count", "num_turns", "total_cost_usd"]);
        if std::mem::take(&mut self.turns.cleared) && rounds.and_then(Raw::u64) == Some(0) {
            self.costs.turn(total.and_then(Raw::f64), None);
            self.begin_next();
            return Decoded::Understood;
        }
        let origin = origin
            .and_then(|origin| origin.get("kind"))
            .and_then(Raw::str)
            .map(|kind| word::origin(&kind));
        let queued = queued.and_then(Raw::u64);
        // A task woke the agent while the host's prompt already waited: the prompt's turn is still
        // to come, and the work that ended here had a turn of its own.
        let kept = match &self.turns.open {
            Some(turn)
                if origin == Some(TurnOrigin::Task)
                    && turn.origin == TurnOrigin::Human
                    && queued != Some(0)
                    && !self.turns.prompts.is_empty() =>
            {
                self.turns.open.take().map(|turn| super::turn::Turn { began: false, ..turn })
            }
            _ => None,
        };
        if !self.turns.is_open() {
            let origin = origin.unwrap_or(TurnOrigin::Human);
            self.begin_turn(origin, true, origin == TurnOrigin::Task);
        }
        self.finish_blocks();
        self.end_compaction();
        self.settle_requests(|request| request.scope.is_main(), Decision::Cancelled);
        self.end_marked_tasks();
        self.end_turn(head, queued, kept.is_some());
        if let Some(turn) = kept {
            // The turn was told when it began; that it goes on is evidence only.
            let going =
                TurnStarted { turn: turn.id.clone(), origin: turn.origin, synthetic: false };
            self.outlet.main(going).hints.evidence_only = true;
            self.turns.open = Some(turn);
        } else {
            self.begin_next();
        }
        Decoded::Understood
    }

    /// The next prompt runs at once; between the two turns the session is not idle.
    fn begin_next(&mut self) {
        if !self.turns.is_open()
            && let Some(next) = self.turns.prompts.front_mut()
        {
            next.taken = true;
            self.begin_turn(TurnOrigin::Human, false, false);
        }
    }

    fn end_turn(&mut self, head: &Head<'_>, queued: Option<u64>, foreign: bool) {
        let Some(turn) = self.turns.open.take() else { return };
        let [is_error, terminal, stop, duration, rounds, total, usage, since, ends @ ..] = head
            .fields(&[
                "is_error",
                "terminal_reason",
                "stop_reason",
                "duration_ms",
                "num_turns",
                "total_cost_usd",
                "usage",
                "model_usage_since_last_result",
                "result",
                "errors",
                "api_error_status",
                "api_error_type",
                "user_message_uuid",
                "user_message_uuids",
            ]);
        let [result, errors, status, api_type, one, many] = ends;
        let terminal = terminal.and_then(Raw::str).unwrap_or_default();
        let subtype = head.subtype.and_then(Raw::str).unwrap_or_default();
        let stop = stop.and_then(Raw::str);
        let is_error = is_error.and_then(Raw::bool).unwrap_or(false);
        let outcome = outcome(Verdict {
            terminal_reason: &terminal,
            subtype: &subtype,
            is_error,
            stop_reason: stop.as_deref().unwrap_or_default(),
            interrupted: turn.interrupted,
            blocked: turn.blocked,
            refused: turn.refused,
        });
        let status = status.and_then(Raw::u64).and_then(|status| u16::try_from(status).ok());
        let message = if matches!(outcome, TurnOutcome::Completed | TurnOutcome::Interrupted) {
            None
        } else {
            self.error_text(errors, result)
        };
        let mut error = None;
        if outcome == TurnOutcome::Failed {
            let api_type = api_type.and_then(Raw::str);
            error = Some(turn.error.unwrap_or_else(|| {
                let by_word = if terminal == "prompt_too_long" { &*terminal } else { "" };
                word::error(by_word, api_type.as_deref(), status)
            }));
            if error == Some(ErrorKind::Unknown) && status.is_none() && turn.unreachable {
                error = Some(ErrorKind::Network);
            }
            if terminal == "api_error" && turn.error.is_none() {
                self.outlet.main(ApiFailed {
                    error: error.unwrap_or(ErrorKind::Unknown),
                    status,
                    resets_at: turn.resets_at.filter(|_| error == Some(ErrorKind::RateLimit)),
                    message: message.clone(),
                });
            }
        }
        let prompts = self.settle_prompts(one.or(many), many, queued, foreign);
        let ended = TurnEnded {
            turn: turn.id,
            outcome,
            error,
            stop_reason: stop.map(Into::into),
            raw: Some(if terminal.is_empty() { subtype } else { terminal })
                .filter(|word| !word.is_empty())
                .map(Into::into),
            status,
            message,
            usage: usage.and_then(tokens),
            cost_usd: self.costs.turn(total.and_then(Raw::f64), cost::sum(since)),
            cost_total_usd: total.and_then(Raw::f64),
            duration_ms: duration.and_then(Raw::u64),
            rounds: rounds.and_then(Raw::u64).and_then(|n| u32::try_from(n).ok()),
            background: self.tasks.background(),
            prompts,
        };
        self.turns.failed = outcome != TurnOutcome::Completed;
        let agents = self.tasks.running_agents();
        self.outlet.main(ended).hints.running_agents = Some(agents);
    }

    /// Ends the open turn without a result line, and settles the prompts it had taken up.
    pub(super) fn end_turn_as(&mut self, outcome: TurnOutcome, raw: Option<String>) {
        self.finish_blocks();
        self.end_compaction();
        let Some(turn) = self.turns.open.take() else { return };
        let background = self.tasks.background();
        let mut ended = TurnEnded { raw, background, ..TurnEnded::new(turn.id, outcome) };
        ended.prompts = self.settle_prompts(None, None, None, false);
        let agents = self.tasks.running_agents();
        self.outlet.main(ended).hints.running_agents = Some(agents);
    }

    /// Which of the host's prompts this turn answered. Newer versions name them or say how many
    /// still wait (a zero says nothing); otherwise it is what the agent had taken up.
    fn settle_prompts(
        &mut self,
        named: Option<Raw<'_>>,
        many: Option<Raw<'_>>,
        queued: Option<u64>,
        foreign: bool,
    ) -> Vec<String> {
        let waiting = &mut self.turns.prompts;
        let mut told: Vec<String> = match many.filter(|many| many.is_array()) {
            Some(many) => many.elements().filter_map(Raw::id).map(Into::into).collect(),
            None => named.and_then(Raw::id).map(Into::into).into_iter().collect(),
        };
        waiting.retain(|prompt| !prompt.uuid.as_ref().is_some_and(|uuid| told.contains(uuid)));
        if foreign {
            return told;
        }
        let settled = match queued {
            Some(queued @ 1..) => {
                waiting.len().saturating_sub(usize::try_from(queued).unwrap_or(usize::MAX))
            }
            _ => waiting.iter().take_while(|prompt| prompt.taken).count(),
        };
        told.extend(waiting.drain(..settled).filter_map(|prompt| prompt.uuid));
        told
    }

    fn error_text(&self, errors: Option<Raw<'_>>, result: Option<Raw<'_>>) -> Option<Content> {
        let mut text: Option<Content> = None;
        for error in errors.into_iter().flat_map(Raw::elements) {
            let Some(next) = self.private.text(Some(error)) else { continue };
            match &mut text {
                Some(all) => {
                    all.size += 1 + next.size;
                    if let (Some(all), Some(next)) = (&mut all.value, next.value) {
                        all.push('\n');
                        all.push_str(&next);
                    }
                }
                None => text = Some(next),
            }
        }
        text.or_else(|| self.private.text(result))
    }

    /// An assistant line reports a failed model request.
    pub(super) fn api_failed(&mut self, head: &Head<'_>, scope: Scope, text: Option<Content>) {
        let [word, status, api_type] =
            head.fields(&["error", "api_error_status", "api_error_type"]);
        let Some(word) = word.and_then(Raw::str) else { return };
        if word == "max_output_tokens" {
            return; // The agent goes on by itself.
        }
        let status = status.and_then(Raw::u64).and_then(|status| u16::try_from(status).ok());
        let mut error = word::error(&word, api_type.and_then(Raw::str).as_deref(), status);
        let limited = self.turns.open.as_ref().filter(|_| error == ErrorKind::RateLimit);
        let resets_at = limited.and_then(|turn| turn.resets_at);
        if scope.is_main()
            && let Some(turn) = &mut self.turns.open
        {
            if error == ErrorKind::Unknown && status.is_none() && turn.unreachable {
                error = ErrorKind::Network;
            }
            turn.error = Some(error);
        }
        self.outlet.emit(scope, ApiFailed { error, status, resets_at, message: text });
    }
}
