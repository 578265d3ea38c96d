//! What a replay promises: the true order, the recording's clock, the same every time.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use linelamp_core::driver::{
    Decoded, Decoder, DecoderOptions, Direction, Driver, Raw, Reading, Source,
};
use linelamp_core::event::{
    EndReason, SessionEnded, SessionStarted, StartSource, TurnOrigin, TurnStarted,
};
use linelamp_core::{AgentName, Body, Draft, SessionKey, Timestamp};
use linelamp_feeds::replay::{
    EPOCH, FeedSet, RecordedFeed, Recording, RecordingError, Replay, ReplayOptions, ReplayStats,
    Speed, TICK_MS,
};
use proptest::prelude::*;
use serde_json::Value;

type Log = Arc<Mutex<Vec<String>>>;

/// Notes what its decoders are given, and when.
#[derive(Clone, Debug, Default)]
struct Notary(Log);

#[derive(Debug)]
struct NotaryDecoder {
    log: Log,
    name: String,
}

impl Driver for Notary {
    fn agent(&self) -> AgentName {
        "notary".into()
    }

    fn is_program(&self, _: &str) -> bool {
        true
    }

    fn decoder(&self, source: Source, options: DecoderOptions) -> Option<Box<dyn Decoder>> {
        let name = match (source, options.process) {
            (Source::Hook, _) => "hook".to_owned(),
            (_, process) => format!("process {}", process.map_or(0, |process| process.pid)),
        };
        let decoder = NotaryDecoder { log: Arc::clone(&self.0), name };
        if !options.arguments.is_empty() {
            decoder.note(EPOCH, &format!("starts {}", options.arguments.join(" ")));
        }
        Some(Box::new(decoder))
    }
}

impl NotaryDecoder {
    fn note(&self, at: Timestamp, what: &str) {
        let ms = at.as_millisecond() - EPOCH.as_millisecond();
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.push(format!("{ms} {}: {what}", self.name));
    }
}

impl Decoder for NotaryDecoder {
    fn push(&mut self, raw: Raw<'_>, at: Timestamp, out: &mut Vec<Draft>) -> Decoded {
        let (what, bytes) = match raw {
            Raw::Line { direction: Direction::ToAgent, bytes } => (">", bytes),
            Raw::Line { bytes, .. } => ("<", bytes),
            Raw::Hook { payload, .. } => ("called", payload),
            Raw::Exit(exit) => {
                self.note(at, &format!("exit {:?} {:?}", exit.code, exit.signal));
                let ended = SessionEnded {
                    reason: EndReason::Exit,
                    exit_code: exit.code,
                    signal: exit.signal,
                    process: None,
                    error: None,
                };
                out.push(Draft::new(SessionKey::new("notary", "s"), at, ended));
                return Decoded::Understood;
            }
            _ => return Decoded::Malformed,
        };
        self.note(at, &format!("{what} {}", String::from_utf8_lossy(bytes)));
        let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return Decoded::Malformed };
        let body: Body = match value["is"].as_str() {
            Some("start") => SessionStarted {
                source: StartSource::Startup,
                cwd: None,
                model: None,
                version: None,
                entrypoint: None,
                mode: None,
                parent: None,
                process: None,
            }
            .into(),
            Some("turn") => {
                TurnStarted { turn: "t".into(), origin: TurnOrigin::Human, synthetic: false }.into()
            }
            Some(_) => return Decoded::Ignored,
            None => return Decoded::Native,
        };
        out.push(Draft::new(SessionKey::new("notary", "s"), at, body));
        Decoded::Understood
    }

    fn end(&mut self, at: Timestamp, _: &mut Vec<Draft>) {
        self.note(at, "end");
    }
}

/// Writes the files of a recording.
fn recording(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    folder
}

/// Plays a folder; what the decoders were given, and what came of it.
fn play(folder: &Path, feeds: FeedSet) -> (Vec<String>, ReplayStats) {
    let notary = Notary::default();
    let recording = Recording::open(folder).expect("a recording");
    let options = ReplayOptions { feeds, ..ReplayOptions::default() };
    let mut replay = Replay::new(recording, Arc::new(notary.clone()), options);
    replay.run(|_, _| {});
    let log = notary.0.lock().expect("unpoisoned").clone();
    (log, replay.stats())
}

