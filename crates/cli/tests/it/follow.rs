//! Sessions nobody reports: what the agent writes for itself is enough to know them.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use linelamp_core::Timestamp;
use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// The file of a session below an agent's configuration folder.
fn file(config: &Path, session: &str) -> PathBuf {
    config.join("projects/-tmp-project").join(session).with_extension("jsonl")
}

fn append(path: &Path, lines: &[Value]) {
    std::fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
    let mut file = OpenOptions::new().create(true).append(true).open(path).expect("a file");
    for line in lines {
        file.write_all(format!("{line}\n").as_bytes()).expect("written");
    }
}

/// A line of a session file.
fn line(session: &str, number: u32, kind: &str, more: Value) -> Value {
    let mut line = json!({
        "type": kind, "uuid": format!("{session}-{number}-{kind}"), "parentUuid": null,
        "isSidechain": false, "sessionId": session, "timestamp": Timestamp::now().to_string(),
        "cwd": "/tmp/project", "version": "2.1.332", "entrypoint": "cli", "userType": "external",
    });
    let Value::Object(more) = more else { panic!("members") };
    line.as_object_mut().expect("an object").extend(more);
    line
}

fn prompt(session: &str, number: u32) -> Value {
    line(
        session,
        number,
        "user",
        json!({
            "promptId": format!("p{number}"), "promptSource": "typed", "turnOrigin": "human",
            "message": {"role": "user", "content": "do it"},
        }),
    )
}

fn end(session: &str, number: u32) -> [Value; 2] {
    let answer = line(
        session,
        number,
        "assistant",
        json!({
            "message": {
                "id": format!("m{number}"), "role": "assistant", "model": "m", "stop_reason": "end_turn",
                "content": [{"type": "text", "text": "done"}],
            },
        }),
    );
    let sealed =
        line(session, number, "system", json!({"subtype": "turn_duration", "durationMs": 5}));
    [answer, sealed]
}

#[test]
fn a_session_that_nobody_reported_is_known_from_its_file() {
    let sandbox = Sandbox::new();
    let config = sandbox.home().join(".claude");
    append(&file(&config, "before"), &[prompt("before", 1)]);
    let _daemon = sandbox.daemon();
    let known = sandbox.until_state("before", "working");
    assert_eq!(known["cwd"], "/tmp/project");
    append(&file(&config, "before"), &end("before", 1));
    sandbox.until_state("before", "idle");
    append(&file(&config, "after"), &[prompt("after", 1)]);
    let known = sandbox.until_state("after", "working");
    assert_eq!(known["cwd"], "/tmp/project");
    // What stood there before the daemon came is no news.
    let events = sandbox.lines(["history", "--format", "ndjson"]);
    let started = events.iter().filter(|event| event["kind"] == "turn.started");
    let sessions: Vec<_> = started.map(|event| event["session"]["id"].clone()).collect();
    assert_eq!(sessions, ["after"]);
}

#[test]
fn a_call_without_a_result_is_work_and_never_a_wait_for_permission() {
    let sandbox = Sandbox::new();
    let path = file(&sandbox.home().join(".claude"), "s");
    let _daemon = sandbox.daemon();
    let call = line(
        "s",
        2,
        "assistant",
        json!({
            "message": {
                "id": "m", "role": "assistant", "model": "m", "stop_reason": "tool_use",
                "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}],
            },
        }),
    );
    append(&path, &[prompt("s", 1), call]);
    sandbox.eventually("the call", |sandbox| {
        let events = sandbox.lines(["history", "--format", "ndjson"]);
        events.iter().any(|event| event["kind"] == "tool.started").then_some(())
    });
    let known = sandbox.session("s").expect("it is listed");
    assert_eq!((&known["state"], &known["open"]), (&json!("working"), &json!([])));
    append(
        &path,
        &[line(
            "s",
            3,
            "user",
            json!({
                "promptId": "p1",
                "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]},
            }),
        )],
    );
    append(&path, &end("s", 1));
    sandbox.until_state("s", "idle");
    let events = sandbox.lines(["history", "--format", "ndjson"]);
    let asked = events.iter().filter(|event| event["kind"] == "permission.requested").count();
    assert_eq!(asked, 0);
}

#[test]
fn what_happened_while_no_daemon_ran_is_told_once_and_never_again() {
    let sandbox = Sandbox::new();
    let path = file(&sandbox.home().join(".claude"), "s");
    let kinds = |sandbox: &Sandbox| -> Vec<String> {
        let events = sandbox.lines(["history", "--format", "ndjson"]);
        let kinds = events.iter().filter_map(|event| event["kind"].as_str());
        kinds.filter(|kind| kind.starts_with("turn.")).map(str::to_owned).collect()
    };
    let daemon = sandbox.daemon();
    append(&path, &[prompt("s", 1)]);
    sandbox.until_state("s", "working");
    daemon.stop();
    append(&path, &end("s", 1));
    let daemon = sandbox.daemon();
    sandbox.until_state("s", "idle");
    sandbox.eventually("the end", |sandbox| (kinds(sandbox).len() == 2).then_some(()));
    daemon.stop();
    let daemon = sandbox.daemon();
    append(&file(&sandbox.home().join(".claude"), "other"), &[prompt("other", 1)]);
    sandbox.until_state("other", "working");
    daemon.stop();
    assert_eq!(kinds(&sandbox), ["turn.started", "turn.ended", "turn.started"]);
}

