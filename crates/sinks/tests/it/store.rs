//! The store, seen from the daemon, from readers, and from the next start.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use linelamp_core::detail::Detail;
use linelamp_core::event::Status;
use linelamp_core::journal::{Committed, Entry, Journal as _, Position};
use linelamp_core::sink::{Outbox as _, OutboxRow};
use linelamp_core::{Body, Event, Seq, Timestamp};
use linelamp_sinks::store::{
    DurableSink, EventQuery, Reader, SessionQuery, Store, StoreError, StoreOptions, StoreState,
    StoredEvent,
};
use proptest::prelude::*;

use crate::sample::*;

const LONG: Duration = Duration::from_secs(60);

struct Home {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("linelamp.db");
        Self { _folder: folder, path }
    }

    fn open(&self) -> Store {
        self.open_with(StoreOptions::default())
    }

    fn open_with(&self, options: StoreOptions) -> Store {
        Store::open(&self.path, options).expect("the store opens").0
    }

    fn events(&self, query: &EventQuery) -> Vec<StoredEvent> {
        events(&self.path, query)
    }
}

fn events(path: &Path, query: &EventQuery) -> Vec<StoredEvent> {
    let mut all = Vec::new();
    let reader = Reader::open(path).expect("a reader");
    reader
        .events(query, |event| {
            all.push(event);
            ControlFlow::Continue(())
        })
        .expect("events");
    all
}

fn seqs(events: &[StoredEvent]) -> Vec<u64> {
    events.iter().map(|event| event.seq.0).collect()
}

fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !condition() {
        assert!(Instant::now() < deadline, "{what}: did not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn all_of(name: &str, detail: Detail) -> DurableSink {
    DurableSink::new(name, detail, |_| true)
}

fn is_known(store: &Store, position: &str) -> bool {
    store.is_known(&Position::new(position)).expect("the store can say")
}

#[test]
fn committed_is_told_when_a_reader_can_see_the_events() {
    let home = Home::new();
    let store = home.open();
    let (tell, told) = mpsc::channel();
    let path = home.path.clone();
    let mut first = entry(Some("hook/1"), vec![event(1, turn("a")), event(2, tool("Bash"))]);
    first.committed = Some(Committed(Box::new(move || {
        let seen = seqs(&events(&path, &EventQuery::default()));
        tell.send(seen).expect("the test listens");
    })));
    store.append(first);
    assert_eq!(told.recv_timeout(LONG).expect("it is told"), [1, 2]);
}

#[test]
fn history_holds_no_content_unless_asked_for() {
    for (detail, shown) in [(Detail::Metadata, false), (Detail::Content, true)] {
        let home = Home::new();
        let store = home.open_with(StoreOptions { detail, ..StoreOptions::default() });
        store.append(entry(None, vec![event(1, tool("Bash")), event(2, reply())]));
        assert!(store.close(LONG));
        let history = home.events(&EventQuery::default());
        assert_eq!(seqs(&history), [1, 2]);
        for stored in &history {
            assert_eq!(stored.json.contains(SECRET), shown, "{}", stored.json);
            assert_eq!(stored.event().expect("an event").seq, stored.seq);
        }
        drop(store);
        let files = std::fs::read_dir(home.path.parent().expect("a folder")).expect("a list");
        let bytes = files.fold(Vec::new(), |mut bytes, file| {
            bytes.extend(std::fs::read(file.expect("a file").path()).expect("its bytes"));
            bytes
        });
        let found = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
        assert_eq!(found, shown, "content in the file at level {detail:?}");
    }
}

#[test]
fn essential_events_and_the_newest_measurement_are_kept_and_nothing_else() {
    let home = Home::new();
    let store = home.open();
    store.append(entry(
        None,
        vec![
            event(1, turn("a")),
            event(2, usage(10)),
            event(3, piece()),
            event(4, notice()),
            event(5, usage(20)),
            event(6, reply()),
        ],
    ));
    assert!(store.flush(LONG));
    let history = home.events(&EventQuery::default());
    assert_eq!(seqs(&history), [1, 5, 6]);
    store.append(entry(None, vec![event(7, usage(30))]));
    assert!(store.flush(LONG));
    assert_eq!(seqs(&home.events(&EventQuery::default())), [1, 6, 7]);
}

#[test]
fn a_position_is_known_from_append_on_and_after_a_restart() {
    let home = Home::new();
    let one = Position::new("hook/1");
    let store = home.open();
    assert!(!is_known(&store, "hook/1"));
    store.append(entry(Some("hook/1"), Vec::new()));
    assert!(is_known(&store, "hook/1"));
    assert!(store.close(LONG));
    drop(store);
    let store = home.open();
    assert!(is_known(&store, "hook/1"));
    assert!(!is_known(&store, "hook/2"));
    assert_eq!(store.positions("hook/").expect("positions"), [one]);
    assert_eq!(store.positions("wrap/").expect("positions"), []);
}

#[test]
fn an_event_read_twice_is_stored_once_and_queued_once() {
    let home = Home::new();
    let store = home.open_with(StoreOptions {
        durable: vec![all_of("team", Detail::Metadata)],
        ..StoreOptions::default()
    });
    let first = event(1, turn("a"));
    let mut again = first.clone();
    again.seq = Seq(10_001);
    store.append(entry(Some("hook/1"), vec![first]));
    store.append(entry(Some("hook/1 again"), vec![again]));
    assert!(store.flush(LONG));
    assert_eq!(seqs(&home.events(&EventQuery::default())), [1]);
    assert_eq!(rows(&store, "team").len(), 1);
    assert_eq!(store.health().collisions, 0);
}

#[test]
fn an_order_number_used_twice_is_told_and_stops_nothing() {
    let home = Home::new();
    let store = home.open();
    let mut thief = event(2, turn("b"));
    thief.seq = Seq(1);
    store.append(entry(None, vec![event(1, turn("a"))]));
    store.append(entry(None, vec![thief]));
    store.append(entry(None, vec![event(3, turn("c"))]));
    assert!(store.flush(LONG));
    assert_eq!(seqs(&home.events(&EventQuery::default())), [1, 3]);
    assert_eq!(store.health().collisions, 1);
}

#[test]
fn a_restart_goes_on_after_every_number_that_was_given_away() {
    let home = Home::new();
    let (store, restored) = Store::open(&home.path, StoreOptions::default()).expect("a new store");
    assert_eq!(restored.next_seq, Seq(1));
    drop(store);
    let (store, restored) = Store::open(&home.path, StoreOptions::default()).expect("opens again");
    assert_eq!(restored.next_seq, Seq(250_001));
    let mut late = entry(None, vec![event(250_001, turn("a"))]);
    late.next_seq = Seq(527_000);
    store.append(late);
    assert!(store.close(LONG));
    drop(store);
    let (_store, restored) = Store::open(&home.path, StoreOptions::default()).expect("once more");
    assert!(restored.next_seq >= Seq(627_000), "{}", restored.next_seq);
}

#[test]
fn numbers_told_while_nothing_could_be_written_are_not_given_away_again() {
    let home = Home::new();
    let store = home.open();
    let blocker = rusqlite::Connection::open(&home.path).expect("another program");
    blocker.execute_batch("BEGIN IMMEDIATE").expect("it holds the lock");
    let waiting = 100_000;
    for number in 1..=waiting {
        store.append(entry(None, vec![event(number, piece())]));
    }
    // Not even opened again after a kill: what the file says now is all that a start would know.
    let reserved: i64 = blocker
        .query_row("SELECT value FROM meta WHERE name = 'reserved'", [], |row| row.get(0))
        .expect("a number");
    assert!(reserved > 102_048, "{reserved}");
    blocker.execute_batch("ROLLBACK").expect("it lets go");
    assert!(store.close(LONG));
}

#[test]
fn living_sessions_and_those_that_ended_lately_are_restored() {
    let home = Home::new();
    let now = Timestamp::now();
    let days_ago =
        |days: i64| now.checked_sub(jiff::SignedDuration::from_hours(24 * days)).expect("a time");
    let store = home.open();
    let mut first = entry(None, Vec::new());
    first.sessions = vec![
        Arc::new(record(&session(1), Status::Working, days_ago(9), 1)),
        Arc::new(record(&session(2), Status::Ended, now, 2)),
        Arc::new(record(&session(3), Status::Ended, days_ago(9), 3)),
    ];
    store.append(first);
    // A later record replaces an earlier one, also within one transaction.
    let newest = record(&session(1), Status::Idle, days_ago(8), 4);
    let mut second = entry(None, Vec::new());
    second.sessions = vec![Arc::new(newest.clone())];
    store.append(second);
    assert!(store.close(LONG));
    drop(store);
    let (store, mut restored) = Store::open(&home.path, StoreOptions::default()).expect("opens");
    restored.sessions.sort_by(|a, b| a.state.session.cmp(&b.state.session));
    assert_eq!(restored.sessions, [newest.clone(), record(&session(2), Status::Ended, now, 2)]);

    let reader = store.reader().expect("a reader");
    let keys = |query: &SessionQuery| -> Vec<_> {
        let states = reader.sessions(query).expect("sessions");
        states.into_iter().map(|state| state.session).collect()
    };
    assert_eq!(keys(&SessionQuery::default()), [session(1)]);
    let since = |ended_since| SessionQuery { ended_since: Some(ended_since), agent: None };
    assert_eq!(keys(&since(days_ago(1))), [session(2), session(1)]);
    assert_eq!(keys(&since(days_ago(30))), [session(2), session(1), session(3)]);
    let of_codex = SessionQuery { agent: Some("codex".into()), ended_since: Some(days_ago(30)) };
    assert_eq!(keys(&of_codex), []);
    assert_eq!(reader.record(&session(1)).expect("a record"), Some(newest));
    assert_eq!(reader.record(&session(9)).expect("no record"), None);
    assert_eq!(reader.find("session-3").expect("found"), [session(3)]);
    assert_eq!(reader.find("claude-code:session-").expect("found").len(), 3);
    assert_eq!(reader.find("%").expect("found"), []);
}

#[test]
fn a_query_gives_what_it_asks_for_in_order_and_no_more() {
    let home = Home::new();
    let store = home.open();
    for number in 1..=600 {
        let mut next = match number % 3 {
            0 => event(number, tool("Bash")),
            1 => event(number, turn("a")),
            _ => event(number, reply()),
        };
        next.session = session(number % 2);
        store.append(entry(None, vec![next]));
    }
    let mut measured = event(601, usage(1));
    measured.session = session(1);
    store.append(entry(None, vec![measured]));
    assert!(store.flush(LONG));
    let ask = |query: EventQuery| seqs(&home.events(&query));
    let everything = EventQuery::default;
    let numbers =
        |wanted: &dyn Fn(u64) -> bool| (1..=601).filter(|n| wanted(*n)).collect::<Vec<_>>();
    assert_eq!(ask(everything()), numbers(&|_| true));
    assert_eq!(
        ask(EventQuery { session: Some(session(1)), ..everything() }),
        numbers(&|n| n % 2 == 1)
    );
    assert_eq!(ask(EventQuery { session: Some(session(5)), ..everything() }), Vec::<u64>::new());
    assert_eq!(ask(EventQuery { since: Some(at(590)), ..everything() }), numbers(&|n| n >= 590));
    assert_eq!(ask(EventQuery { after: Seq(300), ..everything() }), numbers(&|n| n > 300));
    assert_eq!(ask(EventQuery { limit: Some(256), ..everything() }), numbers(&|n| n <= 256));
    assert_eq!(ask(EventQuery { limit: Some(0), ..everything() }), Vec::<u64>::new());
    assert_eq!(ask(EventQuery { newest: Some(3), ..everything() }), [599, 600, 601]);
    assert_eq!(ask(EventQuery { newest: Some(0), ..everything() }), Vec::<u64>::new());
    assert_eq!(ask(EventQuery { newest: Some(9_999), ..everything() }), numbers(&|_| true));
    assert_eq!(ask(EventQuery { newest: Some(300), limit: Some(2), ..everything() }), [302, 303]);
    assert_eq!(
        ask(EventQuery { kinds: vec!["tool.*".into(), "usage.updated".into()], ..everything() }),
        numbers(&|n| n % 3 == 0 || n == 601)
    );
    assert_eq!(
        ask(EventQuery { newest: Some(2), kinds: vec!["turn.started".into()], ..everything() }),
        [595, 598]
    );
    let mut seen = 0;
    let reader = Reader::open(&home.path).expect("a reader");
    reader
        .events(&everything(), |_| {
            seen += 1;
            if seen == 10 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .expect("events");
    assert_eq!(seen, 10);
}

fn rows(store: &Store, sink: &str) -> Vec<OutboxRow> {
    rows_after(store, sink, 0)
}

fn rows_after(store: &Store, sink: &str, after: u64) -> Vec<OutboxRow> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(store.pending(&sink.into(), after, 100)).expect("rows")
}

#[test]
fn a_queue_holds_what_its_filter_accepts_at_its_own_level_and_survives_a_restart() {
    let home = Home::new();
    let options = StoreOptions {
        durable: vec![
            all_of("team", Detail::Metadata),
            DurableSink::new("audit", Detail::Content, |event| {
                matches!(event.body, Body::ToolStarted(_))
            }),
        ],
        ..StoreOptions::default()
    };
    let store = home.open_with(options.clone());
    let given = vec![
        event(1, turn("a")),
        event(2, tool("Bash")),
        event(3, piece()),
        event(4, notice()),
        event(5, usage(3)),
    ];
    store.append(entry(Some("hook/1"), given.clone()));
    assert!(store.flush(LONG));
    let team = rows(&store, "team");
    let numbers: Vec<_> = team.iter().map(|row| row.event.seq.0).collect();
    assert_eq!(numbers, [1, 2, 4, 5]);
    assert!(team.iter().all(|row| !row.event.to_json().contains(SECRET)));
    let audit = rows(&store, "audit");
    assert_eq!(audit.len(), 1);
    assert_eq!(*audit[0].event, given[1]);
    assert_eq!(rows(&store, "nobody"), []);

    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(store.settle(&"team".into(), team[1].row)).expect("settled");
    assert_eq!(rows(&store, "team"), team[2..]);
    assert_eq!(rows_after(&store, "team", team[2].row), team[3..]);
    assert_eq!(rows(&store, "audit"), audit);
    assert!(store.close(LONG));
    drop(store);

    let store = home.open_with(options);
    assert_eq!(rows(&store, "team"), team[2..]);
    let body = |rows: &[OutboxRow]| rows.iter().map(|row| row.event.to_json()).collect::<Vec<_>>();
    assert_eq!(body(&rows(&store, "audit")), body(&audit), "a repeat has the same bytes");
    runtime.block_on(store.settle(&"team".into(), team[3].row)).expect("settled");
    store.append(entry(None, vec![event(9, turn("b"))]));
    assert!(store.flush(LONG));
    assert!(rows(&store, "team")[0].row > team[3].row, "a row number is never used twice");
}

#[test]
fn a_lane_that_waits_is_told_of_the_next_commit() {
    let home = Home::new();
    let store = home.open();
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let waiting = store.committed_after(Seq(0));
    store.append(entry(None, vec![event(1, turn("a")), event(2, turn("b"))]));
    assert_eq!(runtime.block_on(waiting), Seq(2));
    assert_eq!(runtime.block_on(store.committed_after(Seq(1))), Seq(2));
    let waiting = store.committed_after(Seq(2));
    store.append(entry(None, vec![event(3, turn("c"))]));
    assert_eq!(runtime.block_on(waiting), Seq(3));
}

#[test]
fn a_file_that_cannot_be_written_loses_nothing_and_is_told() {
    let home = Home::new();
    let store = home.open();
    store.append(entry(Some("hook/1"), vec![event(1, turn("a"))]));
    assert!(store.flush(LONG));

    let blocker = rusqlite::Connection::open(&home.path).expect("another program");
    blocker.execute_batch("BEGIN IMMEDIATE").expect("it holds the lock");
    let told = Arc::new(AtomicU64::new(0));
    for number in 2..=50 {
        let told = Arc::clone(&told);
        let mut next = entry(Some(&format!("hook/{number}")), vec![event(number, turn("a"))]);
        next.committed = Some(Committed(Box::new(move || {
            told.fetch_add(1, Ordering::SeqCst);
        })));
        store.append(next);
    }
    wait_until("the store says that it is stalled", || store.health().is_stalled());
    let health = store.health();
    let StoreState::Stalled { error, .. } = health.state else { panic!("{health:?}") };
    assert!(error.contains("locked"), "{error}");
    assert_eq!(health.waiting, 49);
    assert_eq!(told.load(Ordering::SeqCst), 0, "nothing is durable yet");
    assert!(is_known(&store, "hook/50"), "what waits is not published again");
    assert_eq!(seqs(&home.events(&EventQuery::default())), [1], "readers go on");

    blocker.execute_batch("ROLLBACK").expect("it lets go");
    assert!(store.flush(LONG));
    assert_eq!(told.load(Ordering::SeqCst), 49);
    assert_eq!(store.health().state, StoreState::Writing);
    assert_eq!(seqs(&home.events(&EventQuery::default())), (1..=50).collect::<Vec<_>>());
}

#[test]
fn what_is_refused_for_want_of_memory_is_never_called_durable() {
    let home = Home::new();
    let store = home.open_with(StoreOptions { waiting_limit: 3, ..StoreOptions::default() });
    let blocker = rusqlite::Connection::open(&home.path).expect("another program");
    blocker.execute_batch("BEGIN IMMEDIATE").expect("it holds the lock");
    let told = Arc::new(AtomicBool::new(false));
    for number in 1..=3 {
        store.append(entry(Some(&format!("hook/{number}")), vec![event(number, turn("a"))]));
    }
    let mut fourth = entry(Some("hook/4"), vec![event(4, turn("a"))]);
    let tell = Arc::clone(&told);
    fourth.committed = Some(Committed(Box::new(move || tell.store(true, Ordering::SeqCst))));
    store.append(fourth);
    assert_eq!(store.health().refused, 1);
    let asked = store.is_known(&Position::new("hook/4"));
    assert!(matches!(asked, Err(StoreError::Full { .. })), "to be asked again later: {asked:?}");
    assert!(is_known(&store, "hook/3"), "what waits is not published again");
    blocker.execute_batch("ROLLBACK").expect("it lets go");
    assert!(store.flush(LONG));
    assert!(!told.load(Ordering::SeqCst));
    assert!(!is_known(&store, "hook/4"), "it is read again");
    assert!(store.close(LONG));
    drop(store);
    let store = home.open();
    assert!(is_known(&store, "hook/3"));
    assert!(!is_known(&store, "hook/4"));
}

#[test]
fn what_waits_is_bounded_in_bytes_and_in_entries_without_events() {
    let large = || {
        let mut large = reply();
        large.text = linelamp_core::event::Content::text("x".repeat(1 << 20));
        event(1, large)
    };
    for (events, taken) in [(Vec::new(), 100), (vec![large()], 8)] {
        let home = Home::new();
        let store = home.open_with(StoreOptions {
            waiting_limit: 100,
            waiting_bytes: 8 << 20,
            ..StoreOptions::default()
        });
        let blocker = rusqlite::Connection::open(&home.path).expect("another program");
        blocker.execute_batch("BEGIN IMMEDIATE").expect("it holds the lock");
        for number in 0..150 {
            store.append(entry(Some(&format!("hook/{number}")), events.clone()));
        }
        assert_eq!(store.health().refused, 150 - taken);
        blocker.execute_batch("ROLLBACK").expect("it lets go");
        assert!(store.flush(LONG));
        store.append(entry(Some("hook/late"), events));
        assert_eq!(store.health().refused, 150 - taken, "there is room again");
    }
}

#[test]
fn one_entry_over_the_limit_is_taken_where_nothing_else_waits() {
    let home = Home::new();
    let store = home.open_with(StoreOptions { waiting_limit: 3, ..StoreOptions::default() });
    store.append(entry(None, (1..=9).map(|number| event(number, turn("a"))).collect()));
    assert!(store.flush(LONG));
    assert_eq!(seqs(&home.events(&EventQuery::default())), (1..=9).collect::<Vec<_>>());
}

#[test]
fn a_position_that_cannot_be_looked_up_is_not_called_unknown() {
    let home = Home::new();
    let store = home.open();
    // More than memory holds, so that the table has to be asked.
    for number in 0..70_000 {
        if number % 50_000 == 49_999 {
            assert!(store.flush(LONG));
        }
        store.append(entry(Some(&format!("hook/{number}")), Vec::new()));
    }
    assert!(store.flush(LONG));
    assert!(is_known(&store, "hook/0"));
    let other = rusqlite::Connection::open(&home.path).expect("another program");
    other.execute_batch("ALTER TABLE positions RENAME TO elsewhere").expect("renamed");
    let asked = store.is_known(&Position::new("hook/1"));
    assert!(matches!(asked, Err(StoreError::Read { .. })), "{asked:?}");
}

#[test]
fn what_was_queued_when_the_store_was_closed_is_not_called_known() {
    let home = Home::new();
    let store = home.open();
    let blocker = rusqlite::Connection::open(&home.path).expect("another program");
    blocker.execute_batch("BEGIN IMMEDIATE").expect("it holds the lock");
    let (tell, given_back) = mpsc::channel::<()>();
    let mut waiting = entry(Some("hook/1"), vec![event(1, turn("a"))]);
    waiting.committed = Some(Committed(Box::new(move || tell.send(()).expect("listening"))));
    store.append(waiting);
    assert!(is_known(&store, "hook/1"));
    assert!(!store.close(Duration::ZERO));
    // Its entry is dropped untold: whoever waited reads the input again, and must not hear that it is known.
    assert!(given_back.recv_timeout(LONG).is_err(), "it was called committed");
    let asked = store.is_known(&Position::new("hook/1"));
    assert!(matches!(asked, Err(StoreError::Closed)), "{asked:?}");
    blocker.execute_batch("ROLLBACK").expect("it lets go");
    drop(store);
    assert!(!is_known(&home.open(), "hook/1"));
}

#[test]
fn a_caller_that_panics_when_told_does_not_stop_the_store() {
    let home = Home::new();
    let store = home.open();
    let mut bad = entry(None, vec![event(1, turn("a"))]);
    bad.committed = Some(Committed(Box::new(|| panic!("on purpose"))));
    store.append(bad);
    store.append(entry(None, vec![event(2, turn("b"))]));
    assert!(store.flush(LONG));
    assert_eq!(seqs(&home.events(&EventQuery::default())), [1, 2]);
}

#[test]
fn ten_thousand_entries_are_written_in_groups() {
    let home = Home::new();
    let store = home.open();
    let start = Instant::now();
    for number in 1..=10_000 {
        let mut next = entry(Some(&format!("hook/{number}")), vec![event(number, tool("Bash"))]);
        next.sessions =
            vec![Arc::new(record(&session(number % 50), Status::Working, at(0), number))];
        store.append(next);
    }
    let appended = start.elapsed();
    assert!(store.flush(LONG));
    println!("10,000 entries: appended in {appended:?}, durable after {:?}", start.elapsed());
    let newest = EventQuery { newest: Some(1), ..EventQuery::default() };
    assert_eq!(seqs(&home.events(&newest)), [10_000]);
}

#[test]
fn readers_and_the_writer_go_on_beside_one_another() {
    let home = Home::new();
    let store = home.open();
    store.append(entry(None, vec![event(1, turn("a"))]));
    assert!(store.flush(LONG));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut passes = 0;
                    while !done.load(Ordering::SeqCst) || passes == 0 {
                        let seen = seqs(&home.events(&EventQuery::default()));
                        assert!(seen.iter().copied().eq(1..=seen.len() as u64), "a hole");
                        passes += 1;
                    }
                })
            })
            .collect();
        for number in 2..=3_000 {
            store.append(entry(None, vec![event(number, tool("Bash"))]));
        }
        assert!(store.flush(LONG));
        done.store(true, Ordering::SeqCst);
        for reader in readers {
            reader.join().expect("no reader failed");
        }
    });
    assert_eq!(store.health().state, StoreState::Writing);
    assert_eq!(home.events(&EventQuery::default()).len(), 3_000);
}

