//! Nothing accepted is lost or told twice, whatever happens to the daemon.
//!
//! The loops are short here; `LINELAMP_TEST_FULL=1` runs them at full count.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, payload, signal};

fn full() -> bool {
    std::env::var_os("LINELAMP_TEST_FULL").is_some()
}

/// A receiver that keeps every body by delivery id, and answers now and then with an error.
#[derive(Debug, Default)]
struct Receiver {
    bodies: Mutex<HashMap<String, Vec<Vec<u8>>>>,
}

impl Receiver {
    fn start() -> (Arc<Self>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/", listener.local_addr().expect("an address"));
        let receiver = Arc::new(Self::default());
        let shared = Arc::clone(&receiver);
        std::thread::spawn(move || {
            let mut count = 0_u32;
            for stream in listener.incoming().flatten() {
                count += 1;
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || shared.serve(stream, count));
            }
        });
        (receiver, url)
    }

    fn serve(&self, stream: std::net::TcpStream, mut turn: u32) -> Option<()> {
        let mut reader = BufReader::new(stream);
        loop {
            let (mut length, mut id) = (0, String::new());
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            loop {
                line.clear();
                reader.read_line(&mut line).ok()?;
                let (name, value) = line.trim().split_once(':').unwrap_or_default();
                match name.to_ascii_lowercase().as_str() {
                    "" => break,
                    "content-length" => length = value.trim().parse().ok()?,
                    "linelamp-delivery" => value.trim().clone_into(&mut id),
                    _ => {}
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).ok()?;
            self.bodies.lock().ok()?.entry(id).or_default().push(body);
            turn += 1;
            // The delivery is here, but the sender cannot know: it must come again, the same.
            let answer: &[u8] = if turn % 7 == 0 {
                b"HTTP/1.1 503 Unavailable\r\nContent-Length: 0\r\n\r\n"
            } else {
                b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"
            };
            reader.get_mut().write_all(answer).ok()?;
        }
    }
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

#[test]
fn kills_of_the_daemon_lose_nothing_and_repeat_nothing() {
    let (hooks, kills) = if full() { (10_000, 20) } else { (400, 5) };
    let sandbox = Sandbox::new();
    let (receiver, url) = Receiver::start();
    sandbox.configure(&format!(
        "[sinks.store]\nkind = \"store\"\n[sinks.web]\nkind = \"webhook\"\nurl = \"{url}\"\n\
         filter = {{ kinds = [\"session.started\", \"turn.ended\"] }}\n"
    ));
    // A stream of turns, slowly, for as long as the hooks take.
    let turns = if full() { 2_000 } else { 200 };
    let stream = sandbox.home().join("stream.sh");
    let line = |value: Value| value.to_string();
    let mut script = String::from("trap '' PIPE\n");
    for turn in 0..turns {
        for value in [
            json!({"type": "system", "subtype": "init", "session_id": "stream", "uuid": format!("i{turn}"), "cwd": "/tmp/project", "model": "m", "claude_code_version": "2.1.332"}),
            json!({"type": "result", "subtype": "success", "is_error": false, "session_id": "stream", "uuid": format!("r{turn}"), "terminal_reason": "completed", "num_turns": 1, "total_cost_usd": 0.001 * f64::from(turn + 1), "result": "", "result_index": turn}),
        ] {
            script.push_str(&format!("echo '{}'\n", line(value)));
        }
        script.push_str("sleep 0.02\n");
    }
    std::fs::write(&stream, script).expect("a script");
    let mut wrapped = sandbox
        .command(["wrap", "--agent", "claude-code", "--", "sh"])
        .arg(&stream)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("the wrapper starts");

    let caller = {
        let commands: Vec<_> =
            (0..2).map(|part| (part, sandbox.command(["hook"]).get_program().to_owned())).collect();
        let home = sandbox.home().to_owned();
        std::thread::spawn(move || {
            let parts: Vec<_> = commands
                .into_iter()
                .map(|(part, program)| {
                    let home = home.clone();
                    std::thread::spawn(move || {
                        for number in (part..hooks).step_by(2) {
                            let mut child = std::process::Command::new(&program)
                                .arg("hook")
                                .env_clear()
                                .env("LINELAMP_HOME", &home)
                                .stdin(Stdio::piped())
                                .spawn()
                                .expect("the hook client starts");
                            let text = payload(
                                &format!("h{number}"),
                                "SessionStart",
                                r#","source":"startup""#,
                            );
                            let mut stdin = child.stdin.take().expect("a pipe");
                            stdin.write_all(text.as_bytes()).expect("written");
                            drop(stdin);
                            assert!(child.wait().expect("waited").success());
                        }
                    })
                })
                .collect();
            for part in parts {
                part.join().expect("the hooks were called");
            }
        })
    };

    let mut numbers = Numbers(7);
    for _ in 0..kills {
        let daemon = sandbox.daemon();
        std::thread::sleep(Duration::from_millis(numbers.below(if full() { 1_500 } else { 300 })));
        daemon.kill();
    }
    let daemon = sandbox.daemon();
    caller.join().expect("the hooks were called");
    assert!(wrapped.wait().expect("waited").success());
    sandbox.eventually("the end of the wrapped session", |sandbox| {
        sandbox.session("stream").filter(|session| session["state"] == "ended")
    });

    let events = sandbox.eventually("every hook's event", |sandbox| {
        let events = sandbox.lines(["history", "--format", "ndjson"]);
        let started = events.iter().filter(|event| event["kind"] == "session.started").count();
        (started > hooks).then_some(events)
    });
    let mut count: BTreeMap<(String, String), u32> = BTreeMap::new();
    for event in &events {
        let session = event["session"]["id"].as_str().expect("a session").to_owned();
        let kind = event["kind"].as_str().expect("a kind").to_owned();
        *count.entry((session, kind)).or_default() += 1;
    }
    for number in 0..hooks {
        let key = (format!("h{number}"), "session.started".to_owned());
        assert_eq!(count.get(&key), Some(&1), "{key:?}");
    }
    for kind in ["turn.started", "turn.ended"] {
        let key = ("stream".to_owned(), kind.to_owned());
        assert_eq!(count.get(&key), Some(&turns), "{key:?}");
    }
    let mut ids: Vec<&str> =
        events.iter().map(|event| event["id"].as_str().expect("an id")).collect();
    ids.sort_unstable();
    let all = ids.len();
    ids.dedup();
    assert_eq!(all, ids.len(), "an event is in the history twice");

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
