//! The stream both ways under `linelamp wrap`, with the host asked for permission: the state
//! follows each step, and the request is settled once, with the decision that was made.

use serde_json::{Value, json};

use crate::answer::{Answer, Gate};
use crate::install;
use crate::lamp::Lamp;
use crate::piped::Piped;
use crate::sandbox::{ASKING, Sandbox, TWO_WAY};

/// A wrapped session that has just asked whether it may make a file.
struct Asking {
    cli: Piped,
    id: String,
    request: Value,
    /// Holds the model's answer to the decision.
    next: Gate,
}

impl Asking {
    fn start(sandbox: &Sandbox, lamp: &Lamp<'_>) -> Self {
        let next = Gate::new();
        let answers = [Answer::bash("touch made"), Answer::text("All right.").held_by(&next)];
        sandbox.api.script("make a file", answers);
        let mut cli = Piped::spawn(sandbox.wrapped(&[&TWO_WAY[..], &ASKING].concat()));
        cli.prompt("make a file");
        let id = cli.session();
        let request = cli.permission_request();

        let waiting = lamp.wait_for_state(&id, "waiting_for_permission");
        assert_eq!(waiting["waiting_for"], "permission");
        let open = waiting["open"].as_array().expect("ls lists what is open");
        assert_eq!(open.len(), 1, "{waiting}");
        assert_eq!(open[0]["tool"], "Bash");
        assert_eq!(open[0]["call"], request["request"]["tool_use_id"]);
        Self { cli, id, request, next }
    }

    /// The session must be working until the model has answered, and idle then.
    fn go_on(&mut self, lamp: &Lamp<'_>) {
        self.next.wait_reached();
        let working = lamp.wait_for_state(&self.id, "working");
        assert_eq!(working["open"].as_array().map_or(0, Vec::len), 0, "{working}");
        self.next.open();
        self.cli.result();
        lamp.wait_for_state(&self.id, "idle");
    }

    /// The one way the one request was settled; the session is over afterwards.
    fn end(self, lamp: &Lamp<'_>) -> Value {
        self.cli.finish();
        lamp.wait_for_state(&self.id, "ended");
        assert_eq!(lamp.events(&self.id, "permission.requested").len(), 1);
        let mut resolved = lamp.events(&self.id, "permission.resolved");
        assert_eq!(resolved.len(), 1, "{resolved:?}");
        resolved.remove(0)
    }
}

#[test]
fn allowed_call_runs_and_is_told_as_allowed() {
    let Some(claude) = install::claude() else { return };
    let sandbox = Sandbox::new(claude);
    let lamp = Lamp::serve(&sandbox);
    let mut asking = Asking::start(&sandbox, &lamp);

    let input = &asking.request["request"]["input"];
    let allow = json!({"behavior": "allow", "updatedInput": input});
    asking.cli.answer(&asking.request, &allow);
    asking.go_on(&lamp);

    let id = asking.id.clone();
    assert_eq!(asking.end(&lamp)["decision"], "allowed");
    assert!(sandbox.project().join("made").exists());
    assert_eq!(lamp.wait_for_event(&id, "tool.ended")["outcome"], "ok");
    assert_eq!(
        without_start(lamp.states(&id)),
        ["working", "waiting_for_permission", "working", "idle", "ended"]
    );
}

#[test]
fn denied_call_is_told_as_denied_and_the_turn_goes_on() {
    let Some(claude) = install::claude() else { return };
    let sandbox = Sandbox::new(claude);
    let lamp = Lamp::serve(&sandbox);
    let mut asking = Asking::start(&sandbox, &lamp);

    let deny = json!({"behavior": "deny", "message": "Not in this folder."});
    asking.cli.answer(&asking.request, &deny);
    asking.go_on(&lamp);

    let id = asking.id.clone();
    assert_eq!(asking.end(&lamp)["decision"], "denied");
    assert!(!sandbox.project().join("made").exists());
    assert_eq!(lamp.wait_for_event(&id, "tool.ended")["outcome"], "denied");
    assert_eq!(lamp.wait_for_event(&id, "turn.ended")["outcome"], "completed");
    assert_eq!(
        without_start(lamp.states(&id)),
        ["working", "waiting_for_permission", "working", "idle", "ended"]
    );
}

#[test]
fn interrupted_request_is_cancelled() {
    let Some(claude) = install::claude() else { return };
    let sandbox = Sandbox::new(claude);
    let lamp = Lamp::serve(&sandbox);
    let mut asking = Asking::start(&sandbox, &lamp);

    asking.cli.ask("interrupt");
    asking.cli.result();
    let idle = lamp.wait_for_state(&asking.id, "idle");
    assert_eq!(idle["outcome"], "interrupted");

    let id = asking.id.clone();
    assert_eq!(asking.end(&lamp)["decision"], "cancelled");
    assert!(!sandbox.project().join("made").exists());
    assert_eq!(lamp.wait_for_event(&id, "turn.ended")["outcome"], "interrupted");
}

#[test]
fn second_turn_of_a_session_is_a_turn_of_its_own() {
    let Some(claude) = install::claude() else { return };
    let sandbox = Sandbox::new(claude);
    let lamp = Lamp::serve(&sandbox);
    let gate = Gate::new();
    sandbox.api.script("first question", [Answer::text("First.")]);
    sandbox.api.script("second question", [Answer::text("Second.").held_by(&gate)]);

    let mut cli = Piped::spawn(sandbox.wrapped(&TWO_WAY));
    cli.prompt("first question");
    let id = cli.session();
    cli.result();
    lamp.wait_for_state(&id, "idle");
    cli.prompt("second question");
    gate.wait_reached();
    lamp.wait_for_state(&id, "working");
    gate.open();
    cli.result();
    cli.finish();

    lamp.wait_for_state(&id, "ended");
    let turns = lamp.events(&id, "turn.ended");
    assert_eq!(turns.len(), 2, "{turns:?}");
    assert_ne!(turns[0]["turn"], turns[1]["turn"]);
    assert_eq!(lamp.events(&id, "turn.started").len(), 2);
}

/// Whether a session is seen `starting` or `idle` before its first prompt depends on the moment.
fn without_start(mut states: Vec<String>) -> Vec<String> {
    let first = states.iter().position(|state| state == "working").unwrap_or_default();
    states.drain(..first);
    states
}
