//! The delivery task of one sink: batches, time limits, retries, rebuilding, quarantine.
//!
//! Whatever the sink does, never answer, fail for ever, panic, stays here: other lanes and the publisher
//! do not notice. A sink must not block the thread, though; one that has to waits on a thread of its own.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::backoff::Backoff;
use super::guard::{contain, contain_future};
use super::lane_state::LaneState;
use super::setup::{Rebuild, RetryPolicy};
use super::shared::Shared;
use super::supply::{Batch, Supply};
use crate::event::SinkHealth;
use crate::sink::{DeliverError, Sink, SinkNeeds};

/// The longest wait a sink may ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(3_600);
/// Time to flush where no deadline was set.
const FLUSH: Duration = Duration::from_secs(5);

/// A sink with everything its delivery needs.
pub(super) struct Lane {
    pub(super) shared: Arc<Shared>,
    pub(super) state: Arc<LaneState>,
    pub(super) supply: Supply,
    pub(super) sink: Option<Box<dyn Sink>>,
    pub(super) rebuild: Option<Rebuild>,
    pub(super) needs: SinkNeeds,
    pub(super) retry: RetryPolicy,
    /// Rebuilds since the last delivery that went well.
    pub(super) rebuilds: u32,
    /// The sink asked not to be called before.
    pub(super) not_before: Option<Instant>,
}

/// How one call of the sink ended.
enum Outcome {
    Done,
    Retry { taken: usize, after: Option<Duration>, health: SinkHealth, error: String },
    Rejected { taken: usize, error: String },
    Broken(String),
}

/// How a batch ended.
enum Fate {
    Settled,
    /// It is safe in its queue and is left for the next start.
    Left,
    Quarantined,
}

impl Lane {
    /// Delivers until nothing more will come, then flushes.
    pub(super) async fn run(mut self) {
        while let Some(batch) = self.supply.next(&self.needs).await {
            match self.deliver(batch).await {
                Fate::Settled => {}
                Fate::Left => break,
                Fate::Quarantined => return,
            }
        }
        self.flush().await;
        self.discard();
    }

    async fn deliver(&mut self, mut batch: Batch) -> Fate {
        let mut backoff = Backoff::new(&self.retry);
        let mut since = Instant::now();
        while !batch.events.is_empty() {
            if let Some(time) = self.not_before.take() {
                self.state.pause(time.saturating_duration_since(Instant::now())).await;
            }
            let before = batch.events.len();
            match self.attempt(&batch).await {
                Outcome::Done => {
                    self.supply.taken(&mut batch, before).await;
                    self.rebuilds = 0;
                }
                Outcome::Rejected { taken, error } => {
                    self.supply.taken(&mut batch, taken.min(before - 1)).await;
                    tracing::warn!(sink = %self.state.name, "event rejected: {error}");
                    self.supply.rejected(&mut batch).await;
                }
                Outcome::Retry { taken, after, health, error } => {
                    self.supply.taken(&mut batch, taken.min(before)).await;
                    let kind = if health == SinkHealth::Stalled { "timed out" } else { "failed" };
                    self.state.failed(&self.shared, health, kind, &error);
                    self.state.mailbox().counts.retries += 1;
                    if self.supply.is_durable() && self.state.draining.is_cancelled() {
                        tracing::info!(sink = %self.state.name, "the rest is delivered after the next start");
                        return Fate::Left;
                    }
                    let wait = after.unwrap_or_default().min(LONGEST_ASKED).max(backoff.next());
                    self.not_before = Some(Instant::now() + wait);
                    let progress = batch.events.len() < before;
                    let spent = if progress { wait } else { since.elapsed() + wait };
                    if spent >= self.retry.give_up && !self.supply.is_durable() {
                        tracing::warn!(sink = %self.state.name, "batch given up: {error}");
                        self.supply.give_up(&batch);
                        return Fate::Settled;
                    }
                }
                Outcome::Broken(error) => {
                    if !self.renew(error, &mut backoff).await {
                        self.supply.abandon(&batch);
                        self.discard();
                        return Fate::Quarantined;
                    }
                }
            }
            if batch.events.len() < before {
                backoff.reset();
                since = Instant::now();
            }
        }
        self.state.succeeded(&self.shared);
        Fate::Settled
    }

    /// Calls the sink once.
    async fn attempt(&mut self, batch: &Batch) -> Outcome {
        let Some(sink) = &mut self.sink else {
            return Outcome::Broken("there is no sink".to_owned());
        };
        let start = Instant::now();
        let limit = self.needs.deliver_limit;
        let call = contain_future(|| sink.deliver(&batch.events));
        match tokio::time::timeout(limit, call).await {
            Ok(Ok(Ok(()))) => {
                let mut mailbox = self.state.mailbox();
                mailbox.counts.deliveries += 1;
                mailbox.counts.delivery_time += start.elapsed();
                Outcome::Done
            }
            Ok(Ok(Err(DeliverError::Retry { taken, after, source }))) => Outcome::Retry {
                taken,
                after,
                health: SinkHealth::Retrying,
                error: source.to_string(),
            },
            Ok(Ok(Err(DeliverError::Rejected { taken, source }))) => {
                Outcome::Rejected { taken, error: source.to_string() }
            }
            Ok(Ok(Err(DeliverError::Fatal(source)))) => Outcome::Broken(source.to_string()),
            Ok(Err(panic)) => Outcome::Broken(panic),
            Err(_) => Outcome::Retry {
                taken: 0,
                after: None,
                health: SinkHealth::Stalled,
                error: format!("no answer within {limit:?}"),
            },
        }
    }

    /// Builds the sink anew; false if it is to be quarantined.
    async fn renew(&mut self, mut error: String, backoff: &mut Backoff) -> bool {
        self.discard();
        while self.rebuilds < self.retry.rebuilds
            && let Some(rebuild) = &self.rebuild
        {
            self.state.failed(&self.shared, SinkHealth::Retrying, "broken", &error);
            let wait = backoff.next();
            self.state.pause(wait).await;
            self.rebuilds += 1;
            self.state.mailbox().counts.rebuilds += 1;
            match rebuild.build() {
                Ok(sink) => {
                    self.sink = Some(sink);
                    return true;
                }
                Err(problem) => error = problem.to_string(),
            }
        }
        self.state.failed(&self.shared, SinkHealth::Quarantined, "quarantined", &error);
        false
    }

    async fn flush(&mut self) {
        let Some(sink) = &mut self.sink else { return };
        let now = Instant::now();
        let rest = self.state.deadline.get().map_or(FLUSH, |end| end.duration_since(now));
        let call = contain_future(|| sink.flush(rest));
        let problem = match tokio::time::timeout(rest, call).await {
            Ok(Ok(Ok(()))) => return,
            Ok(Ok(Err(error))) => error.to_string(),
            Ok(Err(panic)) => panic,
            Err(_) => format!("no answer within {rest:?}"),
        };
        tracing::warn!(sink = %self.state.name, "flush failed: {problem}");
    }

    /// Drops the sink, whose own code runs then.
    fn discard(&mut self) {
        let sink = self.sink.take();
        if let Err(panic) = contain(move || drop(sink)) {
            tracing::warn!(sink = %self.state.name, "sink {panic} while it was dropped");
        }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        // Also when the task is aborted.
        self.discard();
    }
}
