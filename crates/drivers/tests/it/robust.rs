//! Whatever the bytes are: cut anywhere, garbage between, damaged, repeated.
//!
//! The input is that of all scripts together, without what they expect.

use linelamp_core::Timestamp;
use linelamp_core::draft::Draft;
use linelamp_core::driver::{Decoded, Direction, HookContext, Raw, Reading, Source};
use linelamp_core::event::{Body, Decision};
use linelamp_drivers::line::{Piece, Splitter};
use proptest::prelude::*;

use crate::script::{decoder, of_file};

/// The lines of the agent in all stream scripts, in order.
fn corpus() -> Vec<String> {
    inputs("stream", "< ")
}

/// The lines behind `mark` in all scripts of a folder, in order.
fn inputs(folder: &str, mark: &str) -> Vec<String> {
    let folder = format!("{}/tests/fixtures/claude_code/{folder}", env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("the scripts")
        .map(|entry| entry.expect("a folder entry").path())
        .collect();
    paths.sort();
    let mut lines = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(path).expect("a readable script");
        lines.extend(text.lines().filter_map(|line| line.strip_prefix(mark)).map(str::to_owned));
    }
    lines
}

/// Drafts of a stream whose lines are all seen at the same moment.
fn decode(reading: Reading, chunks: &[&[u8]]) -> Vec<Draft> {
    let mut decoder = decoder(Source::Stream, reading, &[]);
    let mut drafts = Vec::new();
    let mut splitter = Splitter::new();
    let mut take = |piece: Piece<'_>| {
        let raw = match piece {
            Piece::Line(bytes) => Raw::Line { direction: Direction::FromAgent, bytes },
            Piece::TooLong { .. } => Raw::Gap { lines: 1, too_long: true },
        };
        decoder.push(raw, Timestamp::UNIX_EPOCH, &mut drafts);
    };
    for chunk in chunks {
        splitter.push(chunk, &mut take);
    }
    splitter.finish(&mut take);
    decoder.end(Timestamp::UNIX_EPOCH, &mut drafts);
    drafts
}

/// Drafts of a session file with these lines, and how each counted.
fn decode_file(reading: Reading, lines: &[Vec<u8>]) -> (Vec<Draft>, Vec<Decoded>) {
    let mut decoder = of_file("S1", reading);
    let mut drafts = Vec::new();
    let mut record = |bytes: &Vec<u8>| {
        let raw = Raw::Record { bytes, is_past: false };
        decoder.push(raw, Timestamp::UNIX_EPOCH, &mut drafts)
    };
    let counted = lines.iter().map(&mut record).collect();
    decoder.end(Timestamp::UNIX_EPOCH, &mut drafts);
    (drafts, counted)
}

fn records() -> Vec<Vec<u8>> {
    inputs("transcript", "t ").into_iter().map(String::into_bytes).collect()
}

