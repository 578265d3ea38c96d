//! How a turn ended, from the three words a result line says about it.

use linelamp_core::event::TurnOutcome;

/// What counts for the outcome.
#[derive(Debug, Default, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about one turn")]
pub(super) struct Verdict<'a> {
    pub(super) terminal_reason: &'a str,
    pub(super) subtype: &'a str,
    pub(super) is_error: bool,
    pub(super) stop_reason: &'a str,
    /// The host asked for an interrupt in this turn.
    pub(super) interrupted: bool,
    /// A hook kept the prompt from the model.
    pub(super) blocked: bool,
    /// The model declined.
    pub(super) refused: bool,
}

/// The terminal reason decides where there is one. Without it (older versions, local commands) the
/// subtype does, and `is_error` overrules a subtype of success: a failed API call says both.
pub(super) fn outcome(verdict: Verdict<'_>) -> TurnOutcome {
    let declined = verdict.stop_reason == "refusal" || verdict.refused;
    match verdict.terminal_reason {
        "aborted_streaming" | "aborted_tools" => TurnOutcome::Interrupted,
        "max_turns" => TurnOutcome::MaxTurns,
        "budget_exhausted" => TurnOutcome::MaxBudget,
        "hook_stopped" | "stop_hook_prevented" => TurnOutcome::HookStopped,
        "completed" | "background_requested" | "tool_deferred" if !verdict.is_error => {
            TurnOutcome::Completed
        }
        "" => without_reason(verdict),
        _ if verdict.is_error && declined => TurnOutcome::Refused,
        "api_error"
        | "model_error"
        | "image_error"
        | "prompt_too_long"
        | "blocking_limit"
        | "rapid_refill_breaker"
        | "malformed_tool_use_exhausted"
        | "tool_deferred_unavailable"
        | "structured_output_retry_exhausted"
        | "turn_setup_failed" => TurnOutcome::Failed,
        _ if verdict.is_error => TurnOutcome::Failed,
        _ => without_reason(verdict),
    }
}

fn without_reason(verdict: Verdict<'_>) -> TurnOutcome {
    match verdict.subtype {
        "error_max_turns" => TurnOutcome::MaxTurns,
        "error_max_budget_usd" => TurnOutcome::MaxBudget,
        "error_during_execution" if verdict.interrupted => TurnOutcome::Interrupted,
        _ if verdict.blocked => TurnOutcome::Blocked,
        _ if verdict.is_error && verdict.stop_reason == "refusal" => TurnOutcome::Refused,
        subtype if verdict.is_error || subtype.starts_with("error") => TurnOutcome::Failed,
        _ => TurnOutcome::Completed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_a_result_says_it_is_understood() {
        use TurnOutcome::*;
        for (terminal_reason, subtype, is_error, stop_reason, expected) in [
            ("completed", "success", false, "end_turn", Completed),
            ("completed", "success", true, "end_turn", Failed),
            ("api_error", "success", true, "stop_sequence", Failed),
            ("api_error", "success", true, "refusal", Refused),
            ("prompt_too_long", "success", true, "", Failed),
            ("aborted_streaming", "error_during_execution", true, "", Interrupted),
            ("aborted_tools", "error_during_execution", true, "tool_use", Interrupted),
            ("max_turns", "error_max_turns", true, "tool_use", MaxTurns),
            ("budget_exhausted", "error_max_budget_usd", true, "", MaxBudget),
            ("hook_stopped", "success", false, "", HookStopped),
            ("", "success", false, "", Completed),
            ("", "success", true, "", Failed),
            ("", "error_during_execution", true, "", Failed),
            ("", "error_max_turns", true, "", MaxTurns),
            ("", "error_max_budget_usd", true, "", MaxBudget),
            ("", "error_max_structured_output_retries", false, "", Failed),
            ("something_new", "success", false, "", Completed),
            ("something_new", "success", true, "", Failed),
        ] {
            let verdict =
                Verdict { terminal_reason, subtype, is_error, stop_reason, ..Verdict::default() };
            assert_eq!(outcome(verdict), expected, "{verdict:?}");
        }
    }

    #[test]
    fn without_a_terminal_reason_an_asked_interrupt_is_one() {
        let verdict = Verdict {
            subtype: "error_during_execution",
            is_error: true,
            interrupted: true,
            ..Verdict::default()
        };
        assert_eq!(outcome(verdict), TurnOutcome::Interrupted);
    }

    #[test]
    fn a_prompt_a_hook_kept_back_is_blocked() {
        let verdict = Verdict { subtype: "success", blocked: true, ..Verdict::default() };
        assert_eq!(outcome(verdict), TurnOutcome::Blocked);
    }
}
