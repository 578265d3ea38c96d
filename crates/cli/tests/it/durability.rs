//! Nothing accepted is lost or told twice, whatever happens to the daemon.
//!
//! The loops are short here; `LINELAMP_TEST_FULL=1` runs them at full count.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::receiver::Receiver;
use crate::sandbox::{Sandbox, payload, signal};

fn full() -> bool {
    std::env::var_os("LINELAMP_TEST_FULL").is_some()
}

/// A cheap generator of numbers that look random and are the same every time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A program that says a session of so many turns, slowly.
fn slow_session(sandbox: &Sandbox, turns: u32) -> PathBuf {
    let mut script = String::from("trap '' PIPE\n");
    for turn in 0..turns {
        let init = json!({
            "type": "system", "subtype": "init", "session_id": "stream", "uuid": format!("i{turn}"),
            "cwd": "/tmp/project", "model": "m", "claude_code_version": "2.1.332",
        });
        let result = json!({
            "type": "result", "subtype": "success", "is_error": false, "session_id": "stream",
            "uuid": format!("r{turn}"), "terminal_reason": "completed", "num_turns": 1, "result": "",
            "total_cost_usd": 0.001 * f64::from(turn + 1), "result_index": turn,
        });
        writeln!(script, "echo '{init}'\necho '{result}'\nsleep 0.02").expect("a String");
    }
    let path = sandbox.home().join("session.sh");
    std::fs::write(&path, script).expect("a script");
    path
}

