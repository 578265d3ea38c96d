//! Where a lane's batches come from, and what becomes of them: the mailbox, or a durable queue.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::backoff::Backoff;
use super::lane_state::LaneState;
use super::mailbox::Mailbox;
use super::setup::RetryPolicy;
use super::shared::Shared;
use crate::event::{Body, Event};
use crate::id::Seq;
use crate::sink::{Outbox, OutboxRow, SinkNeeds};

/// Events to deliver together.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) events: Vec<Arc<Event>>,
    from: From,
}

#[derive(Debug)]
enum From {
    Mailbox,
    /// What the bus tells this sink alone.
    Notes,
    /// The rows of a durable queue, one for each event.
    Rows(Vec<u64>),
}

/// Gives batches and takes back what became of them.
pub(super) struct Supply {
    shared: Arc<Shared>,
    lane: Arc<LaneState>,
    notes: VecDeque<Arc<Event>>,
    outbox: Option<Cursor>,
}

/// A place in a durable queue.
struct Cursor {
    outbox: Arc<dyn Outbox>,
    after: u64,
    committed: Seq,
    backoff: Backoff,
}

/// A durable queue that has news without any new number is asked again no sooner than this.
const IDLE: Duration = Duration::from_millis(50);

impl Supply {
    pub(super) fn new(
        shared: Arc<Shared>,
        lane: Arc<LaneState>,
        outbox: Option<Arc<dyn Outbox>>,
        retry: &RetryPolicy,
    ) -> Self {
        let outbox = outbox.map(|outbox| Cursor {
            outbox,
            after: 0,
            committed: Seq(0),
            backoff: Backoff::new(retry),
        });
        Self { shared, lane, notes: VecDeque::new(), outbox }
    }

    /// True if what is not delivered now is kept elsewhere.
    pub(super) fn is_durable(&self) -> bool {
        self.outbox.is_some()
    }

    /// Waits for the next batch; none when nothing more will come.
    pub(super) async fn next(&mut self, needs: &SinkNeeds) -> Option<Batch> {
        let limit = needs.max_batch.max(1);
        if let Some(cursor) = &mut self.outbox {
            let rows = cursor.next(&self.lane, limit).await?;
            let view = |row: &OutboxRow| self.lane.detail.apply(&row.event);
            let events = rows.iter().map(view).collect();
            let rows = rows.iter().map(|row| row.row).collect();
            return Some(Batch { events, from: From::Rows(rows) });
        }
        loop {
            if !self.notes.is_empty() {
                let count = self.notes.len().min(limit);
                let events = self.notes.drain(..count).collect();
                return Some(Batch { events, from: From::Notes });
            }
            let lane = &self.lane;
            lane.until(Mailbox::has_news).await;
            self.linger(limit, needs.linger).await;
            self.notes.extend(self.lane.resync(&self.shared));
            if self.notes.is_empty() {
                let mut mailbox = self.lane.mailbox();
                let events = mailbox.pop(limit);
                if !events.is_empty() {
                    return Some(Batch { events, from: From::Mailbox });
                }
                if mailbox.is_closed() {
                    return None;
                }
            }
        }
    }

    /// Gives the batch time to fill.
    async fn linger(&self, limit: usize, linger: Duration) {
        if linger.is_zero() || self.lane.draining.is_cancelled() {
            return;
        }
        let full = self.lane.until(|mailbox| {
            mailbox.len() >= limit || mailbox.lost().is_some() || mailbox.is_closed()
        });
        tokio::select! {
            () = full => {}
            () = tokio::time::sleep(linger) => {}
            () = self.lane.draining.cancelled() => {}
        }
    }

    /// The first `count` events were taken by the sink.
    pub(super) async fn taken(&mut self, batch: &mut Batch, count: usize) {
        if count == 0 {
            return;
        }
        batch.events.drain(..count);
        let number = count as u64;
        match &mut batch.from {
            From::Mailbox => {
                let mut mailbox = self.lane.mailbox();
                mailbox.counts.in_flight -= number;
                mailbox.counts.delivered += number;
            }
            From::Notes => self.lane.mailbox().counts.notes += number,
            From::Rows(rows) => {
                self.lane.mailbox().counts.delivered += number;
                let settled = rows.drain(..count).next_back();
                self.settle(settled).await;
            }
        }
    }

