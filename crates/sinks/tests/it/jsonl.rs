//! The file of lines.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use linelamp_core::Event;
use linelamp_core::sink::{DeliverError, Sink, SinkFactory as _};
use linelamp_sinks::jsonl::JsonlFactory;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::sample::{event, reply, tool, turn};

struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("logs/events.jsonl")
    }

    fn sink(&self, more: &Value) -> Box<dyn Sink> {
        let mut options = json!({ "path": self.path() });
        for (key, value) in more.as_object().into_iter().flatten() {
            options[key] = value.clone();
        }
        JsonlFactory.build(&options).expect("a sink")
    }
}

fn batch(numbers: impl IntoIterator<Item = u64>) -> Vec<Arc<Event>> {
    numbers
        .into_iter()
        .map(|number| {
            Arc::new(match number % 3 {
                0 => event(number, turn("a")),
                1 => event(number, tool("Bash")),
                _ => event(number, reply()),
            })
        })
        .collect()
}

fn deliver(sink: &mut Box<dyn Sink>, batch: &[Arc<Event>]) -> Result<(), DeliverError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(sink.deliver(batch))
}

/// The numbers of the events in the file; every line must be a whole event.
fn numbers(path: &Path) -> Vec<u64> {
    let text = fs::read_to_string(path).unwrap_or_default();
    assert!(text.is_empty() || text.ends_with('\n'), "the last line is cut");
    text.lines().map(|line| Event::from_json(line).expect("an event").seq.0).collect()
}

#[test]
fn each_event_is_one_line_in_the_wire_form_and_the_file_is_private() {
    let home = Home::new();
    let events = batch(1..=3);
    deliver(&mut home.sink(&json!({})), &events).expect("written");
    let text = fs::read_to_string(home.path()).expect("the file");
    let lines: Vec<_> = text.lines().collect();
    let wire: Vec<_> = events.iter().map(|event| event.to_json()).collect();
    assert_eq!(lines, wire);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| fs::metadata(path).expect("its mode").permissions().mode() & 0o777;
        assert_eq!(mode(&home.path()), 0o600);
        assert_eq!(mode(home.path().parent().expect("its folder")), 0o700);
    }
}

#[test]
fn a_restart_appends_and_a_cut_line_spoils_no_other() {
    let home = Home::new();
    deliver(&mut home.sink(&json!({})), &batch(1..=2)).expect("written");
    deliver(&mut home.sink(&json!({})), &batch(3..=3)).expect("written");
    assert_eq!(numbers(&home.path()), [1, 2, 3]);
    let mut text = fs::read_to_string(home.path()).expect("the file");
    text.push_str("{\"v\":1,\"id\":\"cut");
    fs::write(home.path(), &text).expect("a killed writer");
    deliver(&mut home.sink(&json!({})), &batch(4..=4)).expect("written");
    let text = fs::read_to_string(home.path()).expect("the file");
    let last = text.lines().last().expect("a line");
    assert_eq!(Event::from_json(last).expect("an event").seq.0, 4);
    assert_eq!(text.lines().count(), 5);
}

#[test]
fn a_file_that_somebody_moved_away_is_begun_anew() {
    let home = Home::new();
    let mut sink = home.sink(&json!({}));
    deliver(&mut sink, &batch(1..=2)).expect("written");
    let moved = home.folder.path().join("moved");
    fs::rename(home.path(), &moved).expect("moved");
    deliver(&mut sink, &batch(3..=3)).expect("written");
    assert_eq!(numbers(&moved), [1, 2]);
    assert_eq!(numbers(&home.path()), [3]);
}

#[test]
fn what_cannot_be_written_is_tried_again_and_names_the_path() {
    let home = Home::new();
    let mut sink = home.sink(&json!({}));
    fs::create_dir_all(home.path()).expect("a folder in its place");
    let error = deliver(&mut sink, &batch(1..=1)).expect_err("no file");
    let DeliverError::Retry { taken: 0, after: None, source } = error else { panic!("{error:?}") };
    assert!(source.to_string().contains("events.jsonl"), "{source}");
    assert!(source.to_string().contains("not a regular file"), "{source}");
    fs::remove_dir(home.path()).expect("the way is free");
    deliver(&mut sink, &batch(1..=1)).expect("written");
    assert_eq!(numbers(&home.path()), [1]);
}

