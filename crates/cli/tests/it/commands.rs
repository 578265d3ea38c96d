//! What commands print, and what they say when something is wrong.

use std::process::Stdio;

use serde_json::Value;

use crate::sandbox::{Sandbox, payload, recordings};

#[test]
fn ls_and_show_speak_the_same_session_json() {
    let sandbox = Sandbox::new();
    let _daemon = sandbox.daemon();
    sandbox.hook(&payload("session-one", "SessionStart", r#","source":"startup""#));
    sandbox.hook(&payload("session-one", "UserPromptSubmit", r#","prompt":"x","prompt_id":"p""#));
    let listed = sandbox.until_state("session-one", "working");
    for (key, value) in
        [("v", Value::from(1)), ("agent", "claude-code".into()), ("cwd", "/tmp/project".into())]
    {
        assert_eq!(listed[key], value, "{key}");
    }
    for key in [
        "waiting_for",
        "since",
        "background",
        "activity",
        "outcome",
        "model",
        "pid",
        "host",
        "open",
        "children",
        "parent",
    ] {
        assert!(listed.get(key).is_some(), "{key} is missing");
    }
    let shown = &sandbox.lines(["show", "session", "--format", "json"])[0];
    assert_eq!(*shown, listed);
    let all: Vec<Value> =
        serde_json::from_str(&sandbox.text(["ls", "--format", "json"])).expect("one array");
    assert_eq!(all, [listed]);
    let table = sandbox.text(["ls"]);
    assert!(table.starts_with("STATE") && table.contains("working"), "{table}");
    assert!(table.contains("session-") && table.contains("project"), "{table}");
    assert!(!table.contains('\u{1b}'), "colour without a terminal");
    let page = sandbox.text(["show", "session-one"]);
    assert!(page.contains("working") && page.contains("/tmp/project"), "{page}");
}

#[test]
fn a_session_that_is_not_there_has_its_own_exit_code() {
    let sandbox = Sandbox::new();
    let _daemon = sandbox.daemon();
    for arguments in [["show", "nobody"], ["history", "nobody"]] {
        let output = sandbox.run(arguments);
        assert_eq!(output.status.code(), Some(4), "{arguments:?}");
        assert!(String::from_utf8(output.stderr).expect("text").contains("nobody"));
    }
}

#[test]
fn a_wrong_command_line_has_exit_code_2() {
    let sandbox = Sandbox::new();
    for arguments in [&["nonsense"][..], &["ls", "--format", "xml"], &["wrap"], &["replay"]] {
        assert_eq!(sandbox.run(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn hook_says_nothing_and_ends_with_0_whatever_it_is_given() {
    let sandbox = Sandbox::new();
    for arguments in [
        &["hook"][..],
        &["hook", "--agent"],
        &["hook", "--nonsense"],
        &["hook", "--agent", "../../x"],
    ] {
        for input in [&b""[..], b"not json", b"\xff\xfe\x00", b"{\"session_id\":1}"] {
            use std::io::Write as _;
            let mut child = sandbox
                .command(arguments)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("the hook client starts");
            child.stdin.take().expect("a pipe").write_all(input).expect("written");
            let output = child.wait_with_output().expect("the hook client ends");
            assert!(output.status.success(), "{arguments:?}");
            assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{arguments:?}");
        }
    }
    // Bad input loses nothing that comes after it.
    let _daemon = sandbox.daemon();
    sandbox.hook(&payload("good", "SessionStart", r#","source":"startup""#));
    sandbox.eventually("the good session", |sandbox| sandbox.session("good"));
}

#[test]
fn hook_works_without_any_environment() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_linelamp"))
        .arg("hook")
        .env_clear()
        .env("LINELAMP_HOME", "relative/path")
        .stdin(Stdio::null())
        .output()
        .expect("the hook client runs");
    assert!(output.status.success());
    assert!(output.stdout.is_empty() && output.stderr.is_empty());
}

#[test]
fn a_recording_played_into_the_daemon_is_a_session_like_any_other() {
    let sandbox = Sandbox::new();
    let _daemon = sandbox.daemon();
    let folder = recordings()
        .into_iter()
        .find(|folder| folder.ends_with("permission"))
        .expect("the recording is shipped");
    sandbox.text(["replay", folder.to_str().expect("text"), "--to-daemon", "--speed", "4"]);
    let sessions = sandbox.eventually("the session's end", |sandbox| {
        let sessions = sandbox.lines(["ls", "--all", "--format", "ndjson"]);
        (sessions.len() == 1 && sessions[0]["state"] == "ended").then_some(sessions)
    });
    assert_eq!(sessions[0]["outcome"], "completed");
    let kinds: Vec<String> = sandbox
        .lines(["history", "--format", "ndjson"])
        .iter()
        .map(|event| event["kind"].as_str().expect("a kind").to_owned())
        .collect();
    for (kind, count) in
        [("turn.started", 1), ("turn.ended", 1), ("permission.requested", 2), ("tool.ended", 2)]
    {
        assert_eq!(kinds.iter().filter(|found| *found == kind).count(), count, "{kind}: {kinds:?}");
    }
}

#[test]
fn replay_prints_its_three_forms() {
    let sandbox = Sandbox::new();
    let folder = recordings().into_iter().next().expect("recordings are shipped");
    let folder = folder.to_str().expect("text");
    let changes = sandbox.lines(["replay", folder, "--format", "ndjson"]);
    for key in [
        "ms",
        "agent",
        "session",
        "from",
        "state",
        "waiting_for",
        "outcome",
        "background",
        "because",
    ] {
        assert!(changes[0].get(key).is_some(), "{key} is missing");
    }
    let because = changes[0]["because"][0].as_str().expect("evidence");
    assert!(because.contains(':') && because.contains('@'), "{because}");
    let events = sandbox.lines(["replay", folder, "--events", "--format", "ndjson"]);
    assert!(events.iter().all(|event| event["v"] == 1 && event["data"].is_object()));
    let stats = sandbox.lines(["replay", folder, "--stats", "--format", "ndjson"]);
    assert_eq!(stats.len(), 1);
    let all: Vec<Value> =
        serde_json::from_str(&sandbox.text(["replay", folder, "--format", "json"]))
            .expect("an array");
    assert_eq!(all, changes);
    let output = sandbox.run(["replay", folder, "--feeds", "hoks"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn hooks_are_installed_once_and_taken_out_without_a_trace() {
    let sandbox = Sandbox::new();
    let settings = sandbox.home().join(".claude/settings.json");
    std::fs::create_dir_all(settings.parent().expect("a folder")).expect("a folder");
    let before = "{\n  \"model\": \"opus\",\n  \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]}]}\n}\n";
    std::fs::write(&settings, before).expect("settings");
    let read = || std::fs::read_to_string(&settings).expect("settings");
    let version = ["--agent-version", "2.1.332"];
    let run = |what: &str| sandbox.run(["hooks", what, version[0], version[1]]);
    assert_eq!(run("status").status.code(), Some(1));
    assert!(run("install").status.success());
    let installed = read();
    let value: Value = serde_json::from_str(&installed).expect("still JSON");
    assert_eq!(value["model"], "opus");
    for event in ["SessionStart", "PermissionRequest", "Stop", "StopFailure", "SessionEnd"] {
        let text = value["hooks"][event].to_string();
        assert!(text.contains("hook --agent claude-code"), "{event}: {text}");
    }
    assert!(value["hooks"].get("WorktreeCreate").is_none());
    assert!(value["hooks"]["Stop"].to_string().contains("mine"));
    assert!(run("install").status.success());
    assert_eq!(read(), installed, "a second installation changed something");
    assert!(run("status").status.success());
    assert!(sandbox.run(["hooks", "uninstall"]).status.success());
    assert_eq!(read(), before);
}

#[test]
fn the_demo_runs_without_a_terminal_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let tmp = sandbox.home().join("tmp");
    std::fs::create_dir(&tmp).expect("a folder");
    let started = std::time::Instant::now();
    let output = sandbox
        .command(["demo", "--speed", "4"])
        .env("TMPDIR", &tmp)
        .env_remove("LINELAMP_HOME")
        .stdin(Stdio::null())
        .output()
        .expect("the demo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
    let text = String::from_utf8(output.stdout).expect("text");
    for part in [
        "waiting_for_permission",
        "working",
        "idle",
        "ended",
        "store",
        "webhook",
        "linelamp hooks install",
    ] {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
    assert!(!text.contains("0 POSTs"), "{text}");
    let left: Vec<_> = std::fs::read_dir(&tmp).expect("a folder").collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_recorded_run_can_be_replayed_and_was_passed_through() {
    let sandbox = Sandbox::new();
    let folder = sandbox.home().join("recording");
    let line = r#"{"type":"system","subtype":"init","session_id":"rec","uuid":"u","cwd":"/tmp","model":"m","claude_code_version":"2.1.332"}"#;
    let output = sandbox
        .command(["record", folder.to_str().expect("text"), "--", "sh", "-c"])
        .arg(format!("echo '{line}'; echo oops >&2; exit 5"))
        .stdin(Stdio::null())
        .output()
        .expect("record runs");
    assert_eq!(output.status.code(), Some(5));
    assert_eq!(output.stdout, format!("{line}\n").as_bytes());
    assert_eq!(output.stderr, b"oops\n");
    let changes = sandbox.lines(["replay", folder.to_str().expect("text"), "--format", "ndjson"]);
    assert_eq!(changes.last().expect("changes")["state"], "ended");
}