fn line(bytes: &[u8]) -> Raw<'_> {
    Raw::Line { direction: Direction::FromAgent, bytes }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_cut_of_the_bytes_gives_the_same_drafts(
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..40),
        full in any::<bool>(),
    ) {
        let reading = if full { Reading::Full } else { Reading::State };
        let bytes = corpus().join("\n").into_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        cuts.sort_unstable();
        let (mut chunks, mut from) = (Vec::new(), 0);
        for cut in cuts {
            chunks.push(&bytes[from..cut]);
            from = cut;
        }
        chunks.push(&bytes[from..]);
        prop_assert_eq!(decode(reading, &chunks), decode(reading, &[&bytes]));
    }

    #[test]
    fn a_garbage_line_between_leaves_the_rest_intact(
        at in any::<proptest::sample::Index>(),
        garbage in proptest::collection::vec(any::<u8>().prop_filter("newline", |b| *b != b'\n'), 0..80),
        full in any::<bool>(),
    ) {
        prop_assume!(serde_json::from_slice::<serde_json::Value>(&garbage).is_err());
        let reading = if full { Reading::Full } else { Reading::State };
        let lines = corpus();
        let at = at.index(lines.len());
        let clean = lines.join("\n").into_bytes();
        let mut dirty = lines[..at].join("\n").into_bytes();
        dirty.push(b'\n');
        dirty.extend_from_slice(&garbage);
        dirty.push(b'\n');
        dirty.extend_from_slice(lines[at..].join("\n").as_bytes());
        prop_assert_eq!(decode(reading, &[&dirty]), decode(reading, &[&clean]));
    }

    #[test]
    fn damaged_lines_are_survived_and_counted(
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..200),
    ) {
        let mut bytes = corpus().join("\n").into_bytes();
        for (at, with) in damage {
            let at = at.index(bytes.len());
            bytes[at] = with;
        }
        for reading in [Reading::Full, Reading::State] {
            for draft in decode(reading, &[&bytes]) {
                prop_assert!(!draft.session.id.is_empty());
            }
        }
    }

    #[test]
    fn a_parsed_message_says_what_its_line_says(pick in any::<proptest::sample::Index>()) {
        let lines = corpus();
        let mut by_line = decoder(Source::Stream, Reading::Full, &[]);
        let mut by_value = decoder(Source::Stream, Reading::Full, &[]);
        let (mut lined, mut valued) = (Vec::new(), Vec::new());
        for text in &lines[..=pick.index(lines.len())] {
            let Ok(value) = serde_json::from_str::<serde_json::Value>(text) else { continue };
            let text = value.to_string();
            let one = by_line.push(line(text.as_bytes()), Timestamp::UNIX_EPOCH, &mut lined);
            let raw = Raw::Value { direction: Direction::FromAgent, value: &value };
            prop_assert_eq!(one, by_value.push(raw, Timestamp::UNIX_EPOCH, &mut valued));
        }
        prop_assert_eq!(lined, valued);
    }

    #[test]
    fn a_garbage_line_in_a_session_file_leaves_the_rest_intact(
        at in any::<proptest::sample::Index>(),
        garbage in proptest::collection::vec(any::<u8>(), 0..80),
        full in any::<bool>(),
    ) {
        prop_assume!(serde_json::from_slice::<serde_json::Value>(&garbage).is_err());
        let reading = if full { Reading::Full } else { Reading::State };
        let clean = records();
        let at = at.index(clean.len());
        let mut dirty = clean.clone();
        dirty.insert(at, garbage);
        let (drafts, mut counted) = decode_file(reading, &dirty);
        prop_assert_eq!(counted.remove(at), Decoded::Malformed);
        prop_assert_eq!((drafts, counted), decode_file(reading, &clean));
    }

    #[test]
    fn damaged_lines_of_a_session_file_are_survived_and_keep_its_session(
        damage in proptest::collection::vec(
            (any::<proptest::sample::Index>(), any::<proptest::sample::Index>(), any::<u8>()),
            1..200,
        ),
    ) {
        let mut lines = records();
        for (line, at, with) in damage {
            let line = line.index(lines.len());
            let at = at.index(lines[line].len());
            lines[line][at] = with;
        }
        for reading in [Reading::Full, Reading::State] {
            for draft in decode_file(reading, &lines).0 {
                prop_assert_eq!(draft.session.id.as_str(), "S1");
            }
        }
    }

    #[test]
    fn a_status_file_read_half_written_says_nothing(
        pick in any::<proptest::sample::Index>(),
        cut in any::<proptest::sample::Index>(),
        before in any::<bool>(),
    ) {
        let contents = inputs("status", "s {");
        let whole = format!("{{{}", contents[pick.index(contents.len())]);
        prop_assume!(serde_json::from_str::<serde_json::Value>(&whole).is_ok());
        let half = &whole.as_bytes()[..=cut.index(whole.len() - 1)];
        let mut decoder = decoder(Source::Status, Reading::Full, &[]);
        let mut drafts = Vec::new();
        let at = Timestamp::UNIX_EPOCH;
        if before {
            decoder.push(Raw::Report { bytes: whole.as_bytes() }, at, &mut drafts);
        }
        let known = drafts.len();
        let counted = decoder.push(Raw::Report { bytes: half }, at, &mut drafts);
        prop_assert_eq!((counted, drafts.len()), (Decoded::Malformed, known));
    }

    #[test]
    fn any_hook_payload_is_survived(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        let mut decoder = decoder(Source::Hook, Reading::Full, &[]);
        let mut drafts = Vec::new();
        let context = HookContext::default();
        let raw = Raw::Hook { payload: &bytes, context: &context };
        decoder.push(raw, Timestamp::UNIX_EPOCH, &mut drafts);
    }
}

