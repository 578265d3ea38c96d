//! Promises about how far sources that grow were read.

use std::path::{Path, PathBuf};
use std::time::Duration;

use linelamp_core::journal::{Cursor, Entry, Journal as _};
use linelamp_sinks::store::{Store, StoreOptions};

use crate::sample::{entry, event, turn};

const LONG: Duration = Duration::from_secs(60);

fn file() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("linelamp.db");
    (folder, path)
}

fn open(path: &Path) -> Store {
    Store::open(path, StoreOptions::default()).expect("the store opens").0
}

/// An entry with one event, read from `source` up to `value`.
fn read(source: &str, value: &str, seq: u64) -> Entry {
    let mut entry = entry(None, vec![event(seq, turn("a"))]);
    entry.input = Some(Cursor::new(source, value).into());
    entry
}

#[test]
fn the_last_cursor_of_a_source_is_there_after_a_restart_and_sources_do_not_mix() {
    let (_folder, path) = file();
    let store = open(&path);
    assert_eq!(store.cursors("transcript/").expect("none"), []);
    for (seq, (source, value)) in (1..).zip([
        ("transcript/a", "10"),
        ("transcript/b", "7"),
        ("transcript/a", "20"),
        ("other/a", "1"),
    ]) {
        store.append(read(source, value, seq));
    }
    assert!(store.close(LONG));
    drop(store);
    let store = open(&path);
    assert_eq!(
        store.cursors("transcript/").expect("cursors"),
        [Cursor::new("transcript/a", "20"), Cursor::new("transcript/b", "7")]
    );
    store.append(read("transcript/b", "9", 1_000_000));
    assert!(store.flush(LONG));
    assert_eq!(store.cursors("transcript/b").expect("cursors"), [Cursor::new("transcript/b", "9")]);
}

#[test]
fn a_cursor_and_what_was_read_up_to_it_are_committed_together_or_not_at_all() {
    let (_folder, path) = file();
    let store = open(&path);
    // Every write of an event fails, so nothing of its entry may be there.
    let other = rusqlite::Connection::open(&path).expect("the file");
    other
        .execute_batch(
            "CREATE TRIGGER broken BEFORE INSERT ON events WHEN new.seq = 2
             BEGIN SELECT RAISE(ABORT, 'broken'); END",
        )
        .expect("a trigger");
    store.append(read("transcript/a", "10", 1));
    assert!(store.flush(LONG));
    store.append(read("transcript/a", "20", 2));
    assert!(!store.flush(Duration::from_millis(200)), "it cannot be committed");
    assert_eq!(store.cursors("transcript/").expect("cursors"), [Cursor::new("transcript/a", "10")]);
    other.execute_batch("DROP TRIGGER broken").expect("mended");
    assert!(store.flush(LONG));
    assert_eq!(store.cursors("transcript/").expect("cursors"), [Cursor::new("transcript/a", "20")]);
}

#[test]
fn a_full_or_closed_store_says_that_it_has_no_room() {
    let (_folder, path) = file();
    let options = StoreOptions { waiting_limit: 1, ..StoreOptions::default() };
    let store = Store::open(&path, options).expect("the store opens").0;
    assert!(store.has_room());
    let blocker = rusqlite::Connection::open(&path).expect("the file");
    blocker.execute_batch("BEGIN IMMEDIATE").expect("it holds the lock");
    store.append(read("transcript/a", "10", 1));
    assert!(!store.has_room());
    blocker.execute_batch("ROLLBACK").expect("it lets go");
    assert!(store.flush(LONG));
    assert!(store.has_room());
    assert!(store.close(LONG));
    assert!(!store.has_room());
}

#[test]
fn a_store_of_the_first_version_learns_of_cursors_and_keeps_what_it_has() {
    let (_folder, path) = file();
    let store = open(&path);
    store.append(entry(Some("hook/1"), vec![event(1, turn("a"))]));
    assert!(store.close(LONG));
    drop(store);
    let older = rusqlite::Connection::open(&path).expect("the file");
    older.execute_batch("DROP TABLE cursors; PRAGMA user_version = 1").expect("as it was");
    drop(older);
    let store = open(&path);
    let known = store.is_known(&linelamp_core::journal::Position::new("hook/1"));
    assert!(known.expect("it can say"));
    store.append(read("transcript/a", "10", 1_000_000));
    assert!(store.flush(LONG));
    assert_eq!(store.cursors("").expect("cursors").len(), 1);
}
