//! Promises about going down: in order, in time, whoever is stuck.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::bus::testing::*;
use crate::bus::{Drain, FeedSet, PublishError, SinkSetup};
use crate::event::*;
use crate::feed::{Feed, FeedContext, FeedError};
use crate::sink::{BoxError, BoxFuture, DeliverError, Sink};

const BUDGET: Duration = Duration::from_secs(5);

/// Writes down what happens, in order.
#[derive(Clone, Default)]
struct Diary(Arc<Mutex<Vec<String>>>);

impl Diary {
    fn write(&self, line: impl Into<String>) {
        self.0.lock().expect("diary").push(line.into());
    }

    fn read(&self) -> Vec<String> {
        self.0.lock().expect("diary").clone()
    }
}

/// A sink that writes a diary; its flush may hang.
struct Careful {
    diary: Diary,
    hang: bool,
}

impl Sink for Careful {
    fn deliver<'a>(
        &'a mut self,
        batch: &'a [Arc<Event>],
    ) -> BoxFuture<'a, Result<(), DeliverError>> {
        for event in batch {
            self.diary.write(event.body.kind());
        }
        done()
    }

    fn flush(&mut self, within: Duration) -> BoxFuture<'_, Result<(), BoxError>> {
        assert!(within <= BUDGET);
        self.diary.write("flush");
        if self.hang {
            return Box::pin(std::future::pending());
        }
        Box::pin(std::future::ready(Ok(())))
    }
}

struct Parting(Diary);

impl Feed for Parting {
    fn run(self: Box<Self>, context: FeedContext) -> BoxFuture<'static, Result<(), FeedError>> {
        Box::pin(async move {
            context.cancel.cancelled().await;
            self.0.write("feed stops");
            context.publisher.publish(draft("a", notice_body("bye"))).expect("still open");
            Ok(())
        })
    }
}

struct Stuck;

impl Feed for Stuck {
    fn run(self: Box<Self>, _: FeedContext) -> BoxFuture<'static, Result<(), FeedError>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn everything_goes_down_in_order() {
    let bus = bus();
    let diary = Diary::default();
    let sink = Careful { diary: diary.clone(), hang: false };
    bus.add_sink(SinkSetup::new("sink", sink).needs(greedy())).expect("added");
    let publisher = bus.publisher("feed", Trust::Reported);
    let mut feeds = FeedSet::new();
    feeds.spawn(Box::new(Parting(diary.clone())), bus.publisher("parting", Trust::Reported));
    publisher.publish(draft("a", essential_body("t"))).expect("published");
    let last = diary.clone();
    let end = ended(1, "a").body;
    let drain = Drain::new(BUDGET)
        .announce(&publisher, draft("a", end))
        .feeds(feeds)
        .then("store", Box::pin(async move { last.write("store closes") }));
    let report = bus.drain(drain).await;
    assert!(report.is_clean(), "{report:?}");
    assert!(report.took < BUDGET);
    let lines = diary.read();
    let place = |line: &str| {
        lines.iter().position(|at| at == line).unwrap_or_else(|| panic!("{line}: {lines:?}"))
    };
    assert!(place("turn.started") < place("session.ended"));
    assert!(place("session.ended") < place("notice"), "announced before feeds stop");
    assert!(place("feed stops") < place("flush"));
    assert!(place("notice") < place("flush"), "what feeds said last is delivered");
    assert_eq!(place("store closes"), lines.len() - 1);
    assert_eq!(publisher.publish(draft("a", essential_body("t"))), Err(PublishError::Closed));
}

