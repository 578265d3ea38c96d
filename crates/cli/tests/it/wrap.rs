//! `wrap` from the outside: the agent and its host notice nothing.

use std::process::Stdio;

use serde_json::Value;

use crate::sandbox::{Sandbox, signal};

fn init(session: &str) -> String {
    format!(
        r#"{{"type":"system","subtype":"init","session_id":"{session}","uuid":"u1","cwd":"/tmp/project","model":"m","claude_code_version":"2.1.332"}}"#
    )
}

#[test]
fn exit_codes_and_signals_are_reproduced_and_told() {
    let sandbox = Sandbox::new();
    let _daemon = sandbox.daemon();
    for (session, script, code, killed_by) in [
        ("zero", "exit 0", Some(0), None),
        ("seven", "exit 7", Some(7), None),
        ("high", "exit 143", Some(143), None),
        ("term", "kill -TERM $$", None, Some(15)),
        ("kill", "kill -KILL $$", None, Some(9)),
    ] {
        use std::os::unix::process::ExitStatusExt as _;
        let output = sandbox
            .command(["wrap", "--agent", "claude-code", "--", "sh", "-c"])
            .arg(format!("echo '{}'; {script}", init(session)))
            .stdin(Stdio::null())
            .output()
            .expect("the wrapper runs");
        assert_eq!(output.status.code(), code, "{script}");
        assert_eq!(output.status.signal(), killed_by, "{script}");
        assert_eq!(output.stdout, format!("{}\n", init(session)).as_bytes());
        assert!(output.stderr.is_empty());
        sandbox.until_state(session, "ended");
        let ended = sandbox
            .lines(["history", session, "--kind", "session.ended", "--format", "ndjson"])
            .pop()
            .expect("the end is told");
        assert_eq!(ended["data"]["exit_code"].as_i64(), code.map(i64::from), "{script}");
        assert_eq!(ended["data"]["signal"].as_i64(), killed_by.map(i64::from), "{script}");
    }
}

#[test]
fn a_program_that_cannot_be_started_ends_as_in_a_shell() {
    let sandbox = Sandbox::new();
    for (program, code) in [("/nonexistent/agent", 127), ("/etc/passwd", 126)] {
        let output = sandbox.run(["wrap", "--", program]);
        assert_eq!(output.status.code(), Some(code), "{program}");
        let words = String::from_utf8(output.stderr).expect("text");
        assert!(words.contains(program), "{words}");
    }
}

#[test]
fn an_unknown_program_is_recognised_by_what_it_says() {
    let sandbox = Sandbox::new();
    let _daemon = sandbox.daemon();
    let output = sandbox
        .command(["wrap", "--", "sh", "-c"])
        .arg(format!("echo hello; echo '{}'", init("recognised")))
        .stdin(Stdio::null())
        .output()
        .expect("the wrapper runs");
    assert!(output.status.success());
    sandbox.until_state("recognised", "ended");
}

#[test]
fn a_permission_asked_in_the_stream_is_seen_and_its_answer_too() {
    let sandbox = Sandbox::new();
    let _daemon = sandbox.daemon();
    let ask = r#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"t1"}}"#;
    let answer = r#"{"type":"control_response","response":{"subtype":"success","request_id":"r1","response":{"behavior":"allow"}}}"#;
    let mut wrapped = sandbox
        .command(["wrap", "--agent", "claude-code", "--", "sh", "-c"])
        .arg(format!("read first; echo '{}'; echo '{ask}'; read line; read end", init("asks")))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the wrapper starts");
    let mut stdin = wrapped.stdin.take().expect("a pipe");
    let mut say = |line: &str| {
        use std::io::Write as _;
        stdin.write_all(format!("{line}\n").as_bytes()).expect("written");
    };
    say(
        r#"{"type":"user","message":{"role":"user","content":"go"},"parent_tool_use_id":null,"session_id":""}"#,
    );
    let session = sandbox.until_state("asks", "waiting_for_permission");
    assert_eq!(session["waiting_for"], "permission");
    assert_eq!(session["open"][0]["tool"], "Bash");
    say(answer);
    sandbox.until_state("asks", "working");
    drop(stdin);
    wrapped.wait().expect("waited");
    sandbox.until_state("asks", "ended");
    let decided = sandbox
        .lines(["history", "asks", "--kind", "permission.resolved", "--format", "ndjson"])
        .pop()
        .expect("the decision is told");
    assert_eq!(decided["data"]["decision"], "allowed");
}

#[test]
fn a_wrapper_that_is_killed_takes_its_agent_along() {
    let sandbox = Sandbox::new();
    let note = sandbox.home().join("pid");
    let mut wrapped = sandbox
        .command(["wrap", "--agent", "claude-code", "--", "sh", "-c"])
        .arg(format!("echo $$ > {}; exec sleep 600", note.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("the wrapper starts");
    let pid: u32 = sandbox.eventually("the agent's pid", |_| {
        std::fs::read_to_string(&note).ok()?.trim().parse().ok()
    });
    signal(wrapped.id(), "KILL");
    wrapped.wait().expect("waited");
    sandbox.eventually("the agent's end", |_| {
        let gone = std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .map_or(true, |stat| stat.contains(") Z "));
        gone.then_some(())
    });
}

#[test]
fn content_is_nowhere_unless_it_was_asked_for() {
    let sandbox = Sandbox::new();
    let file = sandbox.home().join("events.jsonl");
    sandbox.configure(&format!(
        "[sinks.store]\nkind = \"store\"\n[sinks.file]\nkind = \"jsonl\"\npath = \"{}\"\n",
        file.display()
    ));
    let daemon = sandbox.daemon();
    let said = r#"{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"marker-reply"},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"marker-input"}}]},"session_id":"s","uuid":"u2"}"#;
    let output = sandbox
        .command(["wrap", "--agent", "claude-code", "--", "sh", "-c"])
        .arg(format!("echo '{}'; echo '{said}'", init("s")))
        .stdin(Stdio::null())
        .output()
        .expect("the wrapper runs");
    assert!(output.status.success());
    sandbox.hook(&crate::sandbox::payload(
        "h",
        "UserPromptSubmit",
        r#","prompt":"marker-prompt","prompt_id":"p""#,
    ));
    sandbox.until_state("s", "ended");
    sandbox.until_state("h", "working");
    daemon.stop();
    let mut looked_at = 0;
    let mut folders = vec![sandbox.home().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(bytes) = std::fs::read(&path) {
                let text = String::from_utf8_lossy(&bytes);
                assert!(!text.contains("marker-"), "{}", path.display());
                looked_at += 1;
            }
        }
    }
    assert!(looked_at > 2, "nothing was looked at");
    let told: Vec<Value> = std::fs::read_to_string(&file)
        .expect("the file sink's file")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a JSON line"))
        .collect();
    assert!(told.iter().any(|event| event["kind"] == "tool.started"), "{told:?}");
}