/// Calls the hook client for sessions `h0`, `h1`, … of its own, two at a time.
fn call_hooks(home: &Path, hooks: usize) {
    std::thread::scope(|scope| {
        for part in 0..2 {
            scope.spawn(move || {
                for number in (part..hooks).step_by(2) {
                    let mut child = Command::new(env!("CARGO_BIN_EXE_linelamp"))
                        .arg("hook")
                        .env_clear()
                        .env("LINELAMP_HOME", home)
                        .stdin(Stdio::piped())
                        .spawn()
                        .expect("the hook client starts");
                    let session = format!("h{number}");
                    let text = payload(&session, "SessionStart", r#","source":"startup""#);
                    let mut stdin = child.stdin.take().expect("a pipe");
                    stdin.write_all(text.as_bytes()).expect("written");
                    drop(stdin);
                    assert!(child.wait().expect("waited").success());
                }
            });
        }
    });
}

/// How many events of each kind each session has, and that no event is there twice.
fn counted(events: &[Value]) -> BTreeMap<(&str, &str), u32> {
    let mut count = BTreeMap::new();
    let mut ids = HashSet::new();
    for event in events {
        let text = |value: &'_ Value| value.as_str().map(str::to_owned).expect("a text");
        assert!(ids.insert(text(&event["id"])), "an event is in the history twice");
        let session = event["session"]["id"].as_str().expect("a session");
        let kind = event["kind"].as_str().expect("a kind");
        *count.entry((session, kind)).or_default() += 1;
    }
    count
}

#[test]
fn kills_of_the_daemon_lose_nothing_and_repeat_nothing() {
    let (hooks, kills, turns, pause) =
        if full() { (10_000, 20, 2_000, 1_500) } else { (400, 5, 200, 300) };
    let sandbox = Sandbox::new();
    // Each error is followed by a pause: with many deliveries there must be few.
    let (receiver, url) = Receiver::start(if full() { 101 } else { 7 });
    sandbox.configure(&format!(
        "[sinks.store]\nkind = \"store\"\n[sinks.web]\nkind = \"webhook\"\nurl = \"{url}\"\n\
         filter = {{ kinds = [\"session.started\", \"turn.ended\"] }}\n"
    ));
    let mut wrapped = sandbox
        .command(["wrap", "--agent", "claude-code", "--", "sh"])
        .arg(slow_session(&sandbox, turns))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("the wrapper starts");
    let daemon = std::thread::scope(|scope| {
        let calling = scope.spawn(|| call_hooks(sandbox.home(), hooks));
        let mut numbers = Numbers(7);
        for _ in 0..kills {
            let daemon = sandbox.daemon();
            std::thread::sleep(Duration::from_millis(numbers.below(pause)));
            daemon.kill();
        }
        let daemon = sandbox.daemon();
        calling.join().expect("the hooks were called");
        daemon
    });
    assert!(wrapped.wait().expect("waited").success());
    sandbox.until_state("stream", "ended");

    let events = sandbox.eventually("every hook's event", |sandbox| {
        let events = sandbox.lines(["history", "--format", "ndjson"]);
        let started = events.iter().filter(|event| event["kind"] == "session.started").count();
        (started > hooks).then_some(events)
    });
    let count = counted(&events);
    for number in 0..hooks {
        let session = format!("h{number}");
        assert_eq!(count.get(&(session.as_str(), "session.started")), Some(&1), "{session}");
    }
    for kind in ["turn.started", "turn.ended"] {
        assert_eq!(count.get(&("stream", kind)), Some(&turns), "{kind}");
    }

    // The webhook: everything arrives, and a delivery that comes again is the same.
    let wanted: Vec<&str> = events
        .iter()
        .filter(|event| event["kind"] == "session.started" || event["kind"] == "turn.ended")
        .map(|event| event["id"].as_str().expect("an id"))
        .collect();
    sandbox.eventually("every delivery", |_| {
        let bodies = receiver.bodies.lock().expect("unharmed");
        wanted.iter().all(|id| bodies.contains_key(*id)).then_some(())
    });
    let bodies = receiver.bodies.lock().expect("unharmed");
    let repeated = bodies.values().filter(|bodies| bodies.len() > 1).count();
    assert!(repeated > 0, "the receiver's errors made nothing come again");
    for (id, bodies) in bodies.iter() {
        assert!(bodies.windows(2).all(|pair| pair[0] == pair[1]), "{id} has two bodies");
    }
    daemon.stop();
}

#[test]
fn hooks_called_without_a_daemon_are_there_when_it_comes() {
    let sandbox = Sandbox::new();
    sandbox.hook(&payload("early", "SessionStart", r#","source":"startup""#));
    sandbox.hook(&payload("early", "UserPromptSubmit", r#","prompt":"hello","prompt_id":"p1""#));
    let _daemon = sandbox.daemon();
    sandbox.until_state("early", "working");
}

#[test]
fn a_stopped_daemon_delays_events_and_nobody_else() {
    let sandbox = Sandbox::new();
    let daemon = sandbox.daemon();
    daemon.signal("STOP");
    sandbox.hook(&payload("late", "SessionStart", r#","source":"startup""#));
    sandbox.hook(&payload("late", "UserPromptSubmit", r#","prompt":"hello","prompt_id":"p1""#));
    let output = sandbox
        .command(["wrap", "--agent", "claude-code", "--", "sh", "-c"])
        .arg(r#"echo '{"type":"system","subtype":"init","session_id":"wrapped","uuid":"u","cwd":"/tmp","model":"m"}'; exit 7"#)
        .stdin(Stdio::null())
        .output()
        .expect("the wrapper runs");
    assert_eq!(output.status.code(), Some(7));
    assert!(output.stdout.starts_with(b"{\"type\":\"system\""));
    daemon.signal("CONT");
    sandbox.until_state("late", "working");
    // The turn that `init` began was never ended by a result.
    assert_eq!(sandbox.until_state("wrapped", "ended")["outcome"], "failed");
}

#[test]
fn a_restart_goes_on_where_the_daemon_was() {
    let sandbox = Sandbox::new();
    let daemon = sandbox.daemon();
    sandbox.hook(&payload("s", "SessionStart", r#","source":"startup""#));
    sandbox.hook(&payload("s", "UserPromptSubmit", r#","prompt":"x","prompt_id":"p1""#));
    let tool = r#","tool_name":"Bash","tool_input":{"command":"ls"}"#;
    sandbox.hook(&payload(
        "s",
        "PreToolUse",
        &format!(r#"{tool},"tool_use_id":"t1","prompt_id":"p1""#),
    ));
    sandbox.hook(&payload("s", "PermissionRequest", &format!(r#"{tool},"prompt_id":"p1""#)));
    sandbox.until_state("s", "waiting_for_permission");
    daemon.kill();
    let _daemon = sandbox.daemon();
    let session = sandbox.until_state("s", "waiting_for_permission");
    assert_eq!(session["open"][0]["call"], "t1");
    sandbox.hook(&payload(
        "s",
        "PostToolUse",
        &format!(r#"{tool},"tool_use_id":"t1","prompt_id":"p1","tool_response":{{}}"#),
    ));
    sandbox.until_state("s", "working");
}

#[test]
fn a_full_or_unwritable_disk_never_reaches_the_agent() {
    let sandbox = Sandbox::new();
    // A file where the state folder should be: nothing at all can be written.
    std::fs::write(sandbox.state(), "in the way").expect("a file");
    sandbox.hook(&payload("s", "SessionStart", r#","source":"startup""#));
    let output = sandbox
        .command(["wrap", "--agent", "claude-code", "--", "sh", "-c", "echo out; exit 3"])
        .stdin(Stdio::null())
        .output()
        .expect("the wrapper runs");
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(output.stdout, b"out\n");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = sandbox.run(["serve"]);
    assert_eq!(output.status.code(), Some(1));
    let words = String::from_utf8(output.stderr).expect("text");
    assert!(words.contains(&*sandbox.state().to_string_lossy()), "{words}");
}

#[test]
fn an_unreadable_configuration_never_reaches_the_agent_and_is_told_to_the_user() {
    let sandbox = Sandbox::new();
    sandbox.configure("[sinks.web]\nkind = \"webhok\"\n");
    sandbox.hook(&payload("s", "SessionStart", r#","source":"startup""#));
    let output = sandbox
        .command(["wrap", "--agent", "claude-code", "--", "true"])
        .stdin(Stdio::null())
        .output()
        .expect("the wrapper runs");
    assert!(output.status.success() && output.stderr.is_empty());
    let output = sandbox.run(["serve"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let words = String::from_utf8(output.stderr).expect("text");
    for part in ["linelamp.toml", "sinks.web.kind", "webhook"] {
        assert!(words.contains(part), "`{part}` is not in: {words}");
    }
    // Nothing is lost meanwhile.
    sandbox.configure("[sinks.store]\nkind = \"store\"\n");
    let _daemon = sandbox.daemon();
    sandbox.eventually("the session of the hook", |sandbox| sandbox.session("s"));
}

#[test]
fn a_daemon_that_is_told_to_end_writes_everything_first() {
    let sandbox = Sandbox::new();
    let daemon = sandbox.daemon();
    for number in 0..50 {
        sandbox.hook(&payload(&format!("s{number}"), "SessionStart", r#","source":"startup""#));
    }
    let pid = daemon.child.id();
    signal(pid, "TERM");
    drop(daemon);
    let daemon = sandbox.daemon();
    sandbox.eventually("all sessions", |sandbox| {
        let sessions = sandbox.lines(["ls", "--all", "--format", "ndjson"]);
        (sessions.len() == 50).then_some(())
    });
    daemon.stop();
}
