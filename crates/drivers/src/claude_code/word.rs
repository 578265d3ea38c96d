//! Claude Code's words for things, in linelamp's words.

use linelamp_core::event::{
    CompactionTrigger, DecidedBy, Decision, EndReason, ErrorKind, StartSource, TaskKind,
    TaskOutcome, TurnOrigin, Usage,
};

use crate::json::Raw;

/// A failure by the agent's word, else the API's error type, else the HTTP status.
pub(crate) fn error(word: &str, api_type: Option<&str>, status: Option<u16>) -> ErrorKind {
    let kind = match word {
        "rate_limit" => ErrorKind::RateLimit,
        "overloaded" => ErrorKind::Overloaded,
        "authentication_failed"
        | "oauth_org_not_allowed"
        | "account_on_hold"
        | "verification_required"
        | "cloud_credential_error" => ErrorKind::Authentication,
        "billing_error" => ErrorKind::Billing,
        "invalid_request" | "model_not_found" | "prompt_too_long" | "max_output_tokens" => {
            ErrorKind::InvalidRequest
        }
        "server_error" => ErrorKind::Server,
        _ => ErrorKind::Unknown,
    };
    if kind != ErrorKind::Unknown && !(kind == ErrorKind::Server && status == Some(529)) {
        return kind;
    }
    match api_type.unwrap_or_default() {
        "rate_limit_error" => ErrorKind::RateLimit,
        "overloaded_error" => ErrorKind::Overloaded,
        "authentication_error" | "permission_error" => ErrorKind::Authentication,
        "billing_error" => ErrorKind::Billing,
        "invalid_request_error" | "not_found_error" | "request_too_large" => {
            ErrorKind::InvalidRequest
        }
        "api_error" | "timeout_error" => ErrorKind::Server,
        _ => status.map_or(kind, by_status),
    }
}

fn by_status(status: u16) -> ErrorKind {
    match status {
        401 | 403 => ErrorKind::Authentication,
        402 => ErrorKind::Billing,
        429 => ErrorKind::RateLimit,
        529 => ErrorKind::Overloaded,
        400..=499 => ErrorKind::InvalidRequest,
        500..=599 => ErrorKind::Server,
        _ => ErrorKind::Unknown,
    }
}

/// Where a session came from.
pub(crate) fn start(word: &str) -> StartSource {
    StartSource::from_word(word)
}

/// Why a session ended, by the `SessionEnd` hook's word.
pub(crate) fn end(word: &str) -> EndReason {
    match word {
        "clear" => EndReason::Clear,
        "logout" => EndReason::Logout,
        "prompt_input_exit" | "resume" | "bypass_permissions_disabled" => EndReason::Exit,
        _ => EndReason::Unknown,
    }
}

/// What began a turn.
pub(crate) fn origin(word: &str) -> TurnOrigin {
    match word {
        "task-notification" | "auto-continuation" | "observer" | "observer-activity" => {
            TurnOrigin::Task
        }
        "peer" | "channel" | "coordinator" => TurnOrigin::Peer,
        _ => TurnOrigin::Human,
    }
}

/// What kind of work a task is: the stream says `local_bash`, the hooks `shell`.
pub(crate) fn task_kind(word: &str) -> TaskKind {
    match word {
        "local_agent" | "remote_agent" | "subagent" | "in_process_teammate" => TaskKind::Agent,
        "local_bash" | "shell" | "bash" | "monitor" => TaskKind::Shell,
        "local_workflow" | "workflow" => TaskKind::Workflow,
        _ => TaskKind::Other,
    }
}

/// How a task ended; `None` while it goes on.
pub(crate) fn task_outcome(word: &str) -> Option<TaskOutcome> {
    match word {
        "completed" => Some(TaskOutcome::Completed),
        "failed" => Some(TaskOutcome::Failed),
        "stopped" | "killed" => Some(TaskOutcome::Stopped),
        _ => None,
    }
}

/// What set a compaction off.
pub(crate) fn trigger(word: &str) -> CompactionTrigger {
    CompactionTrigger::from_word(word)
}

/// The answer to an elicitation.
pub(crate) fn elicitation(action: &str) -> Decision {
    match action {
        "accept" => Decision::Answered,
        "decline" => Decision::Denied,
        "cancel" => Decision::Cancelled,
        _ => Decision::Unknown,
    }
}

/// Who decided about a tool call, by `permission_decision.source`. What a host on the stream
/// decided looks like a user's decision there, so `host` says who answered.
pub(crate) fn decided_by(source: &str, host: bool) -> DecidedBy {
    match source {
        "hook" => DecidedBy::Hook,
        "config" => DecidedBy::Rule,
        word if word.starts_with("user") => {
            if host {
                DecidedBy::Host
            } else {
                DecidedBy::User
            }
        }
        _ => DecidedBy::Unknown,
    }
}

/// Tokens as the API counts them.
pub(crate) fn tokens(usage: Raw<'_>) -> Option<Usage> {
    let [input, output, cache_read, cache_creation] = usage
        .fields(&[
            "input_tokens",
            "output_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
        ])?
        .map(|value| value.and_then(Raw::u64));
    Some(Usage { input, output, cache_read, cache_creation })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_telling_source_of_a_failure_counts() {
        assert_eq!(error("rate_limit", None, Some(429)), ErrorKind::RateLimit);
        assert_eq!(
            error("unknown", Some("invalid_request_error"), Some(400)),
            ErrorKind::InvalidRequest
        );
        assert_eq!(
            error("server_error", Some("overloaded_error"), Some(529)),
            ErrorKind::Overloaded
        );
        assert_eq!(error("server_error", None, Some(500)), ErrorKind::Server);
        assert_eq!(error("unknown", None, Some(402)), ErrorKind::Billing);
        assert_eq!(error("unknown", None, None), ErrorKind::Unknown);
    }
}
