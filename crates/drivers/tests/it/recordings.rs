//! Recordings of the real program, where `LINELAMP_RECORDINGS` names a folder with them. The suite
//! is complete without.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use linelamp_core::Timestamp;
use linelamp_core::draft::Draft;
use linelamp_core::driver::{Decoded, Direction, HookContext, Raw, Reading, Source};
use linelamp_core::event::{Body, Content, DecidedBy, Decision, ToolOutcome};
use linelamp_drivers::line::{Piece, Splitter};

use crate::script::{decoder, of_file, show};

/// The folders of cases, or none.
fn cases() -> Vec<PathBuf> {
    let Some(root) = std::env::var_os("LINELAMP_RECORDINGS") else { return Vec::new() };
    let mut cases = Vec::new();
    for version in folder(Path::new(&root)) {
        if version.file_name().is_some_and(|n| n.to_string_lossy().starts_with("claude-code-")) {
            cases.extend(folder(&version));
        }
    }
    cases
}

fn folder(path: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(path)
        .map(|entries| entries.filter_map(Result::ok).map(|entry| entry.path()).collect())
        .unwrap_or_default();
    entries.sort();
    entries
}

fn lines(path: &Path) -> Vec<Vec<u8>> {
    let mut lines = Vec::new();
    let mut splitter = Splitter::new();
    let mut keep = |piece: Piece<'_>| {
        if let Piece::Line(line) = piece {
            lines.push(line.to_vec());
        }
    };
    splitter.push(&fs::read(path).unwrap_or_default(), &mut keep);
    splitter.finish(&mut keep);
    lines
}

/// The processes of a case: numbered files of both directions, in the order of the timeline.
fn processes(case: &Path) -> Vec<Vec<(Direction, Vec<u8>)>> {
    let mut processes = Vec::new();
    for number in 1..=6 {
        let name = |what: &str| match number {
            1 => case.join(format!("{what}.ndjson")),
            n => case.join(format!("{what}-{n}.ndjson")),
        };
        let out = lines(&name("stdout"));
        if out.is_empty() {
            continue;
        }
        let host = lines(&name("stdin"));
        let mut order: Vec<Direction> = Vec::new();
        if number == 1 {
            for entry in lines(&case.join("timeline.ndjson")) {
                let entry: serde_json::Value = serde_json::from_slice(&entry).unwrap_or_default();
                match entry["src"].as_str() {
                    Some("stdin") => order.push(Direction::ToAgent),
                    Some("stdout") => order.push(Direction::FromAgent),
                    _ => {}
                }
            }
        }
        let (mut out, mut host) = (out.into_iter(), host.into_iter());
        let mut merged = Vec::new();
        for direction in order {
            let next = match direction {
                Direction::ToAgent => host.next(),
                Direction::FromAgent => out.next(),
            };
            merged.extend(next.map(|line| (direction, line)));
        }
        merged.extend(host.map(|line| (Direction::ToAgent, line)));
        merged.extend(out.map(|line| (Direction::FromAgent, line)));
        processes.push(merged);
    }
    processes
}

fn decode(lines: &[(Direction, Vec<u8>)], reading: Reading) -> (Vec<Draft>, [usize; 4]) {
    let mut stream = decoder(Source::Stream, reading, &[]);
    let (mut drafts, mut counts) = (Vec::new(), [0; 4]);
    for (at, (direction, bytes)) in lines.iter().enumerate() {
        let at = Timestamp::from_millisecond(i64::try_from(at).expect("few lines"));
        let raw = Raw::Line { direction: *direction, bytes };
        let decoded = stream.push(raw, at.expect("a small number"), &mut drafts);
        counts[match decoded {
            Decoded::Understood => 0,
            Decoded::Ignored => 1,
            Decoded::Native => 2,
            Decoded::Malformed => 3,
        }] += 1;
    }
    stream.end(Timestamp::from_second(1_000_000).expect("in range"), &mut drafts);
    (drafts, counts)
}

