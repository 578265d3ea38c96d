//! What a driver says, as the resolver understands it.

use std::sync::Arc;

use linelamp_core::Timestamp;
use linelamp_core::driver::{HookContext, Raw, Reading, Source};
use linelamp_core::event::{Body, Event, Origin, Trust};
use linelamp_core::id::{FeedName, NativeId, Seq};
use linelamp_core::process::{Ancestor, ProcessRef};
use linelamp_core::state::{Resolver, SessionState};
use serde_json::{Value, json};

use crate::script::decoder;

/// A machine on which hooks fire.
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
        let origin = Origin {
            feed: FeedName::new("hooks"),
            trust: Trust::Reported,
            pid: None,
            host: Arc::from("box"),
        };
        for draft in drafts {
            self.resolver.accept(draft, &origin, at, &mut self.events);
        }
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
