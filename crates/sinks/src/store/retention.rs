//! Forgetting, one small step at a time, so that no write waits long for it.

use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, TransactionBehavior, params};

use super::group::Memory;
use super::number::{column, signed};
use super::option::Retention;

/// How many rows of a table one step deletes at most.
const STEP: i64 = 500;

/// How many free pages one step gives back to the file system.
const PAGES: i64 = 256;

/// Free pages below this many stay in the file: they will be used again soon.
const SPARE_PAGES: i64 = 1_024;

/// What one step did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Step {
    /// There is more of it.
    pub(super) more: bool,
    /// Undelivered rows dropped.
    pub(super) dropped: u64,
}

/// Deletes a little of what is too old or too much.
pub(super) fn step(
    connection: &mut Connection,
    memory: &mut Memory,
    retention: &Retention,
    now: Timestamp,
) -> rusqlite::Result<Step> {
    let before = |age: Duration| {
        let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        now.as_millisecond().saturating_sub(age)
    };
    let (old, old_position) = (before(retention.age), before(retention.position_age));
    let old_cursor = before(retention.cursor_age);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut step = Step::default();
    let mut note = |deleted: usize| step.more |= deleted >= usize::try_from(STEP).unwrap_or(1);

    note(transaction.execute(
        "DELETE FROM positions WHERE position IN
             (SELECT position FROM positions WHERE at < ?1 ORDER BY at LIMIT ?2)",
        params![old_position, STEP],
    )?);
    let positions: i64 =
        transaction.query_row("SELECT count(*) FROM positions", [], |row| row.get(0))?;
    note(transaction.execute(
        "DELETE FROM positions WHERE position IN
             (SELECT position FROM positions ORDER BY at LIMIT ?1)",
        [positions.saturating_sub(signed(retention.positions)).clamp(0, STEP)],
    )?);
    note(transaction.execute(
        "DELETE FROM cursors WHERE source IN
             (SELECT source FROM cursors WHERE at < ?1 LIMIT ?2)",
        params![old_cursor, STEP],
    )?);
    // Only from the old end: events stand in the order in which they were observed.
    note(transaction.execute(
        "DELETE FROM events WHERE observed_at < ?1
             AND seq IN (SELECT seq FROM events ORDER BY seq LIMIT ?2)",
        params![old, STEP],
    )?);
    note(transaction.execute(
        "DELETE FROM latest WHERE rowid IN
             (SELECT rowid FROM latest WHERE observed_at < ?1 LIMIT ?2)",
        params![old, STEP],
    )?);
    let sessions = transaction.execute(
        "DELETE FROM sessions WHERE session IN
             (SELECT session FROM sessions WHERE coalesce(last_seen, 0) < ?1
                  AND NOT EXISTS (SELECT 1 FROM events WHERE events.session = sessions.session)
                  AND NOT EXISTS (SELECT 1 FROM latest WHERE latest.session = sessions.session)
              LIMIT ?2)",
        params![old, STEP],
    )?;
    note(sessions);
    let too_big = bytes_in_use(&transaction)? > retention.bytes;
    if too_big {
        let deleted = transaction.execute(
            "DELETE FROM events WHERE seq IN (SELECT seq FROM events ORDER BY seq LIMIT ?1)",
            [STEP],
        )?;
        step.more |= deleted > 0;
    }
    step.dropped = limit_outbox(&transaction, retention, old)?;
    transaction.commit()?;
    if sessions > 0 {
        memory.forget_sessions();
    }

    let free: i64 = connection.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
    if free > SPARE_PAGES {
        // Gives one page back at every step of the statement, so it is stepped to its end.
        let mut vacuum = connection.prepare(&format!("PRAGMA incremental_vacuum({PAGES})"))?;
        let mut rows = vacuum.query([])?;
        while rows.next()?.is_some() {}
        step.more = true;
    }
    Ok(step)
}

fn bytes_in_use(connection: &Connection) -> rusqlite::Result<u64> {
    let pragma = |name: &str| -> rusqlite::Result<u64> {
        connection.pragma_query_value(None, name, |row| column(row, 0))
    };
    let pages = pragma("page_count")?.saturating_sub(pragma("freelist_count")?);
    Ok(pages * pragma("page_size")?)
}

