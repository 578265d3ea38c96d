//! Promises about sinks that read a durable queue.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::bus::testing::*;
use crate::event::*;
use crate::id::{Seq, SinkName};
use crate::sink::{BoxError, BoxFuture, DeliverError, Outbox, OutboxRow};

/// A durable queue in memory.
#[derive(Default)]
struct Queue {
    rows: Mutex<Vec<OutboxRow>>,
    committed: Mutex<Seq>,
    changed: Notify,
    broken: Mutex<u32>,
}

impl Queue {
    fn add(&self, count: u64) {
        let mut rows = self.rows.lock().expect("rows");
        let mut committed = self.committed.lock().expect("committed");
        for _ in 0..count {
            committed.0 += 1;
            let event = Arc::new(event(committed.0, "a", essential_body("t")));
            rows.push(OutboxRow { row: committed.0 * 10, event });
        }
        self.changed.notify_waiters();
    }

    fn left(&self) -> Vec<u64> {
        self.rows.lock().expect("rows").iter().map(|row| row.row).collect()
    }
}

impl Outbox for Queue {
    fn pending(
        &self,
        _: &SinkName,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OutboxRow>, BoxError>> {
        let mut broken = self.broken.lock().expect("broken");
        if *broken > 0 {
            *broken -= 1;
            return Box::pin(std::future::ready(Err("store is busy".into())));
        }
        let rows = self.rows.lock().expect("rows");
        let found: Vec<_> =
            rows.iter().filter(|row| row.row > after).take(limit).cloned().collect();
        Box::pin(std::future::ready(Ok(found)))
    }

    fn settle(&self, _: &SinkName, row: u64) -> BoxFuture<'_, Result<(), BoxError>> {
        self.rows.lock().expect("rows").retain(|at| at.row > row);
        Box::pin(std::future::ready(Ok(())))
    }

    fn committed_after(&self, seq: Seq) -> BoxFuture<'_, Seq> {
        Box::pin(async move {
            loop {
                let changed = self.changed.notified();
                let committed = *self.committed.lock().expect("committed");
                if committed > seq {
                    return committed;
                }
                changed.await;
            }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn rows_are_delivered_in_order_and_settled() {
    let bus = bus();
    let (queue, got) = (Arc::new(Queue::default()), Got::default());
    queue.add(100);
    bus.add_durable_sink(setup("sink", willing(&got)), Arc::<Queue>::clone(&queue)).expect("added");
    eventually("old rows", || got.count() == 100).await;
    queue.add(5);
    eventually("new rows", || got.count() == 105).await;
    assert_eq!(got.seqs(), (1..=105).collect::<Vec<_>>());
    eventually("settled", || queue.left().is_empty()).await;
    assert_eq!(bus.stats().lanes[0].delivered, 105);
}

#[tokio::test(start_paused = true)]
async fn a_durable_sink_never_gives_up() {
    let bus = bus();
    let (queue, got) = (Arc::new(Queue::default()), Got::default());
    let start = Instant::now();
    let down = scripted(&got, move |_, batch, got| {
        if start.elapsed() < Duration::from_secs(24 * 3_600) {
            return answer(Err(retry(0)));
        }
        got.take(batch);
        done()
    });
    queue.add(3);
    bus.add_durable_sink(setup("sink", down), Arc::<Queue>::clone(&queue)).expect("added");
    tokio::time::sleep(Duration::from_secs(24 * 3_600)).await;
    assert_eq!(queue.left(), [10, 20, 30]);
    eventually("delivered after a day", || got.count() == 3).await;
    assert_eq!(got.kinds(), ["turn.started"; 3], "no gap");
}

#[tokio::test(start_paused = true)]
async fn only_what_was_taken_or_refused_for_good_is_settled() {
    let bus = bus();
    let (queue, got) = (Arc::new(Queue::default()), Got::default());
    let partly = scripted(&got, |call, batch, got| match call {
        0 => {
            got.take(&batch[..1]);
            answer(Err(DeliverError::Rejected { taken: 1, source: "never".into() }))
        }
        _ => Box::pin(std::future::pending()),
    });
    queue.add(4);
    bus.add_durable_sink(setup("sink", partly), Arc::<Queue>::clone(&queue)).expect("added");
    eventually("partly settled", || queue.left() == [30, 40]).await;
    assert_eq!(bus.stats().lanes[0].rejected, 1);
}

#[tokio::test(start_paused = true)]
async fn what_a_quarantined_sink_did_not_get_is_there_at_the_next_start() {
    let (queue, got) = (Arc::new(Queue::default()), Got::default());
    queue.add(2);
    let first = bus();
    let broken =
        scripted(&Got::default(), |_, _, _| answer(Err(DeliverError::Fatal("broken".into()))));
    first.add_durable_sink(setup("sink", broken), Arc::<Queue>::clone(&queue)).expect("added");
    eventually("quarantined", || first.stats().lanes[0].health == SinkHealth::Quarantined).await;
    first.drain(Duration::from_secs(1)).await;
    let second = bus();
    second
        .add_durable_sink(setup("sink", willing(&got)), Arc::<Queue>::clone(&queue))
        .expect("added");
    eventually("delivered", || got.seqs() == [1, 2]).await;
}

#[tokio::test(start_paused = true)]
async fn a_failing_durable_sink_holds_no_end_up_and_keeps_its_queue() {
    let bus = bus();
    let queue = Arc::new(Queue::default());
    queue.add(2);
    let failing = scripted(&Got::default(), |_, _, _| answer(Err(retry(0))));
    bus.add_durable_sink(setup("sink", failing), Arc::<Queue>::clone(&queue)).expect("added");
    eventually("tried", || bus.stats().lanes[0].retries > 0).await;
    let report = bus.drain(Duration::from_secs(600)).await;
    assert!(report.is_clean() && report.took < Duration::from_secs(60), "{report:?}");
    assert_eq!(queue.left(), [10, 20]);
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_cannot_be_read_is_read_again() {
    let bus = bus();
    let (queue, got) = (Arc::new(Queue::default()), Got::default());
    *queue.broken.lock().expect("broken") = 5;
    queue.add(1);
    bus.add_durable_sink(setup("sink", willing(&got)), Arc::<Queue>::clone(&queue)).expect("added");
    eventually("delivered", || got.count() == 1).await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_durable_sink_ends_when_the_bus_does() {
    let bus = bus();
    let (queue, got) = (Arc::new(Queue::default()), Got::default());
    bus.add_durable_sink(setup("sink", willing(&got)), Arc::<Queue>::clone(&queue)).expect("added");
    tokio::time::sleep(Duration::from_secs(1)).await;
    queue.add(2);
    let report = bus.drain(Duration::from_secs(5)).await;
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(got.count(), 2, "what is committed is delivered first");
}