fn is_object(bytes: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Value>(bytes).is_ok_and(|value| value.is_object())
}

#[test]
fn every_recorded_line_is_understood_or_listed_as_meaningless() {
    for case in cases() {
        for lines in processes(&case) {
            let broken = lines.iter().filter(|(_, line)| !is_object(line)).count();
            for reading in [Reading::Full, Reading::State] {
                let (drafts, counts) = decode(&lines, reading);
                let native: Vec<&Draft> =
                    drafts.iter().filter(|draft| matches!(draft.body, Body::Native(_))).collect();
                assert!(native.is_empty(), "{}: {native:?}", case.display());
                assert_eq!(counts[2], 0, "{}", case.display());
                assert_eq!(counts[3], broken, "{}", case.display());
                assert_eq!(counts.iter().sum::<usize>(), lines.len());
            }
        }
    }
}

#[test]
fn recorded_turns_calls_and_requests_are_paired() {
    for case in cases() {
        for lines in processes(&case) {
            for reading in [Reading::Full, Reading::State] {
                let (drafts, _) = decode(&lines, reading);
                pairs(&drafts).unwrap_or_else(|why| panic!("{}: {why}", case.display()));
                let results = lines
                    .iter()
                    .filter(|(direction, line)| {
                        *direction == Direction::FromAgent
                            && serde_json::from_slice::<serde_json::Value>(line)
                                .is_ok_and(|value| value["type"] == "result")
                    })
                    .count();
                let ended = drafts
                    .iter()
                    .filter(|draft| match &draft.body {
                        Body::TurnEnded(ended) => {
                            ended.outcome != linelamp_core::event::TurnOutcome::Lost
                        }
                        _ => false,
                    })
                    .count();
                assert_eq!(ended, results, "{}", case.display());
            }
        }
    }
}

/// Nothing ends that did not begin, nothing begins twice, no turn stays open.
#[expect(clippy::collapsible_match, reason = "a guard that changes what it asks would hide it")]
fn pairs(drafts: &[Draft]) -> Result<(), String> {
    let (mut turn, mut calls, mut requests) = (None, BTreeMap::new(), BTreeMap::new());
    let (mut blocks, mut pieces) = (BTreeSet::new(), BTreeMap::new());
    let mut undecided = BTreeSet::new();
    for draft in drafts {
        if draft.session.id.is_empty() {
            return Err(format!("without a session: {}", show(draft)));
        }
        let told = show(draft);
        if optional_text(&draft.body).is_some_and(|text| text.size == 0) {
            return Err(format!("says nothing: {told}"));
        }
        match &draft.body {
            Body::TurnStarted(started) if !draft.hints.evidence_only => {
                if turn.replace(started.turn.clone()).is_some() {
                    return Err(format!("a turn in a turn: {told}"));
                }
            }
            Body::TurnEnded(ended) => {
                if turn.take().as_ref() != Some(&ended.turn) {
                    return Err(format!("another turn ended: {told}"));
                }
            }
            Body::ToolStarted(started) => {
                if calls.insert(started.call.clone(), false).is_some() {
                    return Err(format!("a call began twice: {told}"));
                }
            }
            Body::ToolEnded(ended) => {
                if calls.insert(ended.call.clone(), true) != Some(false) {
                    return Err(format!("a call ended that did not run: {told}"));
                }
                if ended.outcome == ToolOutcome::Denied
                    && ended.decided_by.is_none_or(|by| by == DecidedBy::Unknown)
                {
                    return Err(format!("denied by nobody: {told}"));
                }
                if undecided.remove(&Some(ended.call.clone())) && ended.decision.is_none() {
                    return Err(format!("nobody knows how it was decided: {told}"));
                }
            }
            Body::PermissionRequested(asked) => {
                if requests.insert(asked.request.clone(), false).is_some() {
                    return Err(format!("a request opened twice: {told}"));
                }
            }
            Body::PermissionResolved(resolved) if !resolved.request.is_empty() => {
                if requests.insert(resolved.request.clone(), true) != Some(false) {
                    return Err(format!("a request closed that was not open: {told}"));
                }
                if resolved.decision == Decision::Unknown {
                    undecided.insert(resolved.call.clone());
                }
            }
            Body::MessageDelta(delta) => {
                let key = (delta.message.clone(), delta.block);
                let before = pieces.entry(key).or_insert(0);
                if *before != delta.offset {
                    return Err(format!("a piece is missing before: {told}"));
                }
                *before += delta.text.size;
            }
            Body::MessageCompleted(whole) => {
                let key = (whole.message.clone(), whole.block);
                // Long texts are cut in the recordings, with a note of how much was left out.
                let cut = whole.text.value.as_ref().is_some_and(|text| text.ends_with("left out]"));
                if let Some(told_before) = pieces.get(&key)
                    && *told_before != whole.text.size
                    && !cut
                {
                    return Err(format!("pieces and whole differ: {told}"));
                }
                if !blocks.insert(key) {
                    return Err(format!("a block told twice: {told}"));
                }
            }
            _ => {}
        }
    }
    if let Some(call) = undecided.first() {
        return Err(format!("nobody knows how {call:?} was decided"));
    }
    match turn {
        None => Ok(()),
        Some(turn) => Err(format!("turn {turn} never ended")),
    }
}

