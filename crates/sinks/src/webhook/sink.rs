//! The sink around the requests.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use linelamp_core::Event;
use linelamp_core::detail::Detail;
use linelamp_core::sink::{BoxFuture, DeliverError, Sink, SinkNeeds};

use super::request::{Answer, Requests};

/// How many events one batch holds. They are still one request each: a batch only saves the lane's
/// own work.
const BATCH: u32 = 8;

/// Posts events, one after the other, in order.
#[derive(Debug)]
pub(super) struct Webhook {
    requests: Requests,
    timeout: Duration,
    deltas: bool,
}

impl Webhook {
    pub(super) fn new(requests: Requests, timeout: Duration, deltas: bool) -> Self {
        Self { requests, timeout, deltas }
    }
}

impl Sink for Webhook {
    fn deliver<'a>(
        &'a mut self,
        batch: &'a [Arc<Event>],
    ) -> BoxFuture<'a, Result<(), DeliverError>> {
        Box::pin(async move {
            for (taken, event) in batch.iter().enumerate() {
                match self.requests.send(event, Timestamp::now()).await {
                    Answer::Delivered => {}
                    Answer::Later { after, why } => {
                        return Err(DeliverError::Retry { taken, after, source: why.into() });
                    }
                    Answer::Never { why } => {
                        return Err(DeliverError::Rejected { taken, source: why.into() });
                    }
                }
            }
            Ok(())
        })
    }

    fn needs(&self) -> SinkNeeds {
        SinkNeeds {
            deltas: self.deltas,
            detail: Detail::Content,
            max_batch: BATCH as usize,
            linger: Duration::ZERO,
            // Each request has its own limit; this one only catches what no limit caught.
            deliver_limit: self.timeout * BATCH + Duration::from_secs(5),
        }
    }
}
