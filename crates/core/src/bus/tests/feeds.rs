//! Promises to feeds: what is durable, when to wait, how they are stopped.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::bus::testing::*;
use crate::bus::{Bus, FeedSet};
use crate::event::{Status, Trust};
use crate::feed::{Feed, FeedContext, FeedError};
use crate::id::Seq;
use crate::journal::{Committed, Cursor, Entry, Input, Journal, Position};
use crate::sink::BoxFuture;
use crate::state::{Resolver, SessionRecord};

/// A journal that commits when it is told to.
#[derive(Default)]
struct Book(Mutex<Vec<Entry>>);

impl Journal for Book {
    fn append(&self, entry: Entry) {
        self.0.lock().expect("entries").push(entry);
    }
}

impl Book {
    fn commit_all(&self) {
        for entry in &mut *self.0.lock().expect("entries") {
            if let Some(Committed(tell)) = entry.committed.take() {
                tell();
            }
        }
    }

    fn with<T>(&self, look: impl FnOnce(&[Entry]) -> T) -> T {
        look(&self.0.lock().expect("entries"))
    }
}

fn booked() -> (Bus, Arc<Book>) {
    let book = Arc::new(Book::default());
    (builder().journal(Arc::<Book>::clone(&book)).build(), book)
}

fn told() -> (Arc<AtomicUsize>, Option<Committed>) {
    let count = Arc::new(AtomicUsize::new(0));
    let clone = Arc::clone(&count);
    let tell = move || {
        clone.fetch_add(1, Ordering::SeqCst);
    };
    (count, Some(Committed(Box::new(tell))))
}

#[test]
fn the_journal_gets_each_input_whole_with_its_position_and_in_order() {
    let (bus, book) = booked();
    let publisher = bus.publisher("feed", Trust::Reported);
    let position = Position::new("hook/1");
    let drafts = vec![draft("a", essential_body("t")), draft("b", essential_body("t"))];
    publisher.publish_all(Some(position.clone().into()), drafts, None).expect("open");
    publisher.publish(draft("a", essential_body("t"))).expect("published");
    bus.tick(start());
    book.with(|entries| {
        let numbers: Vec<Vec<u64>> = entries
            .iter()
            .map(|entry| entry.events.iter().map(|event| event.seq.0).collect())
            .collect();
        assert_eq!(numbers, [vec![1, 2], vec![3], vec![4, 5]]);
        assert_eq!(entries[0].input, Some(position.into()));
        assert_eq!(entries[1].input, None);
        let next: Vec<_> = entries.iter().map(|entry| entry.next_seq).collect();
        assert_eq!(next, [Seq(3), Seq(4), Seq(6)]);
    });
}

#[test]
fn the_journal_gets_how_far_a_source_was_read_even_if_nothing_came_of_it() {
    let (bus, book) = booked();
    let publisher = bus.publisher("feed", Trust::Inferred);
    for value in ["10", "20"] {
        let cursor = Cursor::new("transcript/a", value);
        publisher.publish_all(Some(cursor.into()), Vec::new(), None).expect("open");
    }
    book.with(|entries| {
        let read: Vec<_> = entries.iter().map(|entry| entry.input.clone()).collect();
        let at = |value| Some(Input::Cursor(Cursor::new("transcript/a", value)));
        assert_eq!(read, [at("10"), at("20")]);
    });
}

#[test]
fn an_input_that_only_confirms_is_known_to_the_journal_as_well() {
    let (bus, book) = booked();
    let publisher = bus.publisher("feed", Trust::Reported);
    let position = Position::new("hook/1");
    let drafts = vec![draft("a", notice_body("seen"))];
    publisher.publish_all(Some(position.clone().into()), drafts, None).expect("open");
    book.with(|entries| {
        assert_eq!((entries.len(), entries[0].events.len()), (1, 0));
        assert_eq!(entries[0].input, Some(position.into()));
        assert_eq!(entries[0].next_seq, Seq(1), "no number was given away");
    });
}

#[test]
fn a_source_is_told_when_its_input_is_durable_and_not_before() {
    let (bus, book) = booked();
    let (count, committed) = told();
    let publisher = bus.publisher("feed", Trust::Reported);
    publisher.publish_all(None, vec![draft("a", essential_body("t"))], committed).expect("open");
    assert_eq!((count.load(Ordering::SeqCst), bus.stats().uncommitted), (0, 1));
    book.commit_all();
    assert_eq!((count.load(Ordering::SeqCst), bus.stats().uncommitted), (1, 0));
}