const INIT: &[u8] =
    br#"{"type":"system","subtype":"init","session_id":"S1","cwd":"/p","model":"m"}"#;

#[test]
fn one_line_of_bad_text_is_one_bad_line_and_loses_nothing() {
    let mut decoder = decoder(Source::Stream, Reading::Full, &[]);
    let mut drafts = Vec::new();
    let at = Timestamp::UNIX_EPOCH;
    assert_eq!(decoder.push(line(INIT), at, &mut drafts), Decoded::Understood);
    let bad = b"{\"type\":\"assistant\",\"message\":{\"id\":\"M1\",\"content\":[{\"type\":\"text\",\"text\":\"a\xff\xfeb\"}]},\"session_id\":\"S1\"}";
    assert_eq!(decoder.push(line(bad), at, &mut drafts), Decoded::Malformed);
    assert_eq!(decoder.push(line(b"\xff\xfe"), at, &mut drafts), Decoded::Malformed);
    let good = br#"{"type":"result","subtype":"success","is_error":false,"session_id":"S1"}"#;
    assert_eq!(decoder.push(line(good), at, &mut drafts), Decoded::Understood);
    let kinds: Vec<&str> = drafts.iter().map(|draft| draft.body.kind()).collect();
    assert_eq!(kinds, ["session.started", "turn.started", "message.completed", "turn.ended"]);
    match &drafts[2].body {
        Body::MessageCompleted(whole) => {
            assert_eq!(whole.text.value.as_deref(), Some("a\u{fffd}\u{fffd}b"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn open_requests_are_capped_and_the_newest_count() {
    let mut decoder = decoder(Source::Stream, Reading::State, &[]);
    let mut drafts = Vec::new();
    let at = Timestamp::UNIX_EPOCH;
    decoder.push(line(INIT), at, &mut drafts);
    for number in 0..1000 {
        let ask = format!(
            r#"{{"type":"control_request","request_id":"R{number}","request":{{"subtype":"can_use_tool","tool_name":"Bash","input":{{}}}}}}"#
        );
        decoder.push(line(ask.as_bytes()), at, &mut drafts);
    }
    // Each is told; of more than so many the oldest gives way, and that is told as well.
    let opened = drafts.iter().filter(|d| matches!(d.body, Body::PermissionRequested(_))).count();
    let gone: Vec<&str> = drafts
        .iter()
        .filter_map(|draft| match &draft.body {
            Body::PermissionResolved(resolved) => {
                assert_eq!(resolved.decision, Decision::Unknown);
                Some(resolved.request.as_str())
            }
            _ => None,
        })
        .collect();
    assert_eq!(opened, 1000);
    assert_eq!(gone.len(), 1000 - 64);
    assert_eq!((gone[0], gone[935]), ("R0", "R935"));
    drafts.clear();
    let done = br#"{"type":"result","subtype":"success","is_error":false,"session_id":"S1"}"#;
    decoder.push(line(done), at, &mut drafts);
    let closed = drafts
        .iter()
        .filter(|draft| match &draft.body {
            Body::PermissionResolved(resolved) => resolved.decision == Decision::Cancelled,
            _ => false,
        })
        .count();
    assert_eq!(closed, 64);
}

#[test]
fn the_state_reading_never_holds_content() {
    let bytes = corpus().join("\n").into_bytes();
    let (of_file, _) = decode_file(Reading::State, &records());
    for draft in decode(Reading::State, &[&bytes]).into_iter().chain(of_file) {
        let mut redacted = draft.clone();
        linelamp_core::event::Redact::redact(&mut redacted.body);
        assert_eq!(draft.body, redacted.body);
    }
}

#[test]
fn what_a_session_file_tells_does_not_depend_on_how_much_is_read() {
    let told = |reading| {
        let mut told = decode_file(reading, &records()).0;
        // A prompt and a title are nothing but content.
        told.retain(|draft| match &draft.body {
            Body::MessageCompleted(data) => data.role == linelamp_core::event::Role::Assistant,
            Body::SessionUpdated(data) => data.title.is_none(),
            _ => true,
        });
        let lines = told.into_iter().map(|draft| {
            let kind = draft.body.kind().to_owned();
            (draft.session, draft.at, draft.scope, draft.hints, kind)
        });
        lines.collect::<Vec<_>>()
    };
    let (full, state) = (told(Reading::Full), told(Reading::State));
    assert_eq!(full.len(), state.len());
    for (full, state) in full.into_iter().zip(state) {
        assert_eq!(full, state);
    }
}

#[test]
fn a_long_turn_costs_two_reports_not_one_per_token() {
    let mut decoder = decoder(Source::Stream, Reading::State, &[]);
    let mut drafts = Vec::new();
    let at = Timestamp::UNIX_EPOCH;
    decoder.push(line(INIT), at, &mut drafts);
    drafts.retain(|draft| !matches!(draft.body, Body::SessionStarted(_)));
    let piece = br#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"token"}},"session_id":"S1"}"#;
    for _ in 0..10_000 {
        assert_eq!(decoder.push(line(piece), at, &mut drafts), Decoded::Understood);
    }
    let done = br#"{"type":"result","subtype":"success","is_error":false,"session_id":"S1"}"#;
    decoder.push(line(done), at, &mut drafts);
    let kinds: Vec<&str> = drafts.iter().map(|draft| draft.body.kind()).collect();
    assert_eq!(kinds, ["turn.started", "turn.ended"]);
}

#[test]
fn a_line_within_the_cap_is_read_whatever_its_size() {
    for size in [65_535, 65_536, 65_537, 1024 * 1024 + 1, 8 * 1024 * 1024 - 200] {
        let text = "x".repeat(size);
        let whole = format!(
            "{}\n{{\"message\":{{\"id\":\"M1\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}},\"session_id\":\"S1\",\"type\":\"assistant\"}}\n",
            String::from_utf8_lossy(INIT)
        );
        let chunks: Vec<&[u8]> = whole.as_bytes().chunks(65_536).collect();
        let drafts = decode(Reading::Full, &chunks);
        let told = drafts.iter().find_map(|draft| match &draft.body {
            Body::MessageCompleted(whole) => Some(whole.text.size),
            _ => None,
        });
        assert_eq!(told, Some(size as u64));
    }
}

#[test]
fn a_character_cut_between_two_reads_is_whole() {
    let text = "a\u{e9}\u{20ac}\u{1f600}z";
    let whole = format!(
        "{}\n{{\"type\":\"assistant\",\"message\":{{\"id\":\"M1\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}},\"session_id\":\"S1\"}}\n",
        String::from_utf8_lossy(INIT)
    );
    for cut in INIT.len()..whole.len() {
        let (before, after) = whole.as_bytes().split_at(cut);
        let told = decode(Reading::Full, &[before, after]).into_iter().find_map(|draft| {
            let Body::MessageCompleted(data) = draft.body else { return None };
            data.text.value
        });
        assert_eq!(told.as_deref(), Some(text), "cut at {cut}");
    }
}
