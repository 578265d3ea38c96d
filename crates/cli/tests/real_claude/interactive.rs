//! The CLI in a terminal, known only by its hooks and the files it writes.

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::answer::{Answer, Gate};
use crate::lamp::Lamp;
use crate::sandbox::{ASKING, Sandbox};
use crate::tmux::{self, Terminal};
use crate::{install, wait};

/// A sandbox whose CLI has linelamp's hooks; `None` where the case cannot run.
fn hooked() -> Option<Sandbox> {
    let sandbox = Sandbox::new(install::claude().filter(|_| tmux::available())?);
    sandbox.install_hooks();
    Some(sandbox)
}

/// Starts the CLI and waits until it and linelamp agree that it is idle. Gives the session's id.
fn started<'a>(sandbox: &'a Sandbox, lamp: &Lamp<'_>) -> (Terminal<'a>, String) {
    let terminal = Terminal::start(sandbox, &sandbox.claude(&ASKING));
    let id = session(&sandbox.wait_for_status("idle"));
    lamp.wait_for_state(&id, "idle");
    (terminal, id)
}

fn session(status: &Value) -> String {
    status["sessionId"].as_str().expect("the CLI names its session").to_owned()
}

#[test]
fn permission_dialog_is_a_wait_until_it_is_answered() {
    let Some(sandbox) = hooked() else { return };
    let lamp = Lamp::serve(&sandbox);
    let next = Gate::new();
    let answers = [Answer::bash("touch made"), Answer::text("It is made.").held_by(&next)];
    sandbox.api.script("make a file", answers);

    let (terminal, id) = started(&sandbox, &lamp);
    terminal.enter("make a file");
    terminal.wait_for("Do you want");
    let waiting = lamp.wait_for_state(&id, "waiting_for_permission");
    assert_eq!(waiting["open"][0]["tool"], "Bash", "{waiting}");
    sandbox.wait_for_status("waiting");
    terminal.answer("Do you want", "Enter");
    next.wait_reached();
    lamp.wait_for_state(&id, "working");
    next.open();
    terminal.wait_for("It is made.");
    lamp.wait_for_state(&id, "idle");
    terminal.enter("/exit");
    assert_eq!(terminal.wait_for_exit(), 0);

    lamp.wait_for_state(&id, "ended");
    assert_eq!(lamp.wait_for_event(&id, "session.ended")["reason"], "exit");
    let resolved = lamp.events(&id, "permission.resolved");
    assert_eq!(resolved.len(), 1, "{resolved:?}");
    assert_eq!(resolved[0]["decision"], "allowed");
    let turns = lamp.events(&id, "turn.ended");
    assert_eq!(turns.len(), 1, "{turns:?}");
    assert_eq!(turns[0]["outcome"], "completed");
}

#[test]
fn dismissed_dialog_is_no_wait_although_no_hook_says_so() {
    let Some(sandbox) = hooked() else { return };
    let lamp = Lamp::serve(&sandbox);
    sandbox.api.script("make a file", [Answer::bash("touch made")]);

    let (terminal, id) = started(&sandbox, &lamp);
    terminal.enter("make a file");
    terminal.wait_for("Do you want");
    lamp.wait_for_state(&id, "waiting_for_permission");
    sandbox.wait_for_status("waiting");
    terminal.answer("Do you want", "Escape");
    lamp.wait_for_state(&id, "idle");
    terminal.enter("/exit");
    assert_eq!(terminal.wait_for_exit(), 0);

    lamp.wait_for_state(&id, "ended");
    let resolved = lamp.events(&id, "permission.resolved");
    assert_eq!(resolved.len(), 1, "{resolved:?}");
    assert_ne!(resolved[0]["decision"], "allowed");
    assert!(!sandbox.project().join("made").exists());
}

