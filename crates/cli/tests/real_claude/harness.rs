//! The real CLI with nothing around it: what the other cases rely on.
//!
//! A failure here is one of the stand-in, the sandbox or the CLI, never of linelamp.

use serde_json::json;

use crate::answer::{Answer, Gate};
use crate::piped::{Piped, kind};
use crate::sandbox::{ASKING, ONE_SHOT, Sandbox, TWO_WAY};
use crate::tmux::{self, Terminal};
use crate::{install, wait};

#[test]
fn one_shot_prints_what_the_model_said() {
    let Some(claude) = install::claude() else { return };
    let sandbox = Sandbox::new(claude);
    sandbox.api.script("count to two", [Answer::thinking("Easy.").and_text("One, two.")]);

    let command = sandbox.claude(&[&ONE_SHOT[..], &["count to two"]].concat());
    let finished = Piped::spawn_silent(command).finish();

    assert!(finished.status.success(), "{finished:?}");
    let result = finished.last();
    assert_eq!(result["type"], "result", "{finished:?}");
    assert_eq!(result["result"], "One, two.");
    assert_eq!(finished.stderr, "");
}

#[test]
fn permission_is_asked_and_allowed() {
    let Some(claude) = install::claude() else { return };
    let sandbox = Sandbox::new(claude);
    sandbox.api.script("make a file", [Answer::bash("touch made"), Answer::text("Made.")]);

    let mut cli = Piped::spawn(sandbox.claude(&[&TWO_WAY[..], &ASKING].concat()));
    cli.prompt("make a file");
    let request = cli.permission_request();
    assert_eq!(request["request"]["tool_name"], "Bash");
    assert!(!sandbox.project().join("made").exists());
    let input = &request["request"]["input"];
    cli.answer(&request, &json!({"behavior": "allow", "updatedInput": input}));
    assert_eq!(cli.result()["result"], "Made.");
    assert!(sandbox.project().join("made").exists());
    let finished = cli.finish();

    assert!(finished.status.success(), "{finished:?}");
}

#[test]
fn failures_of_the_service_are_retried() {
    let Some(claude) = install::claude() else { return };
    let sandbox = Sandbox::new(claude);
    let answers = [Answer::error(529, 1), Answer::text("It was busy. Now it is not.").cut_after(4)];
    sandbox.api.script("try again", answers);

    let command = sandbox.claude(&[&ONE_SHOT[..], &["try again"]].concat());
    let finished = Piped::spawn_silent(command).finish();

    assert!(finished.status.success(), "{finished:?}");
    assert!(finished.messages.iter().any(|message| kind(message) == "system/api_retry"));
    assert_eq!(finished.last()["result"], "It was busy. Now it is not.");
    let served = sandbox.api.served();
    let asked = served.iter().filter(|line| line.ends_with("try again#0")).count();
    assert_eq!(asked, 3, "one overload, one stream cut off, one whole answer: {served:?}");
}

#[test]
fn interrupt_ends_a_turn_in_flight() {
    let Some(claude) = install::claude() else { return };
    let sandbox = Sandbox::new(claude);
    let gate = Gate::new();
    sandbox.api.script("go on and on", [Answer::text("On and").hanging_on(&gate)]);

    let mut cli = Piped::spawn(sandbox.claude(&TWO_WAY));
    cli.prompt("go on and on");
    gate.wait_reached();
    cli.ask("interrupt");
    assert_eq!(cli.result()["terminal_reason"], "aborted_streaming");
    assert_eq!(cli.finish().status.code(), Some(1));
}

#[test]
fn prompt_in_a_terminal_is_answered() {
    let Some(claude) = install::claude() else { return };
    if !tmux::available() {
        return;
    }
    let sandbox = Sandbox::new(claude);
    sandbox.api.script("say hello", [Answer::text("Hello, terminal.")]);

    let terminal = Terminal::start(&sandbox, &sandbox.claude(&[]));
    sandbox.wait_for_status("idle");
    terminal.enter("say hello");
    terminal.wait_for("Hello, terminal.");
    sandbox.wait_for_status("idle");
    terminal.enter("/exit");
    assert_eq!(terminal.wait_for_exit(), 0);
}

#[test]
fn dialog_in_a_terminal_waits_for_a_key() {
    let Some(claude) = install::claude() else { return };
    if !tmux::available() {
        return;
    }
    let sandbox = Sandbox::new(claude);
    sandbox.api.script("make a file", [Answer::bash("touch made"), Answer::text("It is made.")]);
    sandbox.api.script("make another", [Answer::bash("touch another")]);

    let terminal = Terminal::start(&sandbox, &sandbox.claude(&ASKING));
    let first = sandbox.wait_for_status("idle")["sessionId"].clone();
    terminal.enter("make a file");
    terminal.wait_for("Do you want");
    sandbox.wait_for_status("waiting");
    terminal.answer("Do you want", "Enter");
    terminal.wait_for("It is made.");
    assert!(sandbox.project().join("made").exists());
    sandbox.wait_for_status("idle");
    terminal.enter("make another");
    terminal.wait_for("Do you want");
    sandbox.wait_for_status("waiting");
    terminal.answer("Do you want", "Escape");
    sandbox.wait_for_status("idle");
    assert!(!sandbox.project().join("another").exists());
    terminal.enter("/clear");
    wait::until("another session id", || {
        let status = sandbox.status();
        let changed = status.as_ref().is_some_and(|status| status["sessionId"] != first);
        if changed { Ok(()) } else { Err(format!("{status:?}")) }
    });
    terminal.enter("/exit");
    assert_eq!(terminal.wait_for_exit(), 0);
}

/// Every case fails when something tries to leave the machine; here is shown that it would.
#[test]
fn call_to_the_outside_is_noticed() {
    let Some(claude) = install::claude() else { return };
    let sandbox = Sandbox::new(claude);
    let url = "https://example.invalid/";
    sandbox
        .api
        .script("look outside", [Answer::tool("WebFetch", json!({"url": url, "prompt": "?"}))]);

    let arguments = ["--permission-mode", "bypassPermissions", "look outside"];
    let command = sandbox.claude(&[&ONE_SHOT[..], &arguments].concat());
    let finished = Piped::spawn_silent(command).finish();

    assert_ne!(sandbox.api.take_outside(), Vec::<String>::new(), "{finished:?}");
}