/// Two processes, hooks, a terminal, and a clock that goes back once.
fn whole() -> tempfile::TempDir {
    recording(&[
        ("stdout.ndjson", "{\"is\":\"start\"}\nno json\n"),
        ("stdin.ndjson", "{\"is\":\"turn\"}\n"),
        ("stdout-2.ndjson", "{\"two\":1}\n{\"is\":\"x\"}\n"),
        ("hooks.ndjson", "{\"is\":\"turn\"}\n"),
        (
            "timeline.ndjson",
            r#"{"ms":5,"src":"proc","what":"start","args":["-p"]}
{"ms":7,"src":"stdin","line":1}
{"ms":7,"src":"stdout","line":1,"type":"system"}
{"ms":7,"src":"screen","what":"never mind"}
{"ms":6,"src":"hook","line":1,"event":"X"}
{"ms":9,"src":"hook","event":"X","what":"done"}
{"ms":9,"src":"stdout","line":2}
{"ms":12,"src":"proc","what":"exit","code":-9}
{"ms":20,"src":"proc-2","what":"start","args":["--resume"]}
{"ms":21,"src":"stdout-2","line":1}
{"ms":22,"src":"stdout-2","line":2}
{"ms":23,"src":"stdout-2","line":3}
{"ms":24,"src":"proc","what":"start-tui","args":[]}
{"ms":25,"src":"proc","what":"exit","code":0}
{"ms":1000,"src":"proc-2","what":"exit","code":3}
cut "#,
        ),
    ])
}

#[test]
fn everything_comes_in_the_true_order_and_on_the_recordings_clock() {
    let (log, stats) = play(whole().path(), FeedSet::all());
    let expected = [
        "0 process 1: starts -p",
        "7 process 1: > {\"is\":\"turn\"}",
        "7 process 1: < {\"is\":\"start\"}",
        "7 hook: called {\"is\":\"turn\"}",
        "9 process 1: < no json",
        "12 process 1: exit None Some(9)",
        "12 process 1: end",
        "0 process 2: starts --resume",
        "21 process 2: < {\"two\":1}",
        "22 process 2: < {\"is\":\"x\"}",
        "1000 process 2: exit Some(3) None",
        "1000 process 2: end",
        "1000 hook: end",
    ];
    assert_eq!(log, expected);
    let ReplayStats { lines, understood, ignored, native, malformed, .. } = stats;
    assert_eq!((lines, understood, ignored, native, malformed), (6, 3, 1, 1, 1));
}

#[test]
fn only_the_chosen_feeds_are_heard() {
    let (log, stats) = play(whole().path(), [RecordedFeed::Hooks].into_iter().collect());
    assert_eq!(log, ["7 hook: called {\"is\":\"turn\"}", "1000 hook: end"]);
    assert_eq!(stats.lines, 1);
    let (log, _) = play(whole().path(), [RecordedFeed::Stream].into_iter().collect());
    assert!(log.iter().all(|line| line.contains("process")), "{log:?}");
    let recording = Recording::open(whole().path()).expect("a recording");
    assert_eq!(recording.feeds().to_string(), "stream,hooks");
}

#[test]
fn time_passes_every_quarter_second_up_to_the_end_and_before_what_is_then() {
    let folder = recording(&[
        ("hooks.ndjson", "{\"is\":\"x\"}\n{\"is\":\"x\"}\n"),
        (
            "timeline.ndjson",
            "{\"ms\":100,\"src\":\"hook\",\"line\":1}\n{\"ms\":500,\"src\":\"hook\",\"line\":2}\n{\"ms\":760,\"src\":\"screen\"}\n",
        ),
    ]);
    let notary = Notary::default();
    let recording = Recording::open(folder.path()).expect("a recording");
    let mut replay = Replay::new(recording, Arc::new(notary.clone()), ReplayOptions::default());
    let mut moments = Vec::new();
    while let Some(ms) = replay.next_ms() {
        assert!(replay.advance(&mut Vec::new()));
        moments.push((ms, notary.0.lock().expect("unpoisoned").len()));
    }
    let ticks = [(250, 1), (500, 1), (500, 2), (750, 2)];
    assert!(ticks.iter().all(|tick| moments.contains(tick)), "{moments:?}");
    assert_eq!(moments.first(), Some(&(100, 1)));
    assert_eq!(moments.last().map(|moment| moment.0), Some(760));
    assert!(!replay.advance(&mut Vec::new()));
    assert_eq!(TICK_MS, 250);
}

#[test]
fn the_same_recording_gives_the_same_events_every_time() {
    let run = || {
        let recording = Recording::open(whole().path()).expect("a recording");
        let options = ReplayOptions { reading: Reading::Full, ..ReplayOptions::default() };
        let mut replay = Replay::new(recording, Arc::new(Notary::default()), options);
        let mut lines = Vec::new();
        replay.run(|replay, event| {
            lines.push(event.to_json());
            lines.extend(
                replay
                    .state_change(event)
                    .map(|change| serde_json::to_string(&change).expect("json")),
            );
        });
        lines
    };
    assert_eq!(run(), run());
}