#[test]
fn each_account_has_its_folder_and_a_feed_that_is_switched_off_reads_nothing() {
    let sandbox = Sandbox::new();
    let (one, two) = (sandbox.home().join("one"), sandbox.home().join("two"));
    sandbox.configure(&format!(
        "[sinks.store]\nkind = \"store\"\n[feeds.transcript]\nfolders = [\"~/one\", {two:?}]\n"
    ));
    append(&file(&one, "a"), &[prompt("a", 1)]);
    append(&file(&sandbox.home().join(".claude"), "c"), &[prompt("c", 1)]);
    let daemon = sandbox.daemon();
    sandbox.until_state("a", "working");
    append(&file(&two, "b"), &[prompt("b", 1)]);
    sandbox.until_state("b", "working");
    assert_eq!(sandbox.session("c"), None, "it is not named");
    daemon.stop();
    sandbox.configure(
        "[sinks.store]\nkind = \"store\"\n[feeds.transcript]\nenabled = false\n\
         [feeds.status]\nenabled = false\n",
    );
    let _daemon = sandbox.daemon();
    append(&file(&sandbox.home().join(".claude"), "c"), &end("c", 1));
    sandbox.hook(&crate::sandbox::payload("h", "SessionStart", r#","source":"startup""#));
    sandbox.eventually("the hook's session", |sandbox| sandbox.session("h"));
    assert_eq!(sandbox.session("c"), None);
}

#[test]
fn a_folder_that_leads_nowhere_is_told_at_the_start() {
    let sandbox = Sandbox::new();
    sandbox.configure("[feeds.status]\nfolders = [\"claude\"]\n");
    let output = sandbox.run(["serve"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("feeds.status.folders") && text.contains("\"claude\""), "{text}");
}

#[test]
fn kills_of_the_daemon_lose_no_line_of_a_session_file_and_repeat_none() {
    let full = std::env::var_os("LINELAMP_TEST_FULL").is_some();
    let (kills, pause) = if full { (30, 700) } else { (5, 150) };
    let sandbox = Sandbox::new();
    let path = file(&sandbox.home().join(".claude"), "s");
    let daemon = sandbox.daemon();
    append(&path, &[prompt("s", 0)]);
    append(&path, &end("s", 0));
    let count = |kind: &str| -> HashMap<String, u32> {
        let mut found = HashMap::new();
        for event in sandbox.lines(["history", "--format", "ndjson"]) {
            if event["kind"] == kind {
                *found.entry(event["data"]["turn"].to_string()).or_default() += 1;
            }
        }
        found
    };
    sandbox.eventually("the first turn", |_| (count("turn.ended").len() == 1).then_some(()));
    daemon.kill();
    let done = AtomicBool::new(false);
    let turns = std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let mut number = 0;
            while !done.load(Ordering::Relaxed) {
                number += 1;
                append(&path, &[prompt("s", number)]);
                std::thread::sleep(Duration::from_millis(3));
                // Half a line, then the rest of it.
                let [answer, sealed] = end("s", number);
                let text = format!("{answer}\n{sealed}\n");
                let (first, second) = text.split_at(text.len() / 2);
                for part in [first, second] {
                    let mut file = OpenOptions::new().append(true).open(&path).expect("a file");
                    file.write_all(part.as_bytes()).expect("written");
                    std::thread::sleep(Duration::from_millis(2));
                }
            }
            number + 1
        });
        for kill in 0..kills {
            let daemon = sandbox.daemon();
            std::thread::sleep(Duration::from_millis(pause / 5 * (kill % 5)));
            daemon.kill();
        }
        done.store(true, Ordering::Relaxed);
        writing.join().expect("it wrote")
    });
    let _daemon = sandbox.daemon();
    let wanted = usize::try_from(turns).expect("a small number");
    sandbox.eventually("every turn's end", |_| (count("turn.ended").len() == wanted).then_some(()));
    for kind in ["turn.started", "turn.ended"] {
        let found = count(kind);
        assert_eq!(found.len(), wanted, "{kind}");
        assert!(found.values().all(|times| *times == 1), "{kind}: {found:?}");
    }
}

#[test]
fn what_a_running_process_says_of_itself_is_known_until_it_is_gone() {
    let sandbox = Sandbox::new();
    let folder = sandbox.home().join(".claude/sessions");
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut process = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().expect("sleep");
    let path = folder.join(format!("{}.json", process.id()));
    let say = |status: &str| {
        let text = json!({
            "pid": process.id(), "sessionId": "s", "cwd": "/tmp/project", "kind": "interactive",
            "entrypoint": "cli", "version": "2.1.332", "status": status,
            "statusUpdatedAt": Timestamp::now().as_millisecond(),
        });
        std::fs::write(&path, text.to_string()).expect("written");
    };
    say("busy");
    let _daemon = sandbox.daemon();
    let known = sandbox.until_state("s", "working");
    assert_eq!(
        (known["pid"].as_u64(), &known["cwd"]),
        (Some(process.id().into()), &json!("/tmp/project"))
    );
    say("idle");
    sandbox.until_state("s", "idle");
    process.kill().expect("killed");
    process.wait().expect("waited");
    sandbox.until_state("s", "ended");
}