#[test]
fn a_failure_in_the_middle_says_what_is_in_the_file_already() {
    let home = Home::new();
    let mut sink = home.sink(&json!({ "max_bytes": 1_024, "keep": 1 }));
    let taken_name = home.folder.path().join("logs/events.jsonl.1");
    fs::create_dir_all(taken_name.join("in the way")).expect("a folder");
    let events = batch(1..=20);
    let error = deliver(&mut sink, &events).expect_err("no rotation");
    let DeliverError::Retry { taken, .. } = error else { panic!("{error:?}") };
    assert!(taken > 0 && taken < 20, "{taken}");
    assert_eq!(numbers(&home.path()), (1..=taken as u64).collect::<Vec<_>>());
    fs::remove_dir_all(taken_name).expect("the way is free");
    let mut rest = events[taken..].to_vec();
    rest.truncate(1);
    deliver(&mut sink, &rest).expect("written");
    assert_eq!(numbers(&home.path()), [taken as u64 + 1]);
}

/// Set in the process whose files cannot grow over 2 KiB: its disk is full in the middle of a line.
#[cfg(target_os = "linux")]
const SMALL: &str = "LINELAMP_TEST_SMALL_DISK";

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full_in_the_middle_of_a_line_leaves_no_half_line() {
    if std::env::var_os(SMALL).is_some() {
        let home = Home::new();
        let mut sink = home.sink(&json!({}));
        deliver(&mut sink, &batch(1..=1)).expect("there is room for one");
        for _ in 0..2 {
            let error = deliver(&mut sink, &batch(2..=30)).expect_err("no room");
            assert!(matches!(error, DeliverError::Retry { taken: 0, .. }), "{error:?}");
            assert_eq!(numbers(&home.path()), [1]);
        }
        deliver(&mut sink, &batch(2..=2)).expect("there is room for one more");
        assert_eq!(numbers(&home.path()), [1, 2]);
        return;
    }
    // The signal that comes with the limit is ignored, so that the write itself fails.
    let limited = r#"trap '' XFSZ && ulimit -f 4 && exec "$0" "$@""#;
    let output = std::process::Command::new("sh")
        .args(["-c", limited])
        .arg(std::env::current_exe().expect("this test"))
        .arg("--exact")
        .arg("jsonl::a_disk_that_is_full_in_the_middle_of_a_line_leaves_no_half_line")
        .env(SMALL, "1")
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn options_are_read_strictly() {
    for (options, says) in [
        (json!({ "path": "/x", "max_byte": 5 }), "did you mean `max_bytes`?"),
        (json!({ "path": "events.jsonl" }), "must be absolute"),
        (json!({ "path": "/x", "max_bytes": 3 }), "a whole number from 1024"),
        (json!({}), "is missing"),
    ] {
        let error = JsonlFactory.build(&options).err().expect("refused").to_string();
        assert!(error.contains(says), "{options}: {error}");
    }
    let schema = JsonlFactory.schema().expect("a schema");
    assert_eq!(schema["required"], json!(["path"]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// However events come in batches: what is kept is the newest of them, in order and whole, no
    /// file is over its size, and there are no more files than asked for.
    #[test]
    fn rotation_keeps_the_newest_lines_whole_and_in_order(
        sizes in proptest::collection::vec(1..40_u64, 1..12),
        max_bytes in 1_024..6_000_u64,
        keep in 0..4_u64,
    ) {
        let home = Home::new();
        let mut sink = home.sink(&json!({ "max_bytes": max_bytes, "keep": keep }));
        // Every file there ever was, by the numbers of its events.
        let mut files = vec![Vec::new()];
        let (mut next, mut filled) = (1, 0);
        for size in sizes {
            let events = batch(next..next + size);
            for event in &events {
                let line = event.to_json().len() as u64 + 1;
                if filled > 0 && filled + line > max_bytes {
                    files.push(Vec::new());
                    filled = 0;
                }
                filled += line;
                files.last_mut().expect("at least one").push(event.seq.0);
            }
            deliver(&mut sink, &events).expect("written");
            next += size;
        }
        let newest_first = files.into_iter().rev().take(usize::try_from(keep + 1).expect("few"));
        let mut count = 0;
        for (number, expected) in newest_first.enumerate() {
            let path = match number {
                0 => home.path(),
                _ => PathBuf::from(format!("{}.{number}", home.path().display())),
            };
            prop_assert_eq!(numbers(&path), expected);
            prop_assert!(fs::metadata(path).expect("a file").len() <= max_bytes);
            count += 1;
        }
        let there = fs::read_dir(home.path().parent().expect("a folder")).expect("a list").count();
        prop_assert_eq!(there, count);
    }
}