    /// The sink will never take the first event.
    pub(super) async fn rejected(&mut self, batch: &mut Batch) {
        batch.events.drain(..1);
        self.lane.mailbox().counts.rejected += 1;
        match &mut batch.from {
            From::Mailbox => {
                let mut mailbox = self.lane.mailbox();
                mailbox.counts.in_flight -= 1;
                mailbox.counts.dropped.rejected += 1;
            }
            From::Notes => {}
            From::Rows(rows) => {
                let settled = rows.drain(..1).next_back();
                self.settle(settled).await;
            }
        }
    }

    /// The batch failed for too long. The sink is told next what it misses.
    pub(super) fn give_up(&mut self, batch: &Batch) {
        match &batch.from {
            From::Mailbox => {
                {
                    let mut mailbox = self.lane.mailbox();
                    mailbox.counts.in_flight -= batch.events.len() as u64;
                    mailbox.counts.dropped.gave_up += batch.events.len() as u64;
                }
                if batch.events.iter().any(|event| event.body.is_essential()) {
                    self.notes.extend(self.lane.gave_up(&self.shared, &batch.events));
                }
            }
            From::Notes => {
                // The sink does not even know that it misses something: all of it is told anew.
                let first = batch.events.iter().chain(&self.notes).map(|event| match &event.body {
                    Body::BusGap(gap) => gap.first_seq,
                    Body::BusSnapshot(snapshot) => snapshot.upto,
                    _ => event.seq,
                });
                if let Some(first) = first.min() {
                    let reason = crate::event::GapReason::GaveUp;
                    self.lane.mailbox().lose(first, reason);
                }
                self.notes.clear();
            }
            // Kept where they are: the next start finds them.
            From::Rows(_) => {}
        }
    }

    /// The sink is quarantined: nothing is delivered any more.
    pub(super) fn abandon(&mut self, batch: &Batch) {
        let mut mailbox = self.lane.mailbox();
        if matches!(batch.from, From::Mailbox) {
            mailbox.counts.in_flight -= batch.events.len() as u64;
            mailbox.counts.dropped.quarantined += batch.events.len() as u64;
        }
        mailbox.kill();
    }

    /// Removes rows from the durable queue. If that fails, the next settled row removes these as well;
    /// at worst they are delivered once more after a restart.
    async fn settle(&mut self, row: Option<u64>) {
        let (Some(cursor), Some(row)) = (&mut self.outbox, row) else { return };
        if let Err(error) = cursor.outbox.settle(&self.lane.name, row).await {
            tracing::warn!(sink = %self.lane.name, "delivered rows are not settled: {error}");
        }
    }
}

impl Cursor {
    async fn next(&mut self, lane: &LaneState, limit: usize) -> Option<Vec<OutboxRow>> {
        loop {
            match self.outbox.pending(&lane.name, self.after, limit).await {
                Ok(rows) => {
                    self.backoff.reset();
                    if let Some(last) = rows.last() {
                        self.after = last.row;
                        return Some(rows);
                    }
                    if lane.draining.is_cancelled() {
                        return None;
                    }
                    self.wait(lane).await;
                }
                Err(error) => {
                    tracing::warn!(sink = %lane.name, "durable queue cannot be read: {error}");
                    let pause = self.backoff.next();
                    tokio::select! {
                        () = tokio::time::sleep(pause) => {}
                        () = lane.draining.cancelled() => return None,
                    }
                }
            }
        }
    }

    async fn wait(&mut self, lane: &LaneState) {
        let committed = tokio::select! {
            committed = self.outbox.committed_after(self.committed) => committed,
            () = lane.draining.cancelled() => return,
        };
        if committed <= self.committed {
            tokio::time::sleep(IDLE).await;
        }
        self.committed = self.committed.max(committed);
    }
}
