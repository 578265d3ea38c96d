//! The CLI in a terminal does what no hook tells, or what only several sources together tell: the state must
//! become right within three seconds.
//!
//! How long each took is printed (`cargo test --test real_claude soon -- --nocapture`).

use std::io::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::answer::{Answer, Gate};
use crate::lamp::Lamp;
use crate::sandbox::{ASKING, Sandbox};
use crate::tmux::{self, Terminal};
use crate::{install, wait};

/// What is true must be known by then.
const SOON: Duration = Duration::from_secs(3);

/// A sandbox whose CLI has linelamp's hooks; `None` where the case cannot run.
fn hooked() -> Option<Sandbox> {
    let sandbox = Sandbox::new(install::claude().filter(|_| tmux::available())?);
    sandbox.install_hooks();
    Some(sandbox)
}

/// Starts the CLI and waits until it and linelamp agree that it is idle. Gives the session's id.
fn started<'a>(
    sandbox: &'a Sandbox,
    lamp: &Lamp<'_>,
    arguments: &[&str],
) -> (Terminal<'a>, String) {
    let terminal = Terminal::start(sandbox, &sandbox.claude(arguments));
    let id = session(&sandbox.wait_for_status("idle"));
    lamp.wait_for_state(&id, "idle");
    (terminal, id)
}

fn session(status: &Value) -> String {
    status["sessionId"].as_str().expect("the CLI names its session").to_owned()
}

/// The state is known within three seconds from now, when the CLI itself shows it.
fn soon(lamp: &Lamp<'_>, what: &str, id: &str, state: &str) -> Value {
    let since = Instant::now();
    let seen = lamp.wait_for_state(id, state);
    let took = since.elapsed();
    writeln!(std::io::stderr(), "{what}: {state} after {} ms", took.as_millis()).ok();
    assert!(took <= SOON, "{what}: {state} only after {took:?}");
    seen
}

/// Presses a key until the CLI calls itself idle.
fn press_until_idle(sandbox: &Sandbox, terminal: &Terminal<'_>, key: &str) {
    terminal.press_until(key, || {
        let status = sandbox.status();
        let idle = status.as_ref().is_some_and(|status| status["status"] == "idle");
        if idle { Ok(()) } else { Err(format!("{status:?}")) }
    });
}

/// The number in front of a dialog's choice.
fn number_of(screen: &str, choice: &str) -> String {
    let line = screen.lines().find_map(|line| line.split_once(&format!(". {choice}")));
    let number = line.and_then(|(before, _)| before.chars().last());
    number.unwrap_or_else(|| panic!("no {choice} in {screen}")).to_string()
}

#[test]
fn escape_while_text_streams_ends_the_turn() {
    let Some(sandbox) = hooked() else { return };
    let lamp = Lamp::serve(&sandbox);
    let gate = Gate::new();
    sandbox.api.script("talk on", [Answer::text("And so on.").hanging_on(&gate)]);

    let (terminal, id) = started(&sandbox, &lamp, &ASKING);
    terminal.enter("talk on");
    gate.wait_reached();
    lamp.wait_for_state(&id, "working");
    sandbox.wait_for_status("busy");
    press_until_idle(&sandbox, &terminal, "Escape");
    let idle = soon(&lamp, "Esc while text streams", &id, "idle");
    assert_ne!(idle["outcome"], "completed", "{idle}");
}

#[test]
fn escape_before_the_first_byte_ends_the_turn_although_no_hook_says_so() {
    let Some(sandbox) = hooked() else { return };
    let lamp = Lamp::serve(&sandbox);
    let gate = Gate::new();
    sandbox.api.script("think long", [Answer::text("Too late.").held_by(&gate)]);

    let (terminal, id) = started(&sandbox, &lamp, &ASKING);
    terminal.enter("think long");
    gate.wait_reached();
    lamp.wait_for_state(&id, "working");
    sandbox.wait_for_status("busy");
    press_until_idle(&sandbox, &terminal, "Escape");
    soon(&lamp, "Esc before the first byte", &id, "idle");
}

