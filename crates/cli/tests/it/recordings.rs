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

/// What must be the same however many feeds see a session: turns, tools, requests and cost.
fn essence(events: &[Value]) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in events {
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
fn hooks_beside_the_stream_add_no_turn_tool_request_or_cost() {
    for folder in all() {
        if !folder.join("stdout.ndjson").exists() || !folder.join("timeline.ndjson").exists() {
            continue;
        }
        let stream = essence(&replay(&folder, &["--events", "--feeds", "stream"]));
        let both = essence(&replay(&folder, &["--events", "--feeds", "stream,hooks"]));
        // Sessions of further processes are in the hooks only.
        for (key, list) in &stream {
            assert_eq!(Some(list), both.get(key), "{} {key}", folder.display());
        }
        let sessions: Vec<&str> = stream.keys().filter_map(|key| key.split(' ').next()).collect();
        for key in both.keys() {
            let session = key.split(' ').next().expect("a session");
            assert!(
                !sessions.contains(&session) || stream.contains_key(key),
                "{} {key} is told by hooks alone",
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

/// The agent's own status file, as it was recorded: stretches of time and the states that fit.
fn truth(folder: &Path) -> Vec<(String, u64, u64, Vec<&'static str>)> {
    let read = |name: &str| -> Vec<Value> {
        std::fs::read_to_string(folder.join(name))
            .unwrap_or_default()
            .lines()
            .map(|line| serde_json::from_str(line).expect("a JSON line"))
            .collect()
    };
    let states = read("sessions.ndjson");
    let mut open: Option<(String, u64, Vec<&'static str>)> = None;
    let mut found = Vec::new();
    for entry in read("timeline.ndjson") {
        let ms = entry["ms"].as_u64().expect("a time");
        let ends = entry["src"] == "proc" && entry["what"] == "exit";
        if entry["src"] != "sessions" && !ends {
            continue;
        }
        if let Some((session, start, fits)) = open.take() {
            found.push((session, start, ms, fits));
        }
        if ends {
            continue;
        }
        let line = usize::try_from(entry["line"].as_u64().expect("a line")).expect("small");
        let data = &states[line - 1]["data"];
        let fits = match (data["status"].as_str(), data["waitingFor"].as_str()) {
            (Some("idle"), _) => vec!["idle", "starting"],
            (Some("shell"), _) => vec!["idle", "working"],
            (Some("busy"), _) => vec!["working"],
            (Some("waiting"), Some("permission prompt")) => vec!["waiting_for_permission"],
            (Some("waiting"), Some("input needed")) => vec!["waiting_for_input"],
            _ => continue,
        };
        if let Some(session) = data["sessionId"].as_str() {
            open = Some((session.to_owned(), ms, fits));
        }
    }
    found
}

/// Right samples, all samples. A sample is taken every 250 ms, from a second after each change on.
fn score(folder: &Path, feed: &str) -> (u32, u32) {
    let changes: Vec<(u64, String, String)> = replay(folder, &["--feeds", feed])
        .iter()
        .map(|change| {
            let text = |name: &str| change[name].as_str().expect("a text").to_owned();
            (change["ms"].as_u64().expect("a time"), text("session"), text("state"))
        })
        .collect();
    let (mut right, mut total) = (0, 0);
    for (session, start, end, fits) in truth(folder) {
        let known = changes.iter().find(|(_, id, _)| *id == session).map_or(u64::MAX, |c| c.0);
        let mut ms = start.max(known).saturating_add(1_000);
        while ms < end.saturating_sub(50) {
            let state = changes
                .iter()
                .rfind(|(at, id, _)| *at <= ms && *id == session)
                .map_or("", |(_, _, state)| state);
            total += 1;
            right += u32::from(fits.contains(&state));
            ms += 250;
        }
    }
    (right, total)
}

#[test]
fn the_state_is_what_the_agent_itself_said() {
    for (feed, at_least) in [("stream", 98), ("hooks", 90)] {
        let (mut right, mut total) = (0, 0);
        for folder in recordings() {
            if feed == "stream" && !folder.join("stdout.ndjson").exists() {
                continue;
            }
            let (r, t) = score(&folder, feed);
            right += r;
            total += t;
        }
        assert!(total > 40, "{feed}: only {total} samples");
        assert!(right * 100 >= total * at_least, "{feed}: {right} of {total} samples right");
    }
}