#[test]
fn a_closed_store_can_be_read_where_nothing_can_be_written() {
    let home = Home::new();
    let store = home.open();
    store.append(entry(None, vec![event(1, turn("a"))]));
    assert!(store.close(LONG));
    drop(store);
    let beside = |end: &str| PathBuf::from(format!("{}{end}", home.path.display()));
    // Root may write everywhere, so the place of the shared memory is taken instead.
    for end in ["-wal", "-shm"] {
        if beside(end).exists() {
            std::fs::remove_file(beside(end)).expect("removed");
        }
    }
    std::fs::create_dir(beside("-shm")).expect("in the way");
    assert_eq!(seqs(&home.events(&EventQuery::default())), [1]);
}

#[test]
fn a_store_of_a_newer_version_is_refused_and_left_as_it_is() {
    let home = Home::new();
    drop(home.open());
    let change = rusqlite::Connection::open(&home.path).expect("the file");
    change.pragma_update(None, "user_version", 99).expect("a newer schema");
    drop(change);
    let before = std::fs::read(&home.path).expect("the file");
    let error = Store::open(&home.path, StoreOptions::default()).expect_err("refused");
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error:?}");
    assert!(error.to_string().contains("newer linelamp"), "{error}");
    assert!(matches!(Reader::open(&home.path), Err(StoreError::Newer { .. })));
    assert_eq!(std::fs::read(&home.path).expect("the file"), before);
}