#[test]
fn without_a_journal_a_source_is_told_when_its_input_is_published() {
    let (count, committed) = told();
    bus().publisher("feed", Trust::Reported).publish_all(None, vec![], committed).expect("open");
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn feeds_wait_for_a_journal_that_is_behind_and_publishing_does_not() {
    let (bus, book) = booked();
    let publisher = bus.publisher("feed", Trust::Reported);
    let before = Instant::now();
    for _ in 0..2_047 {
        publisher.publish(draft("a", essential_body("t"))).expect("published");
    }
    publisher.ready().await;
    publisher.publish(draft("a", essential_body("t"))).expect("published");
    assert_eq!(before.elapsed(), Duration::ZERO);
    let ready = Arc::new(AtomicBool::new(false));
    let (waiting, clone) = (Arc::clone(&ready), publisher.clone());
    let task = tokio::spawn(async move {
        clone.ready().await;
        waiting.store(true, Ordering::SeqCst);
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!ready.load(Ordering::SeqCst), "2,048 events are not durable yet");
    publisher.publish(draft("a", essential_body("t"))).expect("publishing never waits");
    book.commit_all();
    task.await.expect("ready");
    assert_eq!(before.elapsed(), Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_stands_still_holds_feeds_up_for_two_seconds_at_most() {
    let (bus, _book) = booked();
    let publisher = bus.publisher("feed", Trust::Reported);
    // The bus may have been quiet for long before.
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    for _ in 0..3_000 {
        publisher.publish(draft("a", essential_body("t"))).expect("published");
    }
    let before = Instant::now();
    publisher.ready().await;
    assert_eq!(before.elapsed(), Duration::from_secs(2));
    publisher.ready().await;
    assert_eq!(before.elapsed(), Duration::from_secs(2), "intake goes on live");
}

#[tokio::test(start_paused = true)]
async fn an_entry_the_journal_drops_or_dies_of_holds_nobody_up() {
    struct Sieve(AtomicUsize);
    impl Journal for Sieve {
        fn append(&self, entry: Entry) {
            let count = self.0.fetch_add(1, Ordering::SeqCst);
            assert!(count.is_multiple_of(2), "every other one kills it");
            drop(entry);
        }
    }
    let bus = builder().journal(Arc::new(Sieve(AtomicUsize::new(0)))).build();
    let publisher = bus.publisher("feed", Trust::Reported);
    for _ in 0..10 {
        publisher.publish(draft("a", essential_body("t"))).expect("published");
    }
    assert_eq!(bus.stats().uncommitted, 0);
}

/// A feed that does what the closure does.
struct Does<F>(F);

impl<F> Feed for Does<F>
where
    F: FnOnce(FeedContext) -> BoxFuture<'static, Result<(), FeedError>> + Send,
{
    fn run(self: Box<Self>, context: FeedContext) -> BoxFuture<'static, Result<(), FeedError>> {
        (self.0)(context)
    }
}

#[tokio::test(start_paused = true)]
async fn feeds_stop_when_told_and_those_that_do_not_are_aborted() {
    let bus = bus();
    let mut feeds = FeedSet::new();
    let polite = Does(|context: FeedContext| {
        Box::pin(async move {
            context.cancel.cancelled().await;
            context.publisher.publish(draft("a", essential_body("bye"))).expect("still open");
            Ok(())
        }) as BoxFuture<'static, _>
    });
    let stuck = Does(|_| Box::pin(std::future::pending()) as BoxFuture<'static, _>);
    let mad = Does(|_| -> BoxFuture<'static, _> { panic!("mad") });
    feeds.spawn(Box::new(polite), bus.publisher("polite", Trust::Reported));
    feeds.spawn(Box::new(stuck), bus.publisher("stuck", Trust::Reported));
    feeds.spawn(Box::new(mad), bus.publisher("mad", Trust::Reported));
    let before = Instant::now();
    let end = before + Duration::from_secs(1);
    let unfinished = feeds.stop(end, &CancellationToken::new()).await;
    assert_eq!(unfinished, ["stuck".into()]);
    assert_eq!(before.elapsed(), Duration::from_secs(1));
    assert_eq!(bus.stats().published, 1);
}

/// A bus with the real resolver behind it.
fn resolving() -> (Bus, Arc<Book>) {
    let book = Arc::new(Book::default());
    let bus = Bus::builder().clock(StillClock::new()).journal(Arc::<Book>::clone(&book));
    (bus.build(), book)
}

#[test]
fn the_journal_gets_the_evidence_of_the_sessions_an_input_touched() {
    let (bus, book) = resolving();
    let publisher = bus.publisher("feed", Trust::Authoritative);
    let drafts = ["a", "b", "a"].map(|id| draft(id, essential_body("t"))).to_vec();
    publisher.publish_all(None, drafts, None).expect("open");
    publisher.publish(draft("a", delta_body("m", 0, "piece"))).expect("published");
    book.with(|entries| {
        let names: Vec<Vec<&str>> = entries
            .iter()
            .map(|entry| entry.sessions.iter().map(|at| at.state.session.id.as_str()).collect())
            .collect();
        assert_eq!(names[0], ["a", "b"]);
        assert_eq!(names[1], [""; 0], "a piece brings none");
        for pair in entries.windows(2) {
            assert!(pair[0].next_seq < pair[1].next_seq, "numbers given to pieces are told");
        }
    });
}

#[test]
fn the_state_of_a_session_can_be_asked_for_and_explained() {
    let (bus, _book) = resolving();
    let publisher = bus.publisher("feed", Trust::Authoritative);
    assert_eq!(bus.session(&session("a")), None);
    publisher.publish(draft("a", essential_body("t"))).expect("published");
    let state = bus.session(&session("a")).expect("known now");
    assert_eq!((state.status, &bus.snapshot()[0]), (Status::Working, &state));
    assert!(bus.explain(&session("a")).is_some());
    assert!(bus.explain(&session("b")).is_none());
}

#[test]
fn a_restart_goes_on_where_the_numbers_ended() {
    let (bus, book) = resolving();
    bus.publisher("feed", Trust::Authoritative)
        .publish(draft("a", essential_body("t")))
        .expect("published");
    let (records, next) = book.with(|entries| {
        let entry = entries.last().expect("an entry");
        let records: Vec<_> =
            entry.sessions.iter().map(|record| SessionRecord::clone(record)).collect();
        (records, entry.next_seq)
    });
    let resolver = Resolver::restore(next, records);
    let again = Bus::builder().restore(resolver, next).build();
    assert_eq!(again.subscribe().upto, Seq(next.0 - 1));
    assert_eq!(again.snapshot(), bus.snapshot());
    let answer = again
        .publisher("feed", Trust::Authoritative)
        .publish(draft("b", essential_body("t")))
        .expect("published");
    assert!(answer.seq() >= next);
}
