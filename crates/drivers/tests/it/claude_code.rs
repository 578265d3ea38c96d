//! Claude Code: every script in its folders.

use crate::script::run_folder;

#[test]
fn stream_scripts_come_out_as_they_say() {
    run_folder("claude_code/stream");
}

#[test]
fn hook_scripts_come_out_as_they_say() {
    run_folder("claude_code/hook");
}

#[test]
fn transcript_scripts_come_out_as_they_say() {
    run_folder("claude_code/transcript");
}

#[test]
fn status_scripts_come_out_as_they_say() {
    run_folder("claude_code/status");
}