#[test]
fn no_in_a_dialog_is_no_wait_although_no_hook_says_so() {
    let Some(sandbox) = hooked() else { return };
    let lamp = Lamp::serve(&sandbox);
    sandbox.api.script("make a file", [Answer::bash("touch made")]);

    let (terminal, id) = started(&sandbox, &lamp, &ASKING);
    terminal.enter("make a file");
    terminal.wait_for("Do you want");
    soon(&lamp, "a dialog", &id, "waiting_for_permission");
    sandbox.wait_for_status("waiting");
    let no = number_of(&terminal.screen(), "No");
    terminal.answer("Do you want", &no);
    sandbox.wait_for_status("idle");
    soon(&lamp, "\"No\" in the dialog", &id, "idle");
    let resolved = lamp.events(&id, "permission.resolved");
    assert_eq!(resolved.len(), 1, "{resolved:?}");
    assert_eq!(resolved[0]["decision"], "denied", "{resolved:?}");
    assert!(!sandbox.project().join("made").exists());
}

#[test]
fn allowed_dialog_is_work_again_while_the_tool_still_runs() {
    let Some(sandbox) = hooked() else { return };
    let lamp = Lamp::serve(&sandbox);
    let command = "while ! [ -e go ]; do sleep 0.05; done; touch made";
    sandbox.api.script("make a file", [Answer::bash(command), Answer::text("It is made.")]);

    let (terminal, id) = started(&sandbox, &lamp, &ASKING);
    terminal.enter("make a file");
    terminal.wait_for("Do you want");
    soon(&lamp, "a dialog", &id, "waiting_for_permission");
    sandbox.wait_for_status("waiting");
    terminal.answer("Do you want", "Enter");
    sandbox.wait_for_status("busy");
    soon(&lamp, "an allowed dialog, its tool still running", &id, "working");
    std::fs::write(sandbox.project().join("go"), "").expect("the sandbox is ours");
    terminal.wait_for("It is made.");
    sandbox.wait_for_status("idle");
    soon(&lamp, "the end of that turn", &id, "idle");
    let resolved = lamp.events(&id, "permission.resolved");
    assert_eq!(resolved.len(), 1, "{resolved:?}");
    assert_eq!(resolved[0]["decision"], "allowed");
}

#[test]
fn question_is_a_wait_for_input_until_it_is_answered() {
    let Some(sandbox) = hooked() else { return };
    let lamp = Lamp::serve(&sandbox);
    let question = json!({"questions": [{
        "question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [
            {"label": "Red", "description": "A warm one"},
            {"label": "Blue", "description": "A cool one"},
        ],
    }]});
    let gate = Gate::new();
    let after = Answer::text("So be it.").held_by(&gate);
    sandbox.api.script("ask me", [Answer::tool("AskUserQuestion", question), after]);

    let (terminal, id) = started(&sandbox, &lamp, &ASKING);
    terminal.enter("ask me");
    terminal.wait_for("Which colour?");
    let waiting = soon(&lamp, "a question", &id, "waiting_for_input");
    assert_eq!(waiting["waiting_for"], "question");
    sandbox.wait_for_status("waiting");
    terminal.answer("Which colour?", "Enter");
    gate.wait_reached();
    soon(&lamp, "an answered question", &id, "working");
    gate.open();
    terminal.wait_for("So be it.");
}

