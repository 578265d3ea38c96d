//! What a driver says, as the resolver understands it.

use std::sync::Arc;

use linelamp_core::Timestamp;
use linelamp_core::draft::Draft;
use linelamp_core::driver::{Direction, HookContext, Raw, Reading, Source};
use linelamp_core::event::{Body, EndReason, Event, Origin, Status, Trust, TurnOutcome};
use linelamp_core::id::{FeedName, NativeId, Seq};
use linelamp_core::process::{Ancestor, ProcessExit, ProcessRef};
use linelamp_core::state::{Resolver, SessionState};
use serde_json::{Value, json};

use crate::script::{decoder, of_file};

/// A machine on which hooks fire and session files grow.
struct Machine {
    resolver: Resolver,
    events: Vec<Event>,
    clock: i64,
}

impl Machine {
    fn new() -> Self {
        Self { resolver: Resolver::restore(Seq(1), []), events: Vec::new(), clock: 0 }
    }

    /// A hook fires in the nearest of these processes, named after the agent or a shell.
    fn hook(&mut self, above: &[(u32, &str)], payload: &Value) {
        let ancestors = above.iter().map(|&(pid, program)| Ancestor {
            process: ProcessRef { pid, start: Some(u64::from(pid) * 10) },
            program: program.to_owned(),
        });
        let context = HookContext { ancestors: ancestors.collect(), ..HookContext::default() };
        let payload = serde_json::to_vec(payload).expect("a payload serializes");
        self.clock += 3000;
        let at = Timestamp::from_millisecond(self.clock).expect("a small number");
        let raw = Raw::Hook { payload: &payload, context: &context };
        let mut drafts = Vec::new();
        decoder(Source::Hook, Reading::State, &[]).push(raw, at, &mut drafts);
        self.take(drafts, "hooks", Trust::Reported, at);
    }

    /// Lines are added to a session file, all at once.
    fn lines(&mut self, session: &str, lines: &[Value]) {
        let mut file = of_file(session, Reading::State);
        self.clock += 3000;
        let at = Timestamp::from_millisecond(self.clock).expect("a small number");
        let mut drafts = Vec::new();
        for line in lines {
            let bytes = serde_json::to_vec(line).expect("a line serializes");
            file.push(Raw::Record { bytes: &bytes, is_past: false }, at, &mut drafts);
        }
        self.take(drafts, "transcript", Trust::Inferred, at);
    }

