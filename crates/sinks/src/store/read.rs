//! Reading beside the daemon, or without it.
//!
//! A reader never waits for the writer and never makes it wait: it reads page by page, each page from
//! one consistent state of the file, and holds nothing between pages, however slowly its caller goes.

use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use linelamp_core::id::AgentName;
use linelamp_core::state::{SessionRecord, SessionState};
use linelamp_core::{Seq, SessionKey, Timestamp};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, params, params_from_iter};
use serde::de::DeserializeOwned;

use super::connection;
use super::error::StoreError;
use super::number::{column, signed};
use super::query::{EventQuery, SessionQuery, StoredEvent};

/// Events read at a time.
const PAGE: usize = 256;

/// A read-only view of the file.
pub struct Reader {
    path: PathBuf,
    connection: Connection,
}

impl Reader {
    /// Opens an existing file, whether or not a daemon has it open.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { path: path.to_owned(), connection: connection::reader(path)? })
    }

    /// The states of the sessions asked for, the one seen last first.
    ///
    /// # Errors
    ///
    /// [`StoreError::Read`] if the file cannot be read.
    pub fn sessions(&self, query: &SessionQuery) -> Result<Vec<SessionState>, StoreError> {
        let ended_since = query.ended_since.map_or(i64::MAX, Timestamp::as_millisecond);
        let agent = query.agent.as_ref().map(AgentName::as_str);
        self.ask(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT state FROM sessions
                 WHERE state IS NOT NULL AND (status <> 'ended' OR last_seen >= ?1)
                     AND (?2 IS NULL OR agent = ?2)
                 ORDER BY last_seen DESC, session DESC",
            )?;
            let mut rows = statement.query(params![ended_since, agent])?;
            let mut states = Vec::new();
            while let Some(row) = rows.next()? {
                states.extend(parse(row.get_ref(0)?.as_str()?));
            }
            Ok(states)
        })
    }

    /// Everything kept of one session.
    ///
    /// # Errors
    ///
    /// [`StoreError::Read`] if the file cannot be read.
    pub fn record(&self, session: &SessionKey) -> Result<Option<SessionRecord>, StoreError> {
        self.ask(|connection| {
            let json: Option<Option<String>> = connection
                .prepare_cached("SELECT record FROM sessions WHERE agent = ?1 AND id = ?2")?
                .query_row(params![session.agent.as_str(), session.id.as_str()], |row| row.get(0))
                .optional()?;
            Ok(json.flatten().and_then(|json| parse(&json)))
        })
    }

    /// The sessions whose native id, or `AGENT:ID`, begins with `text`, the one seen last first.
    ///
    /// # Errors
    ///
    /// [`StoreError::Read`] if the file cannot be read.
    pub fn find(&self, text: &str) -> Result<Vec<SessionKey>, StoreError> {
        self.ask(|connection| {
            connection
                .prepare_cached(
                    "SELECT agent, id FROM sessions
                     WHERE state IS NOT NULL AND (substr(id, 1, length(?1)) = ?1
                         OR substr(agent || ':' || id, 1, length(?1)) = ?1)
                     ORDER BY last_seen DESC, session DESC",
                )?
                .query_map([text], |row| {
                    Ok(SessionKey::new(row.get::<_, String>(0)?, row.get::<_, String>(1)?))
                })?
                .collect()
        })
    }

    /// Hands the events asked for to `each`, in order, until it breaks off.
    ///
    /// # Errors
    ///
    /// [`StoreError::Read`] if the file cannot be read.
    pub fn events(
        &self,
        query: &EventQuery,
        mut each: impl FnMut(StoredEvent) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let mut condition = Condition::new(query);
        let mut after = query.after;
        if let Some(newest) = query.newest {
            after = after.max(self.ask(|connection| condition.start(connection, after, newest))?);
        }
        let mut left = query.limit.unwrap_or(usize::MAX);
        while left > 0 {
            let size = left.min(PAGE);
            let page = self.ask(|connection| condition.page(connection, after, size))?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            left -= page.len();
            let whole = page.len() == size;
            for event in page {
                if each(event).is_break() {
                    return Ok(());
                }
            }
            if !whole {
                break;
            }
        }
        Ok(())
    }

    fn ask<T>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        question(&self.connection)
            .map_err(|source| StoreError::Read { path: self.path.clone(), source })
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Reader").field("path", &self.path).finish_non_exhaustive()
    }
}

/// What another version wrote and this one cannot read is left out, as everywhere.
fn parse<T: DeserializeOwned>(json: &str) -> Option<T> {
    serde_json::from_str(json)
        .inspect_err(|error| tracing::debug!(%error, "a session's record is not readable"))
        .ok()
}

/// A query as SQL. The first parameter is the order number to start after.
struct Condition {
    text: String,
    values: Vec<Value>,
}

impl Condition {
    fn new(query: &EventQuery) -> Self {
        let mut condition = Self { text: "seq > ?1".to_owned(), values: vec![Value::Integer(0)] };
        if let Some(session) = &query.session {
            let agent = condition.bind(Value::Text(session.agent.as_str().to_owned()));
            let id = condition.bind(Value::Text(session.id.as_str().to_owned()));
            condition.and(&format!(
                "session = (SELECT session FROM sessions WHERE agent = {agent} AND id = {id})"
            ));
        }
        if let Some(since) = query.since {
            let since = condition.bind(Value::Integer(since.as_millisecond()));
            condition.and(&format!("observed_at >= {since}"));
        }
        if !query.kinds.is_empty() {
            let kinds: Vec<_> = query
                .kinds
                .iter()
                .map(|kind| format!("kind GLOB {}", condition.bind(Value::Text(kind.clone()))))
                .collect();
            condition.and(&format!("({})", kinds.join(" OR ")));
        }
        condition
    }

    fn bind(&mut self, value: Value) -> String {
        self.values.push(value);
        format!("?{}", self.values.len())
    }

    fn and(&mut self, more: &str) {
        self.text.push_str(" AND ");
        self.text.push_str(more);
    }

    /// Everything that is kept, of both tables, in order.
    fn select(&self, columns: &str, direction: &str, limit: usize) -> String {
        let text = &self.text;
        format!(
            "SELECT {columns} FROM events WHERE {text}
             UNION ALL SELECT {columns} FROM latest WHERE {text}
             ORDER BY seq {direction} LIMIT {limit}"
        )
    }

    /// The number after which the newest `count` stand.
    fn start(
        &mut self,
        connection: &Connection,
        after: Seq,
        count: usize,
    ) -> rusqlite::Result<Seq> {
        self.values[0] = Value::Integer(signed(after.0));
        let sql = format!(
            "SELECT coalesce(min(seq) - 1, {}) FROM ({})",
            i64::MAX,
            self.select("seq", "DESC", count)
        );
        connection.query_row(&sql, params_from_iter(&self.values), |row| column(row, 0)).map(Seq)
    }

    fn page(
        &mut self,
        connection: &Connection,
        after: Seq,
        size: usize,
    ) -> rusqlite::Result<Vec<StoredEvent>> {
        self.values[0] = Value::Integer(signed(after.0));
        connection
            .prepare_cached(&self.select("seq, kind, json", "ASC", size))?
            .query_map(params_from_iter(&self.values), |row| {
                Ok(StoredEvent { seq: Seq(column(row, 0)?), kind: row.get(1)?, json: row.get(2)? })
            })?
            .collect()
    }
}
