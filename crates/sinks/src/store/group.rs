//! One transaction: many whole entries, or none of them.

use std::collections::HashMap;
use std::sync::Arc;

use linelamp_core::journal::{Cursor, Input};
use linelamp_core::state::SessionRecord;
use linelamp_core::{Seq, SessionKey};
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

use super::command::Settle;
use super::number::signed;
use super::prepare::{History, Prepared, Row};

/// Numbers are reserved in steps of this size, so that they need not be written each time.
pub(super) const BLOCK: u64 = 100_000;

/// Numbers kept reserved beyond what may wait uncommitted: for the one entry that may pass the limit, and
/// for events that are told live and refused, because the file cannot be written for very long.
pub(super) const SLACK: u64 = 50_000;

/// How many session numbers are remembered before all are forgotten.
const NUMBERS: usize = 4_096;

/// What the writer remembers from group to group. Only changed by what was committed.
#[derive(Debug)]
pub(super) struct Memory {
    /// Order numbers below this one may have been given away.
    reserved: Seq,
    /// So many numbers stay reserved beyond every committed entry, whatever happens.
    ahead: u64,
    numbers: HashMap<SessionKey, i64>,
}

impl Memory {
    /// `waiting` events may be given their number and not be committed; a kill must not lead to their
    /// numbers being given away again.
    pub(super) fn new(reserved: Seq, waiting: usize) -> Self {
        let ahead = (waiting as u64).saturating_add(SLACK);
        Self { reserved, ahead, numbers: HashMap::new() }
    }

    /// Sessions were deleted: their rows' numbers mean nothing any more.
    pub(super) fn forget_sessions(&mut self) {
        self.numbers.clear();
    }
}

/// What is worth telling of a committed group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Report {
    /// Events left out because another event has their order number: a fault of the bus.
    pub(super) collisions: u64,
}

/// Writes the group. On an error the file and the memory are as before.
pub(super) fn write(
    connection: &mut Connection,
    memory: &mut Memory,
    entries: &[Prepared],
    settled: &[Settle],
    now: i64,
) -> rusqlite::Result<Report> {
    let reserved = memory.reserved;
    let result = attempt(connection, memory, entries, settled, now);
    if result.is_err() {
        memory.reserved = reserved;
        memory.numbers.clear();
    }
    result
}