/// A text that is left out where there is none.
fn optional_text(body: &Body) -> Option<&Content> {
    match body {
        Body::TurnEnded(ended) => ended.message.as_ref(),
        Body::ApiFailed(failed) => failed.message.as_ref(),
        Body::Notice(notice) => notice.text.as_ref(),
        Body::PermissionRequested(asked) => asked.text.as_ref(),
        Body::SubagentEnded(ended) => ended.report.as_ref(),
        Body::TaskEnded(ended) => ended.summary.as_ref(),
        _ => None,
    }
}

#[test]
fn every_recorded_hook_payload_is_understood_or_listed_as_meaningless() {
    for case in cases() {
        for payload in lines(&case.join("hooks.ndjson")) {
            let mut hooks = decoder(Source::Hook, Reading::Full, &[]);
            let mut drafts = Vec::new();
            let context = HookContext::default();
            let raw = Raw::Hook { payload: &payload, context: &context };
            let decoded = hooks.push(raw, Timestamp::UNIX_EPOCH, &mut drafts);
            let text = String::from_utf8_lossy(&payload);
            assert!(
                matches!(decoded, Decoded::Understood | Decoded::Ignored),
                "{}: {decoded:?} {text}",
                case.display()
            );
            assert_eq!(decoded == Decoded::Ignored, drafts.is_empty(), "{text}");
        }
    }
}

/// Session files below a folder.
fn session_files(folder_of: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in folder(folder_of) {
        if path.is_dir() {
            files.extend(session_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path);
        }
    }
    files
}

#[test]
fn every_recorded_session_file_is_understood_or_listed_as_meaningless() {
    for case in cases() {
        for path in session_files(&case.join("transcript")) {
            for reading in [Reading::Full, Reading::State] {
                let session = path.file_stem().expect("a file").to_string_lossy();
                let mut file = of_file(&session, reading);
                let mut drafts = Vec::new();
                for line in lines(&path) {
                    let raw = Raw::Record { bytes: &line, is_past: false };
                    let at = Timestamp::from_second(2_000_000_000).expect("in range");
                    let decoded = file.push(raw, at, &mut drafts);
                    assert!(
                        matches!(decoded, Decoded::Understood | Decoded::Ignored),
                        "{}: {decoded:?} {}",
                        path.display(),
                        String::from_utf8_lossy(&line)
                    );
                }
                let late = drafts.iter().find(|draft| draft.at.as_second() == 2_000_000_000);
                let untimed = |draft: &Draft| {
                    matches!(draft.body, Body::SessionUpdated(_) | Body::UsageUpdated(_))
                };
                assert!(late.is_none_or(untimed), "{}: {late:?}", path.display());
            }
        }
    }
}
