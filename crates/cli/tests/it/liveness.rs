//! Processes that vanish, and the sessions that were open in them.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Stdio};

use serde_json::Value;

use crate::sandbox::{PATIENCE, Sandbox, payload};

/// A process that hooks of Claude Code take for it: a shell of that name, which reports what it is told to.
pub(crate) struct Agent {
    child: Child,
    input: ChildStdin,
    payloads: PathBuf,
}

impl Agent {
    /// Starts it with further arguments.
    pub(crate) fn start(sandbox: &Sandbox, arguments: &[&str]) -> Self {
        let program = sandbox.home().join("claude");
        if !program.exists() {
            std::fs::copy("/bin/sh", &program).expect("a shell of another name");
        }
        let payloads = tempfile::tempdir_in(sandbox.home()).expect("a folder").keep();
        let script = r#"while read name; do "$LINELAMP" hook --agent claude-code < "$name"; rm "$name"; done"#;
        let mut child = std::process::Command::new(program)
            .args(["-c", script, "claude"])
            .args(arguments)
            .env("LINELAMP", env!("CARGO_BIN_EXE_linelamp"))
            .env("LINELAMP_HOME", sandbox.home())
            .env("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")
            .env_remove("CLAUDE_PID")
            .stdin(Stdio::piped())
            .spawn()
            .expect("the agent starts");
        let input = child.stdin.take().expect("a pipe");
        Self { child, input, payloads }
    }