    /// Signals of a stream, each a second after the one before.
    fn stream(&mut self, signals: &[Raw<'_>]) {
        let mut stream = decoder(Source::Stream, Reading::State, &[]);
        for signal in signals {
            self.clock += 1000;
            let at = Timestamp::from_millisecond(self.clock).expect("a small number");
            let mut drafts = Vec::new();
            stream.push(*signal, at, &mut drafts);
            self.take(drafts, "wrap", Trust::Authoritative, at);
        }
    }

    fn take(&mut self, drafts: Vec<Draft>, feed: &str, trust: Trust, at: Timestamp) {
        let origin = Origin { feed: FeedName::new(feed), trust, pid: None, host: Arc::from("box") };
        for draft in drafts {
            self.resolver.accept(draft, &origin, at, &mut self.events);
        }
    }

    fn count(&self, kind: &str) -> usize {
        self.events.iter().filter(|event| event.body.kind() == kind).count()
    }

    fn session(&self, id: &str) -> SessionState {
        let mut all = self.resolver.snapshot().into_iter();
        all.find(|state| state.session.id.as_str() == id).expect("the session is known")
    }

    fn told_modes(&self) -> Vec<&str> {
        let updates = self.events.iter().filter_map(|event| match &event.body {
            Body::SessionUpdated(update) => update.permission_mode.as_deref(),
            _ => None,
        });
        updates.collect()
    }
}

#[test]
fn session_begun_inside_another_is_its_child() {
    let mut machine = Machine::new();
    let start = |id: &str| json!({"session_id": id, "hook_event_name": "SessionStart", "source": "startup", "cwd": "/p"});
    let outer = [(21, "sh"), (20, "claude"), (10, "zsh")];
    machine.hook(&outer, &start("outer"));
    let inner = [(41, "sh"), (40, "claude"), (30, "bash"), (20, "claude"), (10, "zsh")];
    machine.hook(&inner, &start("inner"));
    let parent = machine.session("inner").parent.map(|link| link.id);
    assert_eq!(parent, Some(NativeId::new("outer")));
    assert_eq!(machine.session("outer").parent, None);
}

#[test]
fn permission_mode_is_told_when_it_changes_and_only_then() {
    let mut machine = Machine::new();
    let above = [(21, "sh"), (20, "claude")];
    let say = |event: &str, mode: &str| {
        json!({
            "session_id": "s", "cwd": "/p", "prompt_id": "p", "permission_mode": mode,
            "hook_event_name": event, "tool_name": "Bash", "tool_input": {}, "tool_use_id": "c",
            "prompt": "go",
        })
    };
    machine.hook(&above, &say("UserPromptSubmit", "default"));
    machine.hook(&above, &say("PreToolUse", "default"));
    machine.hook(&above, &say("PostToolUse", "acceptEdits"));
    machine.hook(&above, &say("Stop", "acceptEdits"));
    assert_eq!(machine.told_modes(), ["default", "acceptEdits"]);
    assert_eq!(machine.session("s").permission_mode.as_deref(), Some("acceptEdits"));
}

fn said(message: &str, block: &Value, stop: &str) -> Value {
    json!({
        "type": "assistant", "uuid": format!("U-{message}-{block}"),
        "message": {
            "id": message, "model": "m1", "content": [block], "stop_reason": stop,
            "usage": {"input_tokens": 10, "output_tokens": 5},
        },
    })
}

#[test]
fn the_usage_of_a_message_is_told_once_though_each_of_its_blocks_names_it() {
    let mut machine = Machine::new();
    let text = json!({"type": "text", "text": "x"});
    let call = json!({"type": "tool_use", "id": "T1", "name": "Bash", "input": {}});
    machine.lines("s", &[said("M1", &text, "tool_use"), said("M1", &call, "tool_use")]);
    assert_eq!(machine.count("usage.updated"), 1);
    machine.lines("s", &[said("M2", &text, "end_turn")]);
    assert_eq!(machine.count("usage.updated"), 2);
}

#[test]
fn a_call_without_a_result_is_work_and_never_a_wait_for_a_permission() {
    let mut machine = Machine::new();
    let call = json!({"type": "tool_use", "id": "T1", "name": "Bash", "input": {}});
    machine.lines("s", &[said("M1", &call, "tool_use")]);
    for minutes in [1, 9, 17] {
        let now = Timestamp::from_second(minutes * 60).expect("a small number");
        machine.resolver.tick(now, &mut machine.events);
        assert_eq!(machine.session("s").status, Status::Working);
    }
    machine.clock = 18 * 60_000;
    let done = json!({"type": "tool_result", "tool_use_id": "T1", "content": "x"});
    machine.lines("s", &[json!({"type": "user", "message": {"role": "user", "content": [done]}})]);
    let waits = machine.events.iter().any(|event| match &event.body {
        Body::StatusChanged(change) => change.waiting_for.is_some(),
        Body::PermissionRequested(_) => true,
        _ => false,
    });
    assert!(!waits);
}

#[test]
fn words_in_content_change_no_state() {
    let words = "API Error: 429 rate limit reached; permission denied; waiting for approval";
    let mut machine = Machine::new();
    let prompt = json!({"type": "user", "promptId": "P1", "promptSource": "typed", "message": {"role": "user", "content": words}});
    let text = json!({"type": "text", "text": words});
    let call = json!({"type": "tool_use", "id": "T1", "name": "Bash", "input": {"command": words}});
    let done = json!({"type": "tool_result", "tool_use_id": "T1", "content": words});
    machine.lines(
        "s",
        &[
            prompt,
            said("M1", &text, "tool_use"),
            said("M1", &call, "tool_use"),
            json!({"type": "user", "promptId": "P1", "message": {"role": "user", "content": [done]}, "toolUseResult": {"stdout": words}}),
        ],
    );
    let above = [(21, "sh"), (20, "claude")];
    machine.hook(
        &above,
        &json!({
            "session_id": "s", "cwd": "/p", "prompt_id": "P1", "hook_event_name": "PostToolUse",
            "tool_name": "Bash", "tool_input": {"command": words}, "tool_use_id": "T1",
            "tool_response": {"stdout": words},
        }),
    );
    let state = machine.session("s");
    assert_eq!((state.status, state.waiting_for, state.error), (Status::Working, None, None));
    assert_eq!((machine.count("status.changed"), machine.count("api.failed")), (1, 0));
}

fn line(bytes: &[u8]) -> Raw<'_> {
    Raw::Line { direction: Direction::FromAgent, bytes }
}