#[test]
fn killed_session_is_taken_up_again_as_the_same() {
    let Some(sandbox) = hooked() else { return };
    let lamp = Lamp::serve(&sandbox);
    let gate = Gate::new();
    sandbox.api.script("remember this", [Answer::text("Remembered.")]);
    sandbox.api.script("think long", [Answer::text("Too late.").held_by(&gate)]);
    sandbox.api.script("be quick", [Answer::text("Quick enough.")]);

    let (terminal, id) = started(&sandbox, &lamp);
    terminal.enter("remember this");
    terminal.wait_for("Remembered.");
    lamp.wait_for_state(&id, "idle");
    sandbox.wait_for_status("idle");
    terminal.enter("think long");
    gate.wait_reached();
    lamp.wait_for_state(&id, "working");
    let killed = sandbox.cli_process();
    kill_process(killed, Signal::KILL).unwrap();
    assert_eq!(terminal.wait_for_exit(), 128 + 9);
    drop(terminal);

    let arguments = [&ASKING[..], &["--resume", &id]].concat();
    let terminal = Terminal::start(&sandbox, &sandbox.claude(&arguments));
    assert_eq!(session(&sandbox.wait_for_status("idle")), id);
    terminal.enter("be quick");
    terminal.wait_for("Quick enough.");
    let idle = lamp.wait_for_state(&id, "idle");
    assert_ne!(idle["pid"], killed.as_raw_pid());
    let turns = lamp.events(&id, "turn.ended");
    let outcomes: Vec<_> = turns.iter().map(|turn| &turn["outcome"]).collect();
    assert_eq!(outcomes, ["completed", "lost", "completed"]);
}

#[test]
fn killed_cli_is_an_ended_session_although_nothing_says_so() {
    let Some(sandbox) = hooked() else { return };
    let lamp = Lamp::serve(&sandbox);
    let gate = Gate::new();
    sandbox.api.script("think long", [Answer::text("Too late.").held_by(&gate)]);

    let (terminal, id) = started(&sandbox, &lamp);
    terminal.enter("think long");
    gate.wait_reached();
    lamp.wait_for_state(&id, "working");
    kill_process(sandbox.cli_process(), Signal::KILL).unwrap();
    assert_eq!(terminal.wait_for_exit(), 128 + 9);

    lamp.wait_for_state(&id, "ended");
    assert_eq!(lamp.wait_for_event(&id, "session.ended")["reason"], "crashed");
    let turns = lamp.events(&id, "turn.ended");
    let outcomes: Vec<_> = turns.iter().map(|turn| &turn["outcome"]).collect();
    assert_eq!(outcomes, ["lost"]);
}

#[test]
fn question_is_a_wait_for_input() {
    let Some(sandbox) = hooked() else { return };
    let lamp = Lamp::serve(&sandbox);
    let question = json!({"questions": [{
        "question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [
            {"label": "Red", "description": "A warm one"},
            {"label": "Blue", "description": "A cool one"},
        ],
    }]});
    let answers = [Answer::tool("AskUserQuestion", question), Answer::text("So be it.")];
    sandbox.api.script("ask me something", answers);

    let (terminal, id) = started(&sandbox, &lamp);
    terminal.enter("ask me something");
    terminal.wait_for("Which colour?");
    let waiting = lamp.wait_for_state(&id, "waiting_for_input");
    assert_eq!(waiting["waiting_for"], "question");
    sandbox.wait_for_status("waiting");
    terminal.answer("Which colour?", "Enter");
    terminal.wait_for("So be it.");
    lamp.wait_for_state(&id, "idle");
    assert_eq!(lamp.wait_for_event(&id, "permission.resolved")["decision"], "answered");
}

#[test]
fn cleared_conversation_is_a_new_session_with_its_parent() {
    let Some(sandbox) = hooked() else { return };
    let lamp = Lamp::serve(&sandbox);
    sandbox.api.script("before it", [Answer::text("Not cleared yet.")]);
    sandbox.api.script("after it", [Answer::text("Cleared now.")]);

    let (terminal, old) = started(&sandbox, &lamp);
    terminal.enter("before it");
    terminal.wait_for("Not cleared yet.");
    lamp.wait_for_state(&old, "idle");
    sandbox.wait_for_status("idle");
    terminal.enter("/clear");
    let new = wait::until("the CLI to be in a new session", || {
        let status = sandbox.status();
        let id = status.as_ref().map(session).filter(|id| *id != old);
        id.ok_or_else(|| format!("{status:?}"))
    });

    lamp.wait_for_state(&old, "ended");
    assert_eq!(lamp.wait_for_event(&old, "session.ended")["reason"], "clear");
    let cleared = lamp.wait_for_state(&new, "idle");
    assert_eq!(cleared["parent"], *old, "{cleared}");
    let started = lamp.wait_for_event(&new, "session.started");
    assert_eq!(started["source"], "clear");
    terminal.enter("after it");
    terminal.wait_for("Cleared now.");
    lamp.wait_for_state(&new, "idle");
    terminal.enter("/exit");
    assert_eq!(terminal.wait_for_exit(), 0);
    lamp.wait_for_state(&new, "ended");
    lamp.wait_for_state(&old, "ended");
}