/// Drops undelivered rows that are too old, and of a sink with too many bytes the oldest ones.
fn limit_outbox(connection: &Connection, retention: &Retention, old: i64) -> rusqlite::Result<u64> {
    let mut dropped = connection.execute("DELETE FROM outbox WHERE at < ?1", [old])?;
    let sums: Vec<(String, u64)> = connection
        .prepare_cached("SELECT sink, sum(size) FROM outbox GROUP BY sink")?
        .query_map([], |row| Ok((row.get(0)?, column(row, 1)?)))?
        .collect::<Result<_, _>>()?;
    for (sink, size) in sums {
        let Some(excess) = size.checked_sub(retention.outbox_bytes).filter(|excess| *excess > 0)
        else {
            continue;
        };
        dropped += connection.execute(
            "DELETE FROM outbox WHERE sink = ?1 AND row IN (
                 SELECT row FROM (
                     SELECT row, size, sum(size) OVER (ORDER BY row) AS upto
                     FROM outbox WHERE sink = ?1)
                 WHERE upto - size < ?2)",
            params![sink, signed(excess)],
        )?;
    }
    Ok(dropped as u64)
}

#[cfg(test)]
mod tests {
    use linelamp_core::{EventId, Seq, SessionKey};

    use super::*;
    use crate::store::prepare::{History, Prepared, Row};
    use crate::store::queue::Load;
    use crate::store::{connection, group};

    const DAY: i64 = 24 * 60 * 60;

    fn at(day: i64) -> Timestamp {
        Timestamp::from_second(1_796_000_000 + day * DAY).expect("a time")
    }

    struct File {
        _folder: tempfile::TempDir,
        connection: Connection,
        memory: Memory,
    }

    fn file() -> File {
        let folder = tempfile::tempdir().expect("a folder");
        let connection = connection::writer(&folder.path().join("store.db")).expect("a store");
        File { _folder: folder, connection, memory: Memory::new(Seq(1), 1_000) }
    }

    impl File {
        fn event(&self, seq: i64, day: i64, json: &str) {
            let id = seq.to_be_bytes();
            self.connection
                .execute(
                    "INSERT INTO events VALUES (?1, ?2, 1, ?3, 'turn.started', ?4)",
                    params![seq, &id[..], at(day).as_millisecond(), json],
                )
                .expect("an event");
        }

        fn count(&self, table: &str) -> i64 {
            let sql = format!("SELECT count(*) FROM {table}");
            self.connection.query_row(&sql, [], |row| row.get(0)).expect("a count")
        }

        /// Steps until there is no more to do; gives the number of steps and of dropped rows.
        fn forget(&mut self, retention: &Retention, now: Timestamp) -> (u32, u64) {
            let (mut steps, mut dropped) = (0, 0);
            loop {
                let done =
                    step(&mut self.connection, &mut self.memory, retention, now).expect("a step");
                steps += 1;
                dropped += done.dropped;
                if !done.more {
                    return (steps, dropped);
                }
            }
        }
    }

    #[test]
    fn what_is_older_than_a_month_goes_in_small_steps() {
        let mut file = file();
        for seq in 1..=1_600 {
            file.event(seq, if seq <= 1_200 { 0 } else { 20 }, "{}");
        }
        let old = at(0).as_millisecond();
        for (session, last_seen) in [(1, old), (2, old), (3, at(20).as_millisecond())] {
            file.connection
                .execute(
                    "INSERT INTO sessions (session, agent, id, last_seen) VALUES (?1, 'a', ?1, ?2)",
                    params![session, last_seen],
                )
                .expect("a session");
        }
        let retention = Retention::default();
        assert_eq!(file.forget(&retention, at(29)), (1, 0));
        assert_eq!(file.count("events"), 1_600);
        let (steps, _) = file.forget(&retention, at(31));
        assert!(steps >= 3, "{steps} steps");
        assert_eq!(file.count("events"), 400);
        // Session 1 still has events, session 3 was seen lately.
        assert_eq!(file.count("sessions"), 2);
    }

    #[test]
    fn a_session_that_was_forgotten_gets_a_row_again_when_it_comes_back() {
        let mut file = file();
        let session = SessionKey::new("codex", "s");
        let entry = |seq: u64, day: i64| Prepared {
            input: None,
            rows: vec![Row {
                seq: Seq(seq),
                id: EventId::derive(at(day), &seq.to_be_bytes(), 0),
                session: session.clone(),
                observed_at: at(day).as_millisecond(),
                kind: "turn.started".into(),
                history: History::Event("{}".into()),
                queues: Vec::new(),
            }],
            sessions: Vec::new(),
            next_seq: Seq(seq + 1),
            committed: None,
            load: Load::default(),
        };
        let write = |file: &mut File, seq, day| {
            group::write(&mut file.connection, &mut file.memory, &[entry(seq, day)], &[], 0)
                .expect("written");
        };
        write(&mut file, 1, 0);
        file.forget(&Retention::default(), at(31));
        assert_eq!((file.count("events"), file.count("sessions")), (0, 0));
        // Another session takes the row's number; the first one must not be mistaken for it.
        file.connection
            .execute("INSERT INTO sessions (agent, id) VALUES ('claude-code', 'other')", [])
            .expect("a session");
        write(&mut file, 2, 32);
        let agent: String = file
            .connection
            .query_row("SELECT agent FROM sessions JOIN events USING (session)", [], |row| {
                row.get(0)
            })
            .expect("the event has a session");
        assert_eq!(agent, "codex");
    }