#[test]
fn a_file_of_another_program_is_refused_and_left_as_it_is() {
    let home = Home::new();
    let other = rusqlite::Connection::open(&home.path).expect("a file");
    other.execute_batch("CREATE TABLE recipes (name TEXT)").expect("a table");
    drop(other);
    let before = std::fs::read(&home.path).expect("the file");
    let refused = |path: &Path| {
        let error = Store::open(path, StoreOptions::default()).expect_err("refused");
        assert!(matches!(error, StoreError::Foreign { .. }), "{error:?}");
    };
    refused(&home.path);
    assert_eq!(std::fs::read(&home.path).expect("the file"), before);
    let text = home.path.with_extension("txt");
    std::fs::write(&text, "no database at all, but long enough to have a header".repeat(40))
        .expect("a text");
    refused(&text);
    assert!(matches!(
        Reader::open(&home.path.with_extension("no")),
        Err(StoreError::Missing { .. })
    ));
}

#[cfg(unix)]
#[test]
fn nobody_else_may_read_the_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    std::fs::write(&home.path, "").expect("a file");
    std::fs::set_permissions(&home.path, std::fs::Permissions::from_mode(0o644)).expect("too open");
    let store = home.open();
    store.append(entry(None, vec![event(1, turn("a"))]));
    assert!(store.flush(LONG));
    for file in std::fs::read_dir(home.path.parent().expect("a folder")).expect("a list") {
        let file = file.expect("a file");
        let mode = file.metadata().expect("its mode").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.path().display());
    }
}