    /// One of its hooks reports, and is waited for.
    pub(crate) fn hook(&mut self, payload: &str) {
        let path = self.payloads.join("payload");
        std::fs::write(&path, payload).expect("written");
        writeln!(self.input, "{}", path.display()).expect("the agent reads");
        let deadline = std::time::Instant::now() + PATIENCE;
        while path.exists() {
            assert!(std::time::Instant::now() < deadline, "the hook does not end");
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills it and waits.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("waited");
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The events of one kind of a session, once there is one.
fn told(sandbox: &Sandbox, session: &str, kind: &str) -> Vec<Value> {
    // The store may still be writing what `ls` knows already.
    sandbox.eventually(kind, |sandbox| {
        let arguments = ["history", session, "--kind", kind, "--format", "ndjson"];
        let output = sandbox.run(arguments);
        let text = String::from_utf8(output.stdout).expect("text");
        let events: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect();
        (!events.is_empty()).then_some(events)
    })
}

/// The reasons of all ends of a session.
fn ends(sandbox: &Sandbox, session: &str) -> Vec<Value> {
    let events = told(sandbox, session, "session.ended");
    events.into_iter().map(|event| event["data"]["reason"].clone()).collect()
}

fn start(session: &str) -> String {
    payload(session, "SessionStart", r#","source":"startup""#)
}

fn prompt(session: &str) -> String {
    payload(session, "UserPromptSubmit", r#","prompt":"x","prompt_id":"p""#)
}

#[test]
fn a_killed_agent_is_an_ended_session_and_one_without_a_terminal_lives_on() {
    let sandbox = Sandbox::new();
    let _daemon = sandbox.daemon();
    let mut agent = Agent::start(&sandbox, &[]);
    agent.hook(&start("killed"));
    agent.hook(&prompt("killed"));
    // Its input is a pipe and its output none that anybody reads: nobody sits at it.
    let mut other = Agent::start(&sandbox, &[]);
    other.hook(&start("lives"));
    other.hook(&prompt("lives"));
    let working = sandbox.until_state("killed", "working");
    assert_eq!(working["pid"], agent.pid());
    agent.kill();
    sandbox.until_state("killed", "ended");
    assert_eq!(ends(&sandbox, "killed"), ["crashed"]);
    let turns = told(&sandbox, "killed", "turn.ended");
    assert_eq!(turns.len(), 1, "{turns:?}");
    assert_eq!(turns[0]["data"]["outcome"], "lost");
    let listed = sandbox.lines(["ls", "--format", "ndjson"]);
    let lives = listed.iter().find(|session| session["id"] == "lives").expect("listed");
    assert_eq!(lives["state"], "working");
}

#[test]
fn an_agent_killed_while_no_daemon_runs_is_ended_at_the_next_start() {
    let sandbox = Sandbox::new();
    let daemon = sandbox.daemon();
    let (mut crashes, mut exits) = (Agent::start(&sandbox, &[]), Agent::start(&sandbox, &[]));
    for (agent, session) in [(&mut crashes, "crashes"), (&mut exits, "exits")] {
        agent.hook(&start(session));
        agent.hook(&prompt(session));
        sandbox.until_state(session, "working");
    }
    daemon.kill();
    exits.hook(&payload("exits", "SessionEnd", r#","reason":"prompt_input_exit""#));
    exits.kill();
    crashes.kill();
    let _daemon = sandbox.daemon();
    for (session, reason) in [("crashes", "crashed"), ("exits", "exit")] {
        sandbox.until_state(session, "ended");
        assert_eq!(ends(&sandbox, session), [reason], "{session}");
    }
}

#[test]
fn a_wrapper_and_its_agent_that_are_killed_end_their_session() {
    for has_daemon in [true, false] {
        let sandbox = Sandbox::new();
        let mut daemon = Some(sandbox.daemon());
        let init = r#"{"type":"system","subtype":"init","session_id":"wrapped","uuid":"u1","cwd":"/tmp/project","model":"m","claude_code_version":"2.1.332"}"#;
        let mut wrapper = sandbox
            .command(["wrap", "--agent", "claude-code", "--", "sh", "-c"])
            .arg(format!("echo '{init}'; read line"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("the wrapper runs");
        let agent = sandbox.eventually("the agent's process", |sandbox| {
            sandbox.session("wrapped")?["pid"].as_u64()
        });
        if !has_daemon {
            daemon.take().expect("a daemon").stop();
        }
        wrapper.kill().expect("killed");
        wrapper.wait().expect("waited");
        // The system may have ended it with its wrapper already.
        let mut kill = std::process::Command::new("kill");
        kill.args(["-s", "KILL", &agent.to_string()]).output().expect("kill is there");
        let _daemon = daemon.unwrap_or_else(|| sandbox.daemon());
        sandbox.until_state("wrapped", "ended");
        assert_eq!(ends(&sandbox, "wrapped"), ["crashed"], "{has_daemon}");
    }
}

#[test]
fn arguments_tell_that_a_run_is_one_shot_and_are_kept_nowhere() {
    let sandbox = Sandbox::new();
    let daemon = sandbox.daemon();
    let secret = "a secret prompt of thirty letters";
    let mut agent = Agent::start(&sandbox, &["-p", secret]);
    agent.hook(&start("once"));
    let updates = told(&sandbox, "once", "session.updated");
    assert_eq!(updates[0]["data"]["mode"], "one_shot", "{updates:?}");
    agent.kill();
    sandbox.until_state("once", "ended");
    daemon.stop();
    for entry in std::fs::read_dir(sandbox.state()).expect("a folder").flatten() {
        let Ok(bytes) = std::fs::read(entry.path()) else { continue };
        let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!found, "{}", entry.path().display());
    }
}

#[test]
fn a_session_of_which_nothing_was_asked_is_listed_only_when_all_are_asked_for() {
    let sandbox = Sandbox::new();
    let _daemon = sandbox.daemon();
    let (mut ghost, mut fresh) = (Agent::start(&sandbox, &[]), Agent::start(&sandbox, &[]));
    ghost.hook(&start("ghost"));
    ghost.hook(&payload("ghost", "SessionEnd", r#","reason":"other""#));
    fresh.hook(&start("fresh"));
    sandbox.until_state("ghost", "ended");
    sandbox.eventually("the fresh one", |sandbox| sandbox.session("fresh"));
    let listed = |arguments: &[&str]| -> Vec<String> {
        let sessions = sandbox.lines(arguments.iter().chain(&["--format", "ndjson"]));
        sessions.iter().map(|it| it["id"].as_str().expect("an id").to_owned()).collect()
    };
    assert_eq!(listed(&["ls"]), ["fresh"], "somebody may still prompt it");
    assert_eq!(listed(&["ls", "--all"]), ["fresh", "ghost"]);
    sandbox.text(["show", "ghost"]);
}
