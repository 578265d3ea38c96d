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

/// The entry for `kind`, if the list has one.
pub fn find(list: &'static [Ignored], kind: &str) -> Option<&'static Ignored> {
    list.iter().find(|ignored| ignored.kind == kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_unique_and_gives_a_reason() {
        for list in [STREAM, HOOK] {
            for (at, one) in list.iter().enumerate() {
                assert!(one.reason.len() > 5, "{}", one.kind);
                assert_eq!(list.iter().position(|other| other.kind == one.kind), Some(at));
            }
        }
    }
}