#[derive(Clone, Debug)]
enum Step {
    Append { inputs: Vec<(u8, u8)> },
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => proptest::collection::vec((0..40_u8, 0..4_u8), 0..6)
            .prop_map(|inputs| Step::Append { inputs }),
        1 => Just(Step::Restart),
    ]
}

fn input(number: u8, seq: u64, kind: u8) -> Event {
    let mut made = match kind {
        0 => event(seq, turn("a")),
        1 => event(seq, usage(seq)),
        2 => event(seq, piece()),
        _ => event(seq, tool("Bash")),
    };
    made.id = linelamp_core::EventId::derive(at(0), &[number, kind], 0);
    made
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Inputs come again and again, the store restarts in between: each essential event is there
    /// exactly once, each measurement once at its newest, and no number is given away twice.
    #[test]
    fn repeated_inputs_and_restarts_leave_each_event_once(
        steps in proptest::collection::vec(step(), 1..30),
    ) {
        let home = Home::new();
        let open = || Store::open(&home.path, StoreOptions::default()).expect("opens");
        let (mut store, mut restored) = open();
        let mut next = restored.next_seq.0;
        let mut essential = std::collections::BTreeMap::new();
        let mut measured = None;
        for step in steps {
            match step {
                Step::Restart => {
                    prop_assert!(store.close(LONG));
                    drop(store);
                    (store, restored) = open();
                    prop_assert!(restored.next_seq.0 >= next);
                    next = restored.next_seq.0;
                }
                Step::Append { inputs } => {
                    let mut events = Vec::new();
                    for (number, kind) in inputs {
                        let made = input(number, next, kind);
                        match kind {
                            0 | 3 => { essential.entry(made.id).or_insert(next); }
                            1 => measured = Some(next),
                            _ => {}
                        }
                        events.push(made);
                        next += 1;
                    }
                    let mut made: Entry = entry(None, events);
                    made.next_seq = Seq(next);
                    store.append(made);
                }
            }
        }
        prop_assert!(store.close(LONG));
        let mut expected: Vec<u64> = essential.into_values().chain(measured).collect();
        expected.sort_unstable();
        prop_assert_eq!(seqs(&home.events(&EventQuery::default())), expected);
    }
}