#[tokio::test(start_paused = true)]
async fn a_sink_that_never_answers_does_not_hold_up_the_end() {
    let bus = bus();
    let got = Got::default();
    bus.add_sink(setup("dead", dead())).expect("added");
    bus.add_sink(setup("live", willing(&got))).expect("added");
    let publisher = bus.publisher("feed", Trust::Reported);
    for _ in 0..3 {
        publisher.publish(draft("a", essential_body("t"))).expect("published");
    }
    let before = Instant::now();
    let report = bus.drain(BUDGET).await;
    assert_eq!(before.elapsed(), BUDGET);
    assert_eq!(report.sinks.len(), 1, "{report:?}");
    let unfinished = &report.sinks[0];
    assert_eq!((unfinished.sink.as_str(), unfinished.pending), ("dead", 3));
    assert_eq!(got.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_flush_that_never_ends_does_not_hold_up_the_end() {
    let bus = bus();
    let diary = Diary::default();
    let sink = Careful { diary: diary.clone(), hang: true };
    bus.add_sink(SinkSetup::new("sink", sink).needs(greedy())).expect("added");
    let before = Instant::now();
    bus.drain(BUDGET).await;
    assert_eq!(before.elapsed(), BUDGET);
    assert_eq!(diary.read(), ["flush"]);
}

#[tokio::test(start_paused = true)]
async fn a_feed_that_does_not_stop_costs_a_fifth_of_the_time() {
    let bus = bus();
    let mut feeds = FeedSet::new();
    feeds.spawn(Box::new(Stuck), bus.publisher("stuck", Trust::Reported));
    let before = Instant::now();
    let report = bus.drain(Drain::new(BUDGET).feeds(feeds)).await;
    assert_eq!(before.elapsed(), BUDGET / 5);
    assert_eq!(report.feeds, ["stuck".into()]);
}

#[tokio::test(start_paused = true)]
async fn last_steps_have_time_left_and_end_with_the_budget() {
    let bus = bus();
    bus.add_sink(setup("dead", dead())).expect("added");
    let publisher = bus.publisher("feed", Trust::Reported);
    publisher.publish(draft("a", essential_body("t"))).expect("published");
    let diary = Diary::default();
    let good = diary.clone();
    let before = Instant::now();
    let drain = Drain::new(BUDGET)
        .then("hangs", Box::pin(std::future::pending()))
        .then("panics", Box::pin(async { panic!("as it does") }))
        .then("works", Box::pin(async move { good.write("done") }));
    let report = bus.drain(drain).await;
    assert_eq!(before.elapsed(), BUDGET);
    assert_eq!(report.steps, ["hangs"]);
    assert_eq!(report.sinks.len(), 1);
    assert_eq!(diary.read(), ["done"], "a stuck sink leaves time for the rest");
}

#[tokio::test(start_paused = true)]
async fn a_second_signal_skips_what_is_left() {
    let bus = bus();
    bus.add_sink(setup("dead", dead())).expect("added");
    let publisher = bus.publisher("feed", Trust::Reported);
    publisher.publish(draft("a", essential_body("t"))).expect("published");
    let mut feeds = FeedSet::new();
    feeds.spawn(Box::new(Stuck), bus.publisher("stuck", Trust::Reported));
    let skip = CancellationToken::new();
    let signal = skip.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        signal.cancel();
    });
    let before = Instant::now();
    let drain =
        Drain::new(BUDGET).feeds(feeds).then("hangs", Box::pin(std::future::pending())).skip(skip);
    let report = bus.drain(drain).await;
    assert_eq!(before.elapsed(), Duration::from_millis(300));
    assert!(report.skipped && !report.is_clean());
    assert_eq!((report.feeds.len(), report.sinks.len(), report.steps.len()), (1, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn on_the_way_out_pieces_are_dropped_and_retries_do_not_wait() {
    let bus = bus();
    let got = Got::default();
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let failing = scripted(&got, move |_, batch, got| {
        if counter.fetch_add(1, Ordering::SeqCst) < 12 {
            let after = Some(Duration::from_secs(600));
            return answer(Err(DeliverError::Retry { taken: 0, after, source: "busy".into() }));
        }
        got.take(batch);
        done()
    });
    bus.add_sink(setup("failing", failing)).expect("added");
    let publisher = bus.publisher("feed", Trust::Reported);
    publisher.publish(draft("a", essential_body("t"))).expect("published");
    eventually("it failed once", || calls.load(Ordering::SeqCst) == 1).await;
    for offset in 0..5 {
        publisher.publish(draft("a", delta_body("m", offset, "x"))).expect("published");
        publisher.publish(draft("b", essential_body("t"))).expect("published");
    }
    let report = bus.drain(BUDGET).await;
    assert!(report.is_clean(), "{report:?}");
    assert!(report.took < Duration::from_secs(2), "{report:?}");
    assert!(!got.kinds().contains(&"message.delta".to_owned()));
    lane(&bus, "failing");
}

#[tokio::test(start_paused = true)]
async fn dropping_the_bus_ends_its_tasks() {
    struct Bell(Arc<AtomicUsize>);
    impl Drop for Bell {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let bell = Bell(Arc::clone(&dropped));
    let bus = bus();
    let sink = scripted(&Got::default(), move |_, _, _| {
        let _ = &bell;
        Box::pin(std::future::pending())
    });
    bus.add_sink(setup("sink", sink)).expect("added");
    let publisher = bus.publisher("feed", Trust::Reported);
    publisher.publish(draft("a", essential_body("t"))).expect("published");
    tokio::time::sleep(Duration::from_millis(50)).await;
    drop(bus);
    eventually("the sink is dropped", || dropped.load(Ordering::SeqCst) == 1).await;
    assert_eq!(publisher.publish(draft("a", essential_body("t"))), Err(PublishError::Closed));
}
