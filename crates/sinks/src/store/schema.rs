//! The tables, and how an older file becomes a newer one.
//!
//! `user_version` counts migrations. A migration is never changed once released; the next one is
//! appended. Each runs in a transaction of its own together with its number.

use rusqlite::{Connection, TransactionBehavior};

/// Marks the file as ours: `LAMP` in ASCII.
pub(super) const APPLICATION_ID: i64 = 0x4c41_4d50;

/// Migration number `n` (from 1) is at `n - 1`.
const MIGRATIONS: &[&str] = &[
    "
    CREATE TABLE meta (
        name  TEXT PRIMARY KEY,
        value INTEGER NOT NULL
    ) WITHOUT ROWID;

    -- Every session that an event or a record names; `record` is absent where only events do.
    CREATE TABLE sessions (
        session   INTEGER PRIMARY KEY,
        agent     TEXT NOT NULL,
        id        TEXT NOT NULL,
        status    TEXT,
        last_seen INTEGER,
        state     TEXT,
        record    TEXT,
        UNIQUE (agent, id)
    );

    -- Essential events. `observed_at` in milliseconds stands before `json` so that scans stay cheap.
    CREATE TABLE events (
        seq         INTEGER PRIMARY KEY,
        id          BLOB NOT NULL UNIQUE,
        session     INTEGER NOT NULL,
        observed_at INTEGER NOT NULL,
        kind        TEXT NOT NULL,
        json        TEXT NOT NULL
    );
    CREATE INDEX events_of_session ON events (session, seq);

    -- The newest event of each key of class Latest.
    CREATE TABLE latest (
        session     INTEGER NOT NULL,
        key         TEXT NOT NULL,
        seq         INTEGER NOT NULL,
        observed_at INTEGER NOT NULL,
        kind        TEXT NOT NULL,
        json        TEXT NOT NULL,
        PRIMARY KEY (session, key)
    );
    CREATE INDEX latest_by_seq ON latest (seq);

    CREATE TABLE positions (
        position TEXT PRIMARY KEY,
        at       INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX positions_by_time ON positions (at);

    -- AUTOINCREMENT: a row number is never used twice, also after the queue ran empty.
    CREATE TABLE outbox (
        row  INTEGER PRIMARY KEY AUTOINCREMENT,
        sink TEXT NOT NULL,
        at   INTEGER NOT NULL,
        size INTEGER NOT NULL,
        json TEXT NOT NULL
    );
    CREATE INDEX outbox_of_sink ON outbox (sink, row, size);
",
    "
    -- How far sources that grow were read. Few and short: looking for old ones reads them all.
    CREATE TABLE cursors (
        source TEXT PRIMARY KEY,
        value  TEXT NOT NULL,
        at     INTEGER NOT NULL
    ) WITHOUT ROWID;
",
];

/// The newest schema this program knows.
pub(super) fn newest() -> i64 {
    i64::try_from(MIGRATIONS.len()).expect("few migrations")
}

/// The schema the file has; zero for a new file.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// True for an empty file and for one of ours.
pub(super) fn is_ours(connection: &Connection) -> rusqlite::Result<bool> {
    let id: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(id == APPLICATION_ID || (id == 0 && tables == 0))
}

/// Brings the file to the newest schema. The caller has checked that it is not newer.
pub(super) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    loop {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let found = version(&transaction)?;
        let Some(next) = usize::try_from(found).ok().and_then(|index| MIGRATIONS.get(index)) else {
            return Ok(());
        };
        transaction.execute_batch(next)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", found + 1)?;
        transaction.commit()?;
    }
}