#[test]
fn plan_is_a_wait_for_input_until_it_is_approved() {
    let Some(sandbox) = hooked() else { return };
    let lamp = Lamp::serve(&sandbox);
    let gate = Gate::new();
    let plan = Answer::tool("ExitPlanMode", json!({"plan": "1. Do it."}));
    let after = Answer::text("Carried out.").held_by(&gate);
    sandbox.api.script("plan it", [plan, after]);

    let (terminal, id) = started(&sandbox, &lamp, &["--permission-mode", "plan"]);
    terminal.enter("plan it");
    sandbox.wait_for_status("waiting");
    let waiting = soon(&lamp, "a plan", &id, "waiting_for_input");
    assert_eq!(waiting["waiting_for"], "plan", "{waiting}");
    terminal.press_until("Enter", || {
        let status = sandbox.status();
        let busy = status.as_ref().is_some_and(|status| status["status"] == "busy");
        if busy { Ok(()) } else { Err(format!("{status:?}; {}", terminal.screen())) }
    });
    gate.wait_reached();
    soon(&lamp, "an approved plan", &id, "working");
    gate.open();
    terminal.wait_for("Carried out.");
}

#[test]
fn background_subagent_that_asks_after_stop_is_a_wait_of_its_own() {
    let Some(sandbox) = hooked() else { return };
    let lamp = Lamp::serve(&sandbox);
    let gate = Gate::new();
    let helper = json!({
        "description": "Make a file", "prompt": "helper makes", "subagent_type": "general-purpose",
        "run_in_background": true,
    });
    let delegate = [Answer::tool("Agent", helper), Answer::text("It is on its way.")];
    sandbox.api.script("delegate it", delegate);
    let makes = [Answer::bash("touch made").held_by(&gate), Answer::text("The helper is done.")];
    sandbox.api.script("helper makes", makes);

    let (terminal, id) = started(&sandbox, &lamp, &ASKING);
    terminal.enter("delegate it");
    terminal.wait_for("It is on its way.");
    let working = soon(&lamp, "a background subagent after Stop", &id, "working");
    assert_ne!(working["children"], json!([]), "{working}");
    gate.open();
    terminal.wait_for("Do you want");
    let waiting = soon(&lamp, "a background subagent that asks", &id, "waiting_for_permission");
    assert_ne!(waiting["open"][0]["scope"], "main", "{waiting}");
    sandbox.wait_for_status("waiting");
    terminal.answer("Do you want", "Enter");
    wait::until("the file", || {
        sandbox.project().join("made").exists().then_some(()).ok_or_else(|| terminal.screen())
    });
    sandbox.wait_for_status("idle");
    soon(&lamp, "the end of it all", &id, "idle");
}

#[test]
fn compacted_conversation_stays_the_session_it_was() {
    let Some(sandbox) = hooked() else { return };
    let lamp = Lamp::serve(&sandbox);
    sandbox.api.script("say a lot", [Answer::text("A lot was said.")]);

    let (terminal, id) = started(&sandbox, &lamp, &ASKING);
    terminal.enter("say a lot");
    terminal.wait_for("A lot was said.");
    sandbox.wait_for_status("idle");
    lamp.wait_for_state(&id, "idle");
    terminal.enter("/compact");
    lamp.wait_for_event(&id, "compaction.ended");
    sandbox.wait_for_status("idle");
    soon(&lamp, "a compaction", &id, "idle");
    assert_eq!(lamp.events(&id, "session.ended").len(), 0);
    assert_eq!(lamp.events(&id, "session.started").len(), 1);
}

#[test]
fn cleared_conversation_is_ended_and_the_next_one_is_there() {
    let Some(sandbox) = hooked() else { return };
    let lamp = Lamp::serve(&sandbox);
    sandbox.api.script("before it", [Answer::text("Not cleared yet.")]);

    let (terminal, old) = started(&sandbox, &lamp, &ASKING);
    terminal.enter("before it");
    terminal.wait_for("Not cleared yet.");
    sandbox.wait_for_status("idle");
    lamp.wait_for_state(&old, "idle");
    terminal.enter("/clear");
    let new = wait::until("the CLI to be in a new session", || {
        let status = sandbox.status();
        let id = status.as_ref().map(session).filter(|id| *id != old);
        id.ok_or_else(|| format!("{status:?}"))
    });
    soon(&lamp, "a cleared conversation", &old, "ended");
    sandbox.wait_for_status("idle");
    soon(&lamp, "the one after it", &new, "idle");
}
