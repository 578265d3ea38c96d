//! `claude -p` under `linelamp wrap`: one prompt, a stream, an exit code.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use serde_json::Value;

use crate::answer::Answer;
use crate::install;
use crate::lamp::Lamp;
use crate::piped::{Finished, Piped, kind};
use crate::sandbox::{ONE_SHOT, Sandbox};

const BYPASS: [&str; 2] = ["--permission-mode", "bypassPermissions"];

#[test]
fn wrapped_run_says_and_does_the_same() {
    let Some(claude) = install::claude() else { return };
    let sandbox = Sandbox::new(claude);
    sandbox.api.script("list the files", [Answer::bash("ls"), Answer::text("None.")]);
    let _lamp = Lamp::serve(&sandbox);

    let arguments = [&ONE_SHOT[..], &BYPASS, &["list the files"]].concat();
    let alone = Piped::spawn_silent(sandbox.claude(&arguments)).finish();
    let wrapped = Piped::spawn_silent(sandbox.wrapped(&arguments)).finish();

    assert_eq!(alone.status.code(), Some(0), "{alone:?}");
    assert_eq!(wrapped.status, alone.status, "{wrapped:?}");
    assert_eq!(wrapped.stderr, alone.stderr);
    assert_eq!(shape(&wrapped), shape(&alone));
}

#[test]
fn wrapped_output_is_the_programs_byte_for_byte() {
    let Some(claude) = install::claude() else { return };
    let sandbox = Sandbox::new(claude);
    let long = "Ünïcödé, line after line. 🏮\n".repeat(500);
    sandbox.api.script(
        "write much",
        [Answer::thinking("Much.").and_text(&long).delay(Duration::from_millis(1))],
    );
    let _lamp = Lamp::serve(&sandbox);

    let mut command = sandbox.linelamp(&["wrap", "--agent", "claude-code", "--"]);
    command.args(["sh", "-c", r#"claude "$@" | tee sent; exit 7"#, "claude"]);
    command.args(ONE_SHOT).args(["--include-partial-messages", "write much"]);
    let finished = Piped::spawn_silent(command).finish();

    let sent = fs::read(sandbox.project().join("sent")).unwrap();
    assert!(sent.len() > long.len());
    assert!(finished.stdout == sent, "{} bytes of {}", finished.stdout.len(), sent.len());
    assert_eq!(finished.status.code(), Some(7));
}

#[test]
fn one_shot_run_is_told_from_start_to_end() {
    let Some(claude) = install::claude() else { return };
    let sandbox = Sandbox::new(claude);
    sandbox.api.script("list the files", [Answer::bash("ls"), Answer::text("None.")]);
    let lamp = Lamp::serve(&sandbox);

    let arguments = [&ONE_SHOT[..], &BYPASS, &["list the files"]].concat();
    let finished = Piped::spawn_silent(sandbox.wrapped(&arguments)).finish();
    let id = session(&finished);

    let ended = lamp.wait_for_state(&id, "ended");
    assert_eq!(ended["agent"], "claude-code");
    assert_eq!(ended["outcome"], "completed");
    assert_eq!(ended["cwd"], sandbox.project().display().to_string());
    // Once each, although the stream, the transcript and the status file all show them.
    for kind in ["session.started", "turn.started", "turn.ended", "session.ended", "tool.ended"] {
        assert_eq!(lamp.events(&id, kind).len(), 1, "{kind}: {:#?}", lamp.history(&id));
    }
    assert_eq!(lamp.wait_for_event(&id, "turn.ended")["outcome"], "completed");
    assert_eq!(lamp.wait_for_event(&id, "tool.ended")["outcome"], "ok");
    let ending = lamp.wait_for_event(&id, "session.ended");
    assert_eq!((&ending["reason"], &ending["exit_code"]), (&"exit".into(), &0.into()));
    assert_eq!(lamp.states(&id).last().unwrap(), "ended");
}

#[test]
fn failed_turn_is_told_as_failed() {
    let Some(claude) = install::claude() else { return };
    let sandbox = Sandbox::new(claude);
    sandbox.api.script("do the impossible", [Answer::error(400, usize::MAX)]);
    let lamp = Lamp::serve(&sandbox);

    let arguments = [&ONE_SHOT[..], &["do the impossible"]].concat();
    let finished = Piped::spawn_silent(sandbox.wrapped(&arguments)).finish();
    let id = session(&finished);

    assert_eq!(finished.status.code(), Some(1));
    assert_eq!(lamp.wait_for_state(&id, "ended")["outcome"], "failed");
    let turn = lamp.wait_for_event(&id, "turn.ended");
    assert_eq!((&turn["outcome"], &turn["status"]), (&"failed".into(), &400.into()));
    assert_eq!(lamp.wait_for_event(&id, "session.ended")["exit_code"], 1);
}

#[test]
fn run_without_a_daemon_is_known_to_the_next_one() {
    let Some(claude) = install::claude() else { return };
    let sandbox = Sandbox::new(claude);
    sandbox.api.script("work alone", [Answer::text("Done alone.")]);

    let arguments = [&ONE_SHOT[..], &["work alone"]].concat();
    let finished = Piped::spawn_silent(sandbox.wrapped(&arguments)).finish();
    assert_eq!(finished.status.code(), Some(0), "{finished:?}");
    assert_eq!(finished.stderr, "");

    let id = session(&finished);
    let lamp = Lamp::serve(&sandbox);
    assert_eq!(lamp.wait_for_state(&id, "ended")["outcome"], "completed");
    assert_eq!(lamp.events(&id, "turn.ended").len(), 1);
}

#[test]
fn hooked_run_without_a_daemon_is_known_to_the_next_one() {
    let Some(claude) = install::claude() else { return };
    let sandbox = Sandbox::new(claude);
    sandbox.api.script("work alone", [Answer::bash("ls"), Answer::text("Done alone.")]);
    sandbox.install_hooks();

    let arguments = [&ONE_SHOT[..], &BYPASS, &["work alone"]].concat();
    let finished = Piped::spawn_silent(sandbox.claude(&arguments)).finish();
    assert_eq!(finished.status.code(), Some(0), "{finished:?}");
    assert_eq!(finished.last()["result"], "Done alone.");

    let id = session(&finished);
    let lamp = Lamp::serve(&sandbox);
    assert_eq!(lamp.wait_for_state(&id, "ended")["outcome"], "completed");
    assert_eq!(lamp.events(&id, "turn.ended").len(), 1);
    assert_eq!(lamp.wait_for_event(&id, "tool.ended")["tool"], "Bash");
}

/// What a run printed without the values that differ from run to run: kinds and field names.
fn shape(finished: &Finished) -> Vec<(String, BTreeSet<&String>)> {
    finished.messages.iter().map(|message| (kind(message), fields(message))).collect()
}

/// The names of a message's fields.
fn fields(message: &Value) -> BTreeSet<&String> {
    message.as_object().map(|fields| fields.keys().collect()).unwrap_or_default()
}

fn session(finished: &Finished) -> String {
    let init = finished.messages.iter().find(|message| kind(message) == "system/init");
    init.and_then(|init| init["session_id"].as_str()).expect("the run has begun").to_owned()
}