    #[test]
    fn one_step_gives_back_as_many_pages_as_it_may() {
        let mut file = file();
        let json = "x".repeat(3_000);
        for seq in 1..=3_000 {
            file.event(seq, 0, &json);
        }
        file.connection.execute("DELETE FROM events", []).expect("deleted");
        let pages = |file: &File| -> i64 {
            file.connection.pragma_query_value(None, "page_count", |row| row.get(0)).expect("pages")
        };
        let before = pages(&file);
        let done = step(&mut file.connection, &mut file.memory, &Retention::default(), at(0));
        assert!(done.expect("a step").more);
        assert_eq!(before - pages(&file), PAGES);
    }

    #[test]
    fn positions_are_forgotten_after_two_days() {
        let mut file = file();
        for (name, day) in [("hook/1", 0), ("hook/2", 2)] {
            file.connection
                .execute(
                    "INSERT INTO positions VALUES (?1, ?2)",
                    params![name, at(day).as_millisecond()],
                )
                .expect("a position");
        }
        file.forget(&Retention::default(), at(3));
        let left: String = file
            .connection
            .query_row("SELECT position FROM positions", [], |row| row.get(0))
            .expect("one");
        assert_eq!(left, "hook/2");
    }

    #[test]
    fn cursors_are_forgotten_when_nobody_touched_them_for_two_months() {
        let mut file = file();
        for (source, day) in [("transcript/a", 0), ("transcript/b", 1)] {
            file.connection
                .execute(
                    "INSERT INTO cursors VALUES (?1, '0', ?2)",
                    params![source, at(day).as_millisecond()],
                )
                .expect("a cursor");
        }
        file.forget(&Retention::default(), at(60));
        assert_eq!(file.count("cursors"), 2);
        file.forget(&Retention::default(), at(61));
        let left: String = file
            .connection
            .query_row("SELECT source FROM cursors", [], |row| row.get(0))
            .expect("one");
        assert_eq!(left, "transcript/b");
    }

    #[test]
    fn of_too_many_positions_the_oldest_are_forgotten() {
        let mut file = file();
        for number in 0..1_300 {
            file.connection
                .execute(
                    "INSERT INTO positions VALUES ('wrap/' || ?1, ?2)",
                    params![number, at(0).as_millisecond() + number],
                )
                .expect("a position");
        }
        let retention = Retention { positions: 100, ..Retention::default() };
        file.forget(&retention, at(1));
        let oldest: i64 = file
            .connection
            .query_row("SELECT min(at) FROM positions", [], |row| row.get(0))
            .expect("some are left");
        assert_eq!((file.count("positions"), oldest), (100, at(0).as_millisecond() + 1_200));
    }

    #[test]
    fn a_file_that_is_too_big_loses_its_oldest_events_and_gives_its_room_back() {
        let mut file = file();
        let json = format!("\"{}\"", "x".repeat(4_000));
        for seq in 1..=4_000 {
            file.event(seq, 0, &json);
        }
        let pages = |file: &File| -> i64 {
            file.connection.pragma_query_value(None, "page_count", |row| row.get(0)).expect("pages")
        };
        let before = pages(&file);
        let retention = Retention { bytes: 8 << 20, ..Retention::default() };
        file.forget(&retention, at(0));
        assert!(bytes_in_use(&file.connection).expect("a size") <= retention.bytes);
        let oldest: i64 = file
            .connection
            .query_row("SELECT min(seq) FROM events", [], |row| row.get(0))
            .expect("some are left");
        assert!(oldest > 1_500, "{oldest}");
        assert_eq!(file.count("events"), 4_000 - oldest + 1);
        let after = pages(&file);
        assert!(after <= before - PAGES, "{before} pages before, {after} after");
    }

    #[test]
    fn a_sink_that_never_comes_back_holds_no_more_than_its_share() {
        let mut file = file();
        for (sink, rows) in [("dead", 10), ("well", 2)] {
            for _ in 0..rows {
                file.connection
                    .execute(
                        "INSERT INTO outbox (sink, at, size, json) VALUES (?1, ?2, 100, '')",
                        params![sink, at(0).as_millisecond()],
                    )
                    .expect("a row");
            }
        }
        let retention = Retention { outbox_bytes: 450, ..Retention::default() };
        assert_eq!(file.forget(&retention, at(1)), (1, 6));
        let left: (i64, i64) = file
            .connection
            .query_row("SELECT count(*), min(row) FROM outbox WHERE sink = 'dead'", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .expect("some are left");
        assert_eq!(left, (4, 7));
        assert_eq!(file.forget(&retention, at(31)), (1, 6));
        assert_eq!(file.count("outbox"), 0);
    }
}