#[test]
fn lines_the_timeline_left_out_follow_before_their_process_ends() {
    let folder = recording(&[
        ("stdout.ndjson", "{\"is\":\"1\"}\n{\"is\":\"2\"}\n{\"is\":\"3\"}"),
        ("stdout-2.ndjson", "{\"is\":\"1\"}\n"),
        (
            "timeline.ndjson",
            r#"{"ms":10,"src":"proc","what":"start","args":["a"]}
{"ms":11,"src":"stdout","line":1}
{"ms":12,"src":"proc","what":"exit","code":0}
{"ms":30,"src":"proc-2","what":"start","args":["b"]}
{"ms":40,"src":"proc-2","what":"exit","code":0}
"#,
        ),
    ]);
    let (log, _) = play(folder.path(), FeedSet::all());
    let lines: Vec<_> = log.iter().filter(|line| !line.contains("start")).collect();
    let expected = [
        "11 process 1: < {\"is\":\"1\"}",
        "12 process 1: < {\"is\":\"2\"}",
        "12 process 1: < {\"is\":\"3\"}",
        "12 process 1: exit Some(0) None",
        "12 process 1: end",
        "31 process 2: < {\"is\":\"1\"}",
        "40 process 2: exit Some(0) None",
        "40 process 2: end",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn without_a_timeline_a_line_is_a_millisecond_and_answers_follow_questions() {
    let folder = recording(&[
        (
            "stdin.ndjson",
            "{\"type\":\"user\"}\n{\"type\":\"control_response\",\"response\":{\"request_id\":\"r\"}}\n",
        ),
        (
            "stdout.ndjson",
            "{\"type\":\"system\"}\n{\"type\":\"control_request\",\"request_id\":\"r\"}\n{\"type\":\"result\"}\n",
        ),
        ("hooks.ndjson", "{\"argv\":[\"X\"],\"stdin\":{\"is\":\"x\"}}\n"),
        ("meta.json", r#"{"cli":"other","argv":["/opt/bin/other","-x"],"exit_code":-15}"#),
    ]);
    let recording = Recording::open(folder.path()).expect("a recording");
    assert_eq!(recording.program(), Some("other"));
    assert_eq!(recording.feeds().to_string(), "stream");
    let (log, _) = play(folder.path(), FeedSet::all());
    let expected = [
        "0 process 1: starts -x",
        "1 process 1: > {\"type\":\"user\"}",
        "2 process 1: < {\"type\":\"system\"}",
        "3 process 1: < {\"type\":\"control_request\",\"request_id\":\"r\"}",
        "4 process 1: > {\"type\":\"control_response\",\"response\":{\"request_id\":\"r\"}}",
        "5 process 1: < {\"type\":\"result\"}",
        "6 process 1: exit None Some(15)",
        "6 process 1: end",
        "7 hook: called {\"is\":\"x\"}",
        "7 hook: end",
    ];
    assert_eq!(log, expected);
}

#[test]
fn a_folder_without_a_recording_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(matches!(Recording::open(folder.path()), Err(RecordingError::Nothing(_))));
    let missing = folder.path().join("missing");
    assert!(matches!(Recording::open(&missing), Err(RecordingError::NoFolder(_))));
}

#[tokio::test(start_paused = true)]
async fn real_speed_takes_the_recordings_time() {
    let notary = Notary::default();
    let recording = Recording::open(whole().path()).expect("a recording");
    let mut replay = Replay::new(recording, Arc::new(notary), ReplayOptions::default());
    let start = tokio::time::Instant::now();
    replay.play(Speed::REAL, |_, _| {}).await;
    // From the first moment, at 5 ms, to the last.
    assert_eq!(start.elapsed(), Duration::from_millis(995));

    let recording = Recording::open(whole().path()).expect("a recording");
    let mut replay = Replay::new(recording, Arc::new(Notary::default()), ReplayOptions::default());
    let start = tokio::time::Instant::now();
    replay.play(Speed::Times(5.0), |_, _| {}).await;
    assert_eq!(start.elapsed(), Duration::from_millis(199));
}

proptest! {
    #[test]
    fn any_timeline_and_any_lines_are_played_to_the_end(
        timeline in prop::collection::vec(
            (any::<u16>(), 0_usize..6, 0_usize..5),
            0..30,
        ),
        stdout in prop::collection::vec(any::<u8>(), 0..200),
        hooks in prop::collection::vec(any::<u8>(), 0..200),
        garbage in "[\\x00-\\x7f]{0,80}",
    ) {
        let sources = ["stdout", "stdin", "hook", "proc", "proc-2", "stdout-9"];
        let mut text = String::new();
        for (ms, source, line) in timeline {
            let what = if line % 2 == 0 { "start" } else { "exit" };
            let entry = serde_json::json!({
                "ms": ms, "src": sources[source], "line": line, "what": what, "code": 0,
            });
            text.push_str(&entry.to_string());
            text.push('\n');
        }
        let folder = recording(&[("timeline.ndjson", &format!("{text}{garbage}"))]);
        std::fs::write(folder.path().join("stdout.ndjson"), &stdout).expect("written");
        std::fs::write(folder.path().join("hooks.ndjson"), &hooks).expect("written");
        let (_, stats) = play(folder.path(), FeedSet::all());
        prop_assert_eq!(stats.lines, stats.understood + stats.ignored + stats.native + stats.malformed);
    }
}
