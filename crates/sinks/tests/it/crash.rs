//! A daemon that is killed at any moment, with a real process and a real `SIGKILL`.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use linelamp_core::detail::Detail;
use linelamp_core::journal::{Committed, Journal as _, Position};
use linelamp_core::sink::Outbox as _;
use linelamp_core::{EventId, Seq};
use linelamp_sinks::store::{DurableSink, EventQuery, Reader, Store, StoreOptions};

use crate::sample::{at, entry, event, tool, turn};

/// Names the file for the process that writes; the same test plays both parts.
const FILE: &str = "LINELAMP_TEST_CRASH_FILE";

/// Inputs there are, and events each of them makes.
const INPUTS: u64 = 3_000;
const EVENTS: u64 = 3;

fn options() -> StoreOptions {
    let everything = DurableSink::new("team", Detail::Metadata, |_| true);
    StoreOptions { durable: vec![everything], ..StoreOptions::default() }
}

/// Takes every input that is not known, as the daemon's intake does, and tells each commit.
fn write(path: &Path) {
    let (store, restored) = Store::open(path, options()).expect("the store opens");
    let mut next = restored.next_seq.0;
    for number in 0..INPUTS {
        let position = format!("hook/{number}");
        let is_known = store.is_known(&Position::new(position.clone()));
        if is_known.expect("the store can say") {
            continue;
        }
        let events = (0..EVENTS).map(|index| {
            let mut made = if index == 0 {
                event(next + index, turn("a"))
            } else {
                event(next + index, tool("Bash"))
            };
            made.id = id(number, index);
            made
        });
        let mut taken = entry(Some(&position), events.collect());
        taken.committed = Some(Committed(Box::new(move || {
            let mut out = std::io::stdout().lock();
            writeln!(out, "committed {number}").and_then(|()| out.flush()).expect("told");
        })));
        store.append(taken);
        next += EVENTS;
    }
    assert!(store.close(Duration::from_secs(120)));
    writeln!(std::io::stdout(), "finished").expect("told");
}

fn id(number: u64, index: u64) -> EventId {
    let index = u32::try_from(index).expect("a small number");
    EventId::derive(at(0), format!("hook/{number}").as_bytes(), index)
}

#[test]
fn a_kill_at_any_moment_leaves_each_input_whole_and_once() {
    if let Some(path) = std::env::var_os(FILE) {
        return write(Path::new(&path));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("linelamp.db");
    let mut committed = Vec::new();
    let mut finished = false;
    let mut kills = 0;
    let mut patience = 1;
    while !finished {
        let mut child = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "crash::a_kill_at_any_moment_leaves_each_input_whole_and_once"])
            .arg("--nocapture")
            .env(FILE, &path)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the writer starts");
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let mut seen = 0;
        for line in lines.map_while(Result::ok) {
            if let Some(number) = line.strip_prefix("committed ") {
                committed.push(number.parse::<u64>().expect("a number"));
                seen += 1;
            }
            finished |= line == "finished";
            // Each round a different way in, and lines that were written before the kill still count.
            if seen == patience {
                child.kill().expect("killed");
                kills += 1;
                seen += 1;
            }
        }
        child.wait().expect("it is gone");
        patience = patience * 2 + 1;
        check(&path, &committed, finished);
    }
    assert!(kills >= 4, "only {kills} kills before the writer was done");
    println!("{kills} kills, {} commits told", committed.len());
}

fn check(path: &Path, committed: &[u64], all: bool) {
    let mut found: BTreeMap<EventId, Seq> = BTreeMap::new();
    let mut stored = 0;
    if let Ok(reader) = Reader::open(path) {
        reader
            .events(&EventQuery::default(), |row| {
                found.insert(row.event().expect("an event").id, row.seq);
                stored += 1;
                ControlFlow::Continue(())
            })
            .expect("the file is whole");
    }
    assert_eq!(found.len(), stored, "an event is stored twice");
    let of_input =
        |number| (0..EVENTS).filter(|index| found.contains_key(&id(number, *index))).count() as u64;
    for number in 0..INPUTS {
        let count = of_input(number);
        assert!(count == 0 || count == EVENTS, "input {number} is cut: {count} events");
        assert!(!all || count == EVENTS, "input {number} is missing in the end");
    }
    for number in committed {
        assert_eq!(of_input(*number), EVENTS, "committed input {number} is lost");
    }
    if all {
        let (store, restored) = Store::open(path, options()).expect("opens");
        assert!(found.values().all(|seq| *seq < restored.next_seq));
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let rows = runtime.block_on(store.pending(&"team".into(), 0, 1_000_000)).expect("rows");
        let queued: std::collections::BTreeSet<_> = rows.iter().map(|row| row.event.id).collect();
        assert_eq!(rows.len(), stored, "each event is queued once");
        assert!(queued.iter().eq(found.keys()), "what is queued is what is stored");
    }
}
