//! What comes out of whole recorded sessions.
//!
//! The shipped recordings always; with `LINELAMP_RECORDINGS` also every folder below that one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sandbox::{Sandbox, recordings};

fn all() -> Vec<PathBuf> {
    let mut found = recordings();
    if let Some(more) = std::env::var_os("LINELAMP_RECORDINGS") {
        let entries = std::fs::read_dir(&more).expect("LINELAMP_RECORDINGS names a folder");
        found.extend(
            entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir()),
        );
    }
    found
}

fn replay(folder: &Path, arguments: &[&str]) -> Vec<Value> {
    let folder = folder.to_str().expect("a text path");
    let sandbox = Sandbox::new();
    let mut all = vec!["replay", folder, "--format", "ndjson"];
    all.extend(arguments);
    sandbox.lines(all)
}

#[test]
fn every_line_of_a_recording_is_counted_once_and_nothing_is_unknown() {
    for folder in all() {
        let stats = &replay(&folder, &["--stats"])[0];
        let count = |name: &str| stats[name].as_u64().expect("a count");
        let broken: u64 = std::fs::read_dir(&folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| {
                let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                path.extension().is_some_and(|extension| extension == "ndjson")
                    && ["stdout", "stdin", "hooks"].iter().any(|prefix| name.starts_with(prefix))
            })
            .map(|path| {
                let text = std::fs::read(&path).expect("a file");
                text.split(|byte| *byte == b'\n')
                    .filter(|line| !line.iter().all(u8::is_ascii_whitespace))
                    .filter(|line| !matches!(serde_json::from_slice(line), Ok(Value::Object(_))))
                    .count() as u64
            })
            .sum();
        assert_eq!(count("native"), 0, "{}", folder.display());
        assert_eq!(count("malformed"), broken, "{}", folder.display());
        assert_eq!(
            count("lines"),
            count("understood") + count("ignored") + count("native") + count("malformed"),
            "{}",
            folder.display()
        );
    }
}

/// What must be the same however many feeds see a session while its stream lasts: turns, tools, requests and cost.
fn essence(events: &[Value]) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut is_over: Vec<&Value> = Vec::new();
    for event in events {
        let session = &event["session"]["id"];
        if event["kind"] == "status.changed" && event["data"]["to"] == "ended" {
            is_over.push(session);
        }
        if is_over.contains(&session) {
            // Another process may take the session up again.
            continue;
        }
        let data = &event["data"];
        let kind = event["kind"].as_str().expect("a kind");
        let what = match kind {
            "turn.started" => data["origin"].to_string(),
            "turn.ended" => format!(
                "{} {} {} {}",
                data["outcome"], data["error"], data["cost_usd"], data["cost_total_usd"]
            ),
            "tool.started" => format!("{} {}", data["call"], data["tool"]),
            "tool.ended" => format!("{} {}", data["call"], data["outcome"]),
            "permission.requested" => format!("{} {}", data["call"], data["waiting_for"]),
            "permission.resolved" => format!("{} {}", data["call"], data["decision"]),
            _ => continue,
        };
        let session = event["session"]["id"].as_str().expect("a session");
        found.entry(format!("{session} {kind}")).or_default().push(what);
    }
    for list in found.values_mut() {
        list.sort();
    }
    found
}

#[test]
fn what_stands_beside_the_stream_adds_no_turn_tool_request_or_cost() {
    for others in ["hooks", "transcript", "status", "hooks,transcript,status"] {
        nothing_is_added_by(others);
    }
}

fn nothing_is_added_by(others: &str) {
    for folder in all() {
        if !folder.join("stdout.ndjson").exists() || !folder.join("timeline.ndjson").exists() {
            continue;
        }
        let stream = essence(&replay(&folder, &["--events", "--feeds", "stream"]));
        let feeds = format!("stream,{others}");
        let both = essence(&replay(&folder, &["--events", "--feeds", &feeds]));
        // Sessions of further processes are not in the stream.
        for (key, list) in &stream {
            assert_eq!(Some(list), both.get(key), "{} {key} with {others}", folder.display());
        }
        let sessions: Vec<&str> = stream.keys().filter_map(|key| key.split(' ').next()).collect();
        for key in both.keys() {
            let session = key.split(' ').next().expect("a session");
            assert!(
                !sessions.contains(&session) || stream.contains_key(key),
                "{} {key} is told by {others} alone",
                folder.display()
            );
        }
    }
}

#[test]
fn a_replay_is_the_same_every_time() {
    for folder in recordings() {
        assert_eq!(replay(&folder, &["--events"]), replay(&folder, &["--events"]));
    }
}

/// What `score` says of these folders with this set of feeds.
fn score(folders: &[PathBuf], feeds: &str) -> Value {
    let folders = folders.iter().map(|folder| folder.to_str().expect("a text path"));
    let arguments = ["score", "--format", "ndjson", "--feeds", feeds].into_iter().chain(folders);
    Sandbox::new().lines(arguments.collect::<Vec<_>>()).remove(0)
}

#[test]
fn the_state_is_what_the_agent_itself_said() {
    for (feeds, at_least) in [
        ("stream", 990),
        ("hooks", 920),
        ("transcript", 970),
        ("hooks,transcript", 970),
        ("hooks,transcript,status", 995),
    ] {
        let score = score(&recordings(), feeds);
        let count = |name: &str| score[name].as_u64().expect("a count");
        assert!(count("samples") > 40, "{feeds}: only {} samples", count("samples"));
        assert!(count("right") * 1000 >= count("samples") * at_least, "{feeds}: {score}");
        assert!(feeds == "hooks" || count("false_waiting") == 0, "{feeds}: {score}");
    }
}

/// The states of a recording as `states.txt` beside it lists them: the time, the session, the state, what it waits
/// for. Each list was compared with what the agent did.
#[test]
fn the_state_after_every_step_is_the_expected_one() {
    for folder in recordings() {
        let told: Vec<String> = replay(&folder, &[])
            .iter()
            .map(|change| {
                let text = |name: &str| change[name].as_str().unwrap_or_default().to_owned();
                let (session, waits) = (text("session"), text("waiting_for"));
                let session = session.split('-').next().unwrap_or_default();
                format!("{:>6} {session} {} {waits}", change["ms"], text("state"))
                    .trim_end()
                    .to_owned()
            })
            .collect();
        let expected = std::fs::read_to_string(folder.join("states.txt")).expect("a list");
        assert_eq!(
            told,
            expected.lines().map(str::trim_start).collect::<Vec<_>>(),
            "{}",
            folder.display()
        );
    }
}
