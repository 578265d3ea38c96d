//! The queues of durable sinks.
//!
//! Rows are written together with the events they are made of; this is the lanes' end of them.

use std::sync::Arc;

use linelamp_core::id::SinkName;
use linelamp_core::sink::{BoxError, BoxFuture, Outbox, OutboxRow};
use linelamp_core::{Event, Seq};
use rusqlite::params;
use tokio::sync::oneshot;

use super::command::Settle;
use super::error::StoreError;
use super::handle::{Shared, Store};
use super::number::{column, signed};

impl Outbox for Store {
    fn pending(
        &self,
        sink: &SinkName,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OutboxRow>, BoxError>> {
        let (shared, sink) = (Arc::clone(&self.shared), sink.clone());
        Box::pin(async move {
            let rows = tokio::task::spawn_blocking(move || pending(&shared, &sink, after, limit));
            Ok(rows.await??)
        })
    }

    fn settle(&self, sink: &SinkName, row: u64) -> BoxFuture<'_, Result<(), BoxError>> {
        let (done, settled) = oneshot::channel();
        self.shared.queue.settle(Settle { sink: sink.clone(), row, done });
        Box::pin(async move { settled.await.map_err(|_| StoreError::Closed)? })
    }

    fn committed_after(&self, seq: Seq) -> BoxFuture<'_, Seq> {
        let mut committed = self.shared.committed.subscribe();
        Box::pin(async move {
            let newest = match committed.wait_for(|newest| *newest > seq).await {
                Ok(newest) => Some(*newest),
                Err(_) => None,
            };
            match newest {
                Some(newest) => newest,
                // The store is gone: there will be no more rows.
                None => std::future::pending().await,
            }
        })
    }
}

fn pending(
    shared: &Shared,
    sink: &SinkName,
    mut after: u64,
    limit: usize,
) -> Result<Vec<OutboxRow>, StoreError> {
    // A row that cannot be read would otherwise hide all that come after it.
    loop {
        let page = page(shared, sink, after, limit)
            .map_err(|source| StoreError::Read { path: shared.path.clone(), source })?;
        let Some((last, _)) = page.last() else {
            return Ok(Vec::new());
        };
        after = *last;
        let rows: Vec<_> = page
            .into_iter()
            .filter_map(|(row, json)| match Event::from_json(&json) {
                Ok(event) => Some(OutboxRow { row, event: Arc::new(event) }),
                Err(error) => {
                    tracing::error!(%sink, row, %error, "a queued event is not readable, left out");
                    None
                }
            })
            .collect();
        if !rows.is_empty() {
            return Ok(rows);
        }
    }
}

fn page(
    shared: &Shared,
    sink: &SinkName,
    after: u64,
    limit: usize,
) -> rusqlite::Result<Vec<(u64, String)>> {
    shared
        .lookup()
        .prepare_cached(
            "SELECT row, json FROM outbox WHERE sink = ?1 AND row > ?2 ORDER BY row LIMIT ?3",
        )?
        .query_map(params![sink.as_str(), signed(after), signed(limit as u64)], |row| {
            Ok((column(row, 0)?, row.get(1)?))
        })?
        .collect()
}