fn attempt(
    connection: &mut Connection,
    memory: &mut Memory,
    entries: &[Prepared],
    settled: &[Settle],
    now: i64,
) -> rusqlite::Result<Report> {
    if memory.numbers.len() > NUMBERS {
        memory.numbers.clear();
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut report = Report::default();
    let mut records: HashMap<&SessionKey, &Arc<SessionRecord>> = HashMap::new();
    let mut cursors: HashMap<&str, &Cursor> = HashMap::new();
    for entry in entries {
        for row in &entry.rows {
            write_row(&transaction, memory, row, now, &mut report)?;
        }
        match &entry.input {
            Some(Input::Position(position)) => {
                let sql = "INSERT OR REPLACE INTO positions (position, at) VALUES (?1, ?2)";
                transaction.prepare_cached(sql)?.execute(params![&*position.0, now])?;
            }
            Some(Input::Cursor(cursor)) => {
                cursors.insert(&cursor.source, cursor);
            }
            None => {}
        }
        records.extend(entry.sessions.iter().map(|record| (&record.state.session, record)));
    }
    for (source, cursor) in cursors {
        let sql = "INSERT OR REPLACE INTO cursors (source, value, at) VALUES (?1, ?2, ?3)";
        transaction.prepare_cached(sql)?.execute(params![source, &*cursor.value, now])?;
    }
    for (session, record) in records {
        write_record(&transaction, memory, session, record)?;
    }
    for settle in settled {
        transaction
            .prepare_cached("DELETE FROM outbox WHERE sink = ?1 AND row <= ?2")?
            .execute(params![settle.sink.as_str(), signed(settle.row)])?;
    }
    if let Some(last) = entries.last() {
        reserve(&transaction, memory, last.next_seq)?;
    }
    transaction.commit()?;
    Ok(report)
}

/// Makes sure that from `next` on more is reserved than can be given away before the next commit.
pub(super) fn reserve(
    connection: &Connection,
    memory: &mut Memory,
    next: Seq,
) -> rusqlite::Result<()> {
    if next.0.saturating_add(memory.ahead) < memory.reserved.0 {
        return Ok(());
    }
    let upto = next.0.saturating_add(memory.ahead).saturating_add(BLOCK);
    connection
        .prepare_cached("INSERT OR REPLACE INTO meta (name, value) VALUES ('reserved', ?1)")?
        .execute([signed(upto)])?;
    memory.reserved = Seq(upto);
    Ok(())
}

fn write_row(
    transaction: &Transaction<'_>,
    memory: &mut Memory,
    row: &Row,
    now: i64,
    report: &mut Report,
) -> rusqlite::Result<()> {
    match &row.history {
        History::Event(json) => {
            let session = session_number(transaction, memory, &row.session)?;
            let id = row.id.as_uuid();
            let written = transaction
                .prepare_cached(
                    "INSERT INTO events (seq, id, session, observed_at, kind, json)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
                )?
                .execute(params![
                    signed(row.seq.0),
                    &id.as_bytes()[..],
                    session,
                    row.observed_at,
                    row.kind,
                    json
                ])?;
            if written == 0 {
                // Known by its id: an input that was read twice, stored and queued once already.
                let known = transaction
                    .prepare_cached("SELECT 1 FROM events WHERE id = ?1")?
                    .exists([&id.as_bytes()[..]])?;
                if !known {
                    report.collisions += 1;
                }
                return Ok(());
            }
        }
        History::Latest(key, json) => {
            let session = session_number(transaction, memory, &row.session)?;
            transaction
                .prepare_cached(
                    "INSERT INTO latest (session, key, seq, observed_at, kind, json)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                     ON CONFLICT (session, key) DO UPDATE SET seq = excluded.seq,
                         observed_at = excluded.observed_at, kind = excluded.kind,
                         json = excluded.json
                     WHERE excluded.seq >= seq",
                )?
                .execute(params![
                    session,
                    key,
                    signed(row.seq.0),
                    row.observed_at,
                    row.kind,
                    json
                ])?;
        }
        History::None => {}
    }
    for (sink, json) in &row.queues {
        transaction
            .prepare_cached("INSERT INTO outbox (sink, at, size, json) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![sink.as_str(), now, signed(json.len() as u64), json])?;
    }
    Ok(())
}

fn write_record(
    transaction: &Transaction<'_>,
    memory: &mut Memory,
    session: &SessionKey,
    record: &SessionRecord,
) -> rusqlite::Result<()> {
    let number = session_number(transaction, memory, session)?;
    let (state, whole) = match (serde_json::to_string(&record.state), serde_json::to_string(record))
    {
        (Ok(state), Ok(whole)) => (state, whole),
        (Err(error), _) | (_, Err(error)) => {
            // A fault of ours that trying again would not mend: better an old record than no
            // store at all.
            tracing::error!(%session, %error, "session record is not writable as JSON");
            return Ok(());
        }
    };
    transaction
        .prepare_cached(
            "UPDATE sessions SET status = ?2, last_seen = ?3, state = ?4, record = ?5
             WHERE session = ?1",
        )?
        .execute(params![
            number,
            record.state.status.as_str(),
            record.state.last_seen.as_millisecond(),
            state,
            whole,
        ])
        .map(drop)
}

fn session_number(
    transaction: &Transaction<'_>,
    memory: &mut Memory,
    session: &SessionKey,
) -> rusqlite::Result<i64> {
    if let Some(number) = memory.numbers.get(session) {
        return Ok(*number);
    }
    let key = params![session.agent.as_str(), session.id.as_str()];
    let found = transaction
        .prepare_cached("SELECT session FROM sessions WHERE agent = ?1 AND id = ?2")?
        .query_row(key, |row| row.get(0))
        .optional()?;
    let number = match found {
        Some(number) => number,
        None => transaction
            .prepare_cached("INSERT INTO sessions (agent, id) VALUES (?1, ?2)")?
            .insert(key)?,
    };
    memory.numbers.insert(session.clone(), number);
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::connection;
    use crate::store::queue::Load;

    fn entry(seq: u64, size: usize) -> Prepared {
        let at = jiff::Timestamp::UNIX_EPOCH;
        Prepared {
            input: Some(linelamp_core::journal::Position::new(format!("hook/{seq}")).into()),
            rows: vec![Row {
                seq: Seq(seq),
                id: linelamp_core::EventId::derive(at, &seq.to_be_bytes(), 0),
                session: SessionKey::new("codex", format!("s{seq}")),
                observed_at: 0,
                kind: "turn.started".into(),
                history: History::Event("x".repeat(size).into()),
                queues: Vec::new(),
            }],
            sessions: Vec::new(),
            next_seq: Seq(seq + 1),
            committed: None,
            load: Load::default(),
        }
    }

    #[test]
    fn whatever_may_wait_uncommitted_has_a_number_that_is_never_given_away_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut connection = connection::writer(&folder.path().join("store.db")).expect("a store");
        let waiting = 100_000;
        let mut memory = Memory::new(Seq(1), waiting);
        reserve(&connection, &mut memory, Seq(1)).expect("room for this");
        for next in [2, 99_000, 100_000, 100_001, 260_000, 1_000_000] {
            write(&mut connection, &mut memory, &[entry(next, 10)], &[], 0).expect("written");
            let reserved: u64 = connection
                .query_row("SELECT value FROM meta WHERE name = 'reserved'", [], |row| {
                    super::super::number::column(row, 0)
                })
                .expect("a number");
            assert!(reserved > next + waiting as u64, "{reserved} after {next}");
        }
    }

    fn count(connection: &Connection, table: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        connection.query_row(&sql, [], |row| row.get(0)).expect("a count")
    }

    #[test]
    fn a_full_disk_leaves_no_part_of_a_group_and_the_same_group_goes_in_later() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut connection = connection::writer(&folder.path().join("store.db")).expect("a store");
        let mut memory = Memory::new(Seq(1), 1_000);
        reserve(&connection, &mut memory, Seq(1)).expect("room for this");
        let mut write = |connection: &mut Connection, entries: &[Prepared]| {
            super::write(connection, &mut memory, entries, &[], 0)
        };
        write(&mut connection, &[entry(1, 10)]).expect("room for this");

        let pages: i64 =
            connection.pragma_query_value(None, "page_count", |row| row.get(0)).expect("a number");
        connection
            .pragma_update_and_check(None, "max_page_count", pages + 4, |_| Ok(()))
            .expect("a small disk");
        let group = [entry(2, 10), entry(160_000, 100_000)];
        for _ in 0..2 {
            let error = write(&mut connection, &group).expect_err("no room");
            assert_eq!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::DiskFull), "{error}");
            assert_eq!(count(&connection, "events"), 1);
            assert_eq!(count(&connection, "positions"), 1);
            assert_eq!(count(&connection, "sessions"), 1);
        }
        connection
            .pragma_update_and_check(None, "max_page_count", 1_000_000, |_| Ok(()))
            .expect("room again");
        write(&mut connection, &group).expect("room now");
        assert_eq!(count(&connection, "events"), 3);
        let reserved: i64 = connection
            .query_row("SELECT value FROM meta WHERE name = 'reserved'", [], |row| row.get(0))
            .expect("a number");
        assert_eq!(
            reserved,
            160_001 + 1_000 + 150_000,
            "the reservation that failed was made again"
        );
    }
}
