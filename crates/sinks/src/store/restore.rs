//! What a restart goes on from.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use linelamp_core::Seq;
use linelamp_core::journal::Position;
use linelamp_core::state::SessionRecord;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::error::StoreError;
use super::known::{self, Known};
use super::number::{column, signed};

/// Sessions that ended longer ago are not restored: nothing that comes late is this late.
const ENDED: Duration = Duration::from_secs(48 * 60 * 60);

/// What was remembered.
#[derive(Clone, Debug, PartialEq)]
pub struct Restored {
    /// The bus gives its next event this number. No number from here on was ever given away.
    pub next_seq: Seq,
    /// Sessions that live or ended not long ago, with the evidence behind their state.
    pub sessions: Vec<SessionRecord>,
}

impl Restored {
    pub(super) fn load(
        connection: &Connection,
        path: &Path,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Open { path: path.to_owned(), source };
        Ok(Self {
            next_seq: reserved(connection).map_err(failed)?,
            sessions: sessions(connection, now).map_err(failed)?,
        })
    }
}

/// The end of the reserved block: the first number that surely nobody has.
fn reserved(connection: &Connection) -> rusqlite::Result<Seq> {
    let reserved: Option<u64> = connection
        .query_row("SELECT value FROM meta WHERE name = 'reserved'", [], |row| column(row, 0))
        .optional()?;
    Ok(Seq(reserved.unwrap_or(1)))
}

fn sessions(connection: &Connection, now: Timestamp) -> rusqlite::Result<Vec<SessionRecord>> {
    let age = i64::try_from(ENDED.as_millis()).unwrap_or(i64::MAX);
    let mut statement = connection.prepare(
        "SELECT agent, id, record FROM sessions
         WHERE record IS NOT NULL AND (status <> 'ended' OR last_seen >= ?1)",
    )?;
    let mut rows = statement.query(params![now.as_millisecond() - age])?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        match serde_json::from_str(row.get_ref(2)?.as_str()?) {
            Ok(record) => records.push(record),
            Err(error) => {
                let (agent, id): (String, String) = (row.get(0)?, row.get(1)?);
                tracing::warn!(agent, id, %error, "a session's record is not readable, left out");
            }
        }
    }
    Ok(records)
}

/// The newest positions, for memory.
pub(super) fn known(connection: &Connection) -> rusqlite::Result<Known> {
    let mut newest: Vec<Position> = connection
        .prepare("SELECT position FROM positions ORDER BY at DESC LIMIT ?1")?
        .query_map([signed(known::CAPACITY as u64 + 1)], |row| {
            row.get::<_, String>(0).map(Position::new)
        })?
        .collect::<Result<_, _>>()?;
    let complete = newest.len() <= known::CAPACITY;
    newest.truncate(known::CAPACITY);
    newest.reverse();
    Ok(Known::new(newest, complete, known::CAPACITY))
}
