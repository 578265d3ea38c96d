//! What the decoders deliberately say nothing about, and why.
//!
//! A line on this list is counted as ignored. Whatever is neither decoded nor listed is kept whole
//! as a `native` event, so a new kind of line shows up instead of vanishing.

/// One kind of signal that makes no event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ignored {
    /// The line's type, with the subtype after a slash; or the hook event's name.
    pub kind: &'static str,
    /// Why it makes no event.
    pub reason: &'static str,
}

const fn entry(kind: &'static str, reason: &'static str) -> Ignored {
    Ignored { kind, reason }
}

/// Lines from the agent.
pub const STREAM: &[Ignored] = &[
    entry("keep_alive", "says only that the pipe is open"),
    entry("system/hook_started", "a hook of the user runs; what it changes has a line of its own"),
    entry("system/hook_progress", "output of a user's hook"),
    entry("system/hook_response", "a user's hook is done; a failure comes as informational"),
    entry("system/thinking_tokens", "an estimate; usage comes with the message"),
    entry("system/commands_changed", "the command menu"),
    entry("system/control_request_progress", "the request it is about stays open until answered"),
    entry("system/memory_recall", "which notes were read; content without state"),
    entry("system/elicitation_complete", "the answer to the elicitation has closed it"),
    entry("system/plugin_install", "set-up before any session work"),
    entry("system/files_persisted", "file upload of a remote host"),
    entry("system/post_turn_summary", "a summary of what was already told"),
    entry("system/task_summary", "a summary of what was already told"),
    entry("system/session_metadata", "bookkeeping of the host"),
    entry("tool_use_summary", "a summary of calls that were told one by one"),
    entry("prompt_suggestion", "a guess at the next prompt"),
    entry("active_goal", "a note of the model to itself"),
    entry("transcript_mirror", "a copy of the session file"),
    entry("autocompact_state", "how near a compaction is; the compaction itself is told"),
    entry("control_request/hook_callback", "a hook inside the host program; no human is asked"),
    entry("control_request/mcp_message", "traffic of a tool server inside the host"),
    entry("control_request/oauth_token_refresh", "plumbing between program and host"),
    entry("control_request/host_auth_token_refresh", "plumbing between program and host"),
    entry("control_request/remote_control_work_secret", "plumbing; holds a secret"),
    entry("control_request/ui_copy", "the host's screen"),
    entry("control_request/ui_prompt_read", "the host's screen"),
    entry("control_request/ui_prompt_fill", "the host's screen"),
    entry("control_request/ui_prompt_paint", "the host's screen"),
    entry("control_request/ui_prompt_suggest", "the host's screen"),
    entry("control_request/ui_read_selection", "the host's screen"),
    entry("control_request/remote_tool_call", "a tool that runs at the host; its call is told"),
    entry("control_request/remote_plumbing_call", "plumbing between program and host"),
    entry("control_request/remote_tools_probe", "plumbing between program and host"),
    entry("control_request/remote_tools_reannounce", "plumbing between program and host"),
];

/// Hook events.
pub const HOOK: &[Ignored] = &[
    entry("UserPromptExpansion", "UserPromptSubmit has told the prompt"),
    entry("PreModelSwitch", "PostModelSwitch tells the switch once it is done"),
    entry("Setup", "runs before there is a session"),
    entry("TeammateIdle", "another session, which reports for itself"),
    entry("TaskCreated", "an item on the model's task list, not running work"),
    entry("TaskCompleted", "an item on the model's task list, not running work"),
    entry("ConfigChange", "settings, not the session"),
    entry("WorktreeCreate", "must not be hooked: a hook there replaces the program's own work"),
    entry("WorktreeRemove", "files, not the session"),
    entry("InstructionsLoaded", "which notes were read"),
    entry("FileChanged", "files, not the session"),
    entry("DirectoryAdded", "files, not the session"),
    entry("MessageDisplay", "pieces of a text that the transcript holds whole"),
    entry("PreSkillShellCommand", "the command itself is a tool call"),
];

/// Lines of session files. Attachments, which are shown to the model beside the conversation, are ignored but for
/// two kinds.
pub const TRANSCRIPT: &[Ignored] = &[
    entry("agent-color", "the program's screen"),
    entry("api-request", "a request as it was sent; what came of it is told"),
    entry("api-request-blob", "the body of a request; content without state"),
    entry("api-request-shape", "the tools of a request"),
    entry("atis-latch", "book-keeping of the program"),
    entry("file-history-delta", "copies of files for undoing"),
    entry("file-history-snapshot", "copies of files for undoing"),
    entry("last-prompt", "the prompt is told where it begins its turn"),
    entry("mode", "the editor's mode, not the permission mode"),
    entry("pr-link", "a link, not the session's work"),
    entry("progress", "a tool still runs; its end is told"),
    entry("queue-operation", "a prompt waits; it is told where it begins its turn"),
    entry("summary", "a title for the list of old sessions"),
    entry("system/agents_killed", "each subagent's end is told"),
    entry("system/away_summary", "a summary of what was already told"),
    entry("system/bridge_status", "a connection of the program"),
    entry("system/local_command", "a command of the program itself: no turn comes of it"),
    entry("system/memory_saved", "notes, not the session's work"),
    entry("system/microcompact_boundary", "old tool output was dropped; the turn goes on"),
    entry("system/model_refusal_no_fallback", "the failed answer that follows tells it"),
    entry("system/permission_retry", "the call itself is told"),
    entry("system/scheduled_task_fire", "the prompt that follows tells it"),
    entry("tag", "a label for the list of old sessions"),
    entry("task-summary", "a summary of what was already told"),
    entry("tools-used", "book-keeping of the program"),
    entry("worktree-state", "files, not the session"),
];

/// The entry for `kind`, if the list has one.
pub fn find(list: &'static [Ignored], kind: &str) -> Option<&'static Ignored> {
    list.iter().find(|ignored| ignored.kind == kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_unique_and_gives_a_reason() {
        for list in [STREAM, HOOK, TRANSCRIPT] {
            for (at, one) in list.iter().enumerate() {
                assert!(one.reason.len() > 5, "{}", one.kind);
                assert_eq!(list.iter().position(|other| other.kind == one.kind), Some(at));
            }
        }
    }
}
