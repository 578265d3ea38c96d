//! The sink around the file.

use std::sync::{Arc, Mutex, PoisonError};

use linelamp_core::Event;
use linelamp_core::detail::Detail;
use linelamp_core::sink::{BoxFuture, DeliverError, Sink, SinkNeeds};

use super::file::Rotated;

/// Appends events to a file. Writing blocks, so it happens on a thread for that; the lock keeps a
/// delivery that was given up from mixing its lines into the next one.
#[derive(Debug)]
pub(super) struct Jsonl {
    file: Arc<Mutex<Rotated>>,
    deltas: bool,
}

impl Jsonl {
    pub(super) fn new(file: Rotated, deltas: bool) -> Self {
        Self { file: Arc::new(Mutex::new(file)), deltas }
    }
}

impl Sink for Jsonl {
    fn deliver<'a>(
        &'a mut self,
        batch: &'a [Arc<Event>],
    ) -> BoxFuture<'a, Result<(), DeliverError>> {
        let file = Arc::clone(&self.file);
        let events = batch.to_vec();
        Box::pin(async move {
            let written = tokio::task::spawn_blocking(move || {
                let lines: Vec<_> = events.iter().map(|event| event.to_json()).collect();
                file.lock().unwrap_or_else(PoisonError::into_inner).append(&lines)
            });
            match written.await {
                Ok(Ok(())) => Ok(()),
                Ok(Err((taken, error))) => {
                    Err(DeliverError::Retry { taken, after: None, source: error.into() })
                }
                Err(error) => Err(DeliverError::Fatal(error.into())),
            }
        })
    }

    fn needs(&self) -> SinkNeeds {
        SinkNeeds {
            deltas: self.deltas,
            detail: Detail::Content,
            max_batch: 256,
            ..SinkNeeds::default()
        }
    }
}
