//! Opening the file, for the one writer and for any reader.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::error::StoreError;
use super::schema;
use crate::private;

/// How long one statement waits for another program's lock before it counts as failed.
const BUSY: Duration = Duration::from_millis(500);

/// After a checkpoint the write-ahead log is cut back to this many bytes.
const LOG_LIMIT: i64 = 8 << 20;

/// Opens the file for writing, makes it if it is not there, and brings it up to date.
pub(super) fn writer(path: &Path) -> Result<Connection, StoreError> {
    private::open_append(path)
        .map(drop)
        .map_err(|source| StoreError::Create { path: path.to_owned(), source })?;
    let failed = |source| StoreError::Open { path: path.to_owned(), source };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    check(&connection, path, false)?;
    prepare(&mut connection).map_err(failed)?;
    Ok(connection)
}

fn prepare(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(48);
    // Only has effect before the first table is made; must come before WAL mode.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if mode != "wal" {
        tracing::warn!(
            mode,
            "the store's file system has no shared memory: readers may have to wait"
        );
    }
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "cache_size", -4096)?;
    connection.pragma_update_and_check(None, "journal_size_limit", LOG_LIMIT, |_| Ok(()))?;
    schema::migrate(connection)
}

/// Opens the file for reading only. Works beside a running writer and without one.
pub(super) fn reader(path: &Path) -> Result<Connection, StoreError> {
    if !path.exists() {
        return Err(StoreError::Missing { path: path.to_owned() });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || -> Result<Connection, StoreError> {
        let connection = Connection::open_with_flags(path, flags)
            .map_err(|source| StoreError::Open { path: path.to_owned(), source })?;
        check(&connection, path, true)?;
        Ok(connection)
    };
    open().or_else(|error| {
        // In a folder we may not write to, the shared memory of WAL mode cannot be made. If there is
        // nothing in a write-ahead log, nobody writes and the file alone is the whole truth.
        if matches!(error, StoreError::Open { .. }) && !has_log(path) {
            let uri = format!("file:{}?immutable=1", escape(path));
            let connection =
                Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)
                    .map_err(|source| StoreError::Open { path: path.to_owned(), source })?;
            check(&connection, path, true)?;
            return Ok(connection);
        }
        Err(error)
    })
}

fn has_log(path: &Path) -> bool {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    std::fs::metadata(name).is_ok_and(|log| log.len() > 0)
}

fn escape(path: &Path) -> String {
    path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23")
}

/// Refuses files that are not ours, and those of a schema this program must not touch.
fn check(connection: &Connection, path: &Path, exact: bool) -> Result<(), StoreError> {
    let failed = |source: rusqlite::Error| match source.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => StoreError::Foreign { path: path.to_owned() },
        _ => StoreError::Open { path: path.to_owned(), source },
    };
    connection.busy_timeout(BUSY).map_err(failed)?;
    if !schema::is_ours(connection).map_err(failed)? {
        return Err(StoreError::Foreign { path: path.to_owned() });
    }
    let (found, known) = (schema::version(connection).map_err(failed)?, schema::newest());
    if found > known {
        return Err(StoreError::Newer { path: path.to_owned(), found, known });
    }
    if exact && found < known {
        return Err(StoreError::Older { path: path.to_owned(), found });
    }
    Ok(())
}