const INIT: &[u8] =
    br#"{"type":"system","subtype":"init","session_id":"s","cwd":"/p","model":"m"}"#;

#[test]
fn a_result_ends_the_turn_and_not_the_session_however_long_the_process_stays() {
    let mut machine = Machine::new();
    let result = br#"{"type":"result","subtype":"success","is_error":false,"session_id":"s"}"#;
    machine.stream(&[line(INIT), line(result)]);
    let state = machine.session("s");
    assert_eq!((state.status, state.outcome), (Status::Idle, Some(TurnOutcome::Completed)));
    let later = Timestamp::from_second(50 * 60).expect("a small number");
    machine.resolver.tick(later, &mut machine.events);
    assert_eq!((machine.session("s").status, machine.count("session.ended")), (Status::Idle, 0));
}

#[test]
fn an_exit_without_a_result_ends_both_and_tells_how() {
    for (exit, outcome) in [
        (ProcessExit { code: Some(7), signal: None }, TurnOutcome::Failed),
        (ProcessExit { code: None, signal: Some(9) }, TurnOutcome::Failed),
        (ProcessExit { code: Some(0), signal: None }, TurnOutcome::Lost),
    ] {
        let mut machine = Machine::new();
        machine.stream(&[line(INIT), Raw::Exit(exit)]);
        let state = machine.session("s");
        assert_eq!((state.status, state.outcome), (Status::Ended, Some(outcome)), "{exit:?}");
        let told = machine.events.iter().find_map(|event| match &event.body {
            Body::SessionEnded(ended) => Some((ended.exit_code, ended.signal)),
            _ => None,
        });
        assert_eq!(told, Some((exit.code, exit.signal)));
    }
}

#[test]
fn a_stream_that_says_neither_is_no_longer_believed_to_work_and_not_said_to_be_over() {
    let mut machine = Machine::new();
    machine.stream(&[line(INIT)]);
    for (minutes, status) in [(50, Status::Working), (3 * 60, Status::Stale)] {
        let now = Timestamp::from_second(minutes * 60).expect("a small number");
        machine.resolver.tick(now, &mut machine.events);
        assert_eq!(machine.session("s").status, status);
    }
    assert_eq!((machine.count("session.ended"), machine.count("turn.ended")), (0, 0));
}

#[test]
fn a_success_that_is_an_error_and_an_exit_that_is_one_are_failures() {
    let mut machine = Machine::new();
    let wrong = br#"{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":429,"session_id":"s"}"#;
    machine.stream(&[line(INIT), line(wrong)]);
    assert_eq!(machine.session("s").outcome, Some(TurnOutcome::Failed));
    let mut machine = Machine::new();
    let result = br#"{"type":"result","subtype":"success","is_error":false,"session_id":"s"}"#;
    let exit = ProcessExit { code: Some(1), signal: None };
    machine.stream(&[line(INIT), line(result), Raw::Exit(exit)]);
    let reason = machine.events.iter().find_map(|event| match &event.body {
        Body::SessionEnded(ended) => Some((ended.reason, ended.exit_code)),
        _ => None,
    });
    assert_eq!(reason, Some((EndReason::Crashed, Some(1))), "the session failed, not its turn");
}
