//! Promises about publishing and subscribing.

use std::collections::HashMap;
use std::future::Future as _;
use std::sync::Arc;
use std::time::Duration;

use crate::bus::testing::*;
use crate::bus::{Bus, PublishError, Rate, Update};
use crate::event::*;
use crate::id::Seq;
use crate::state::Answer;

#[tokio::test(start_paused = true)]
async fn a_sink_sees_all_events_in_the_order_of_the_bus() {
    let bus = bus();
    let got = Got::default();
    bus.add_sink(setup("sink", willing(&got))).expect("added");
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let publisher = bus.publisher(format!("feed-{thread}"), Trust::Reported);
            std::thread::spawn(move || {
                for _ in 0..200 {
                    publisher
                        .publish(draft(&format!("s{thread}"), essential_body("working")))
                        .expect("published");
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("joined");
    }
    eventually("all delivered", || got.count() == 800).await;
    assert_eq!(got.seqs(), (1..=800).collect::<Vec<_>>());
    let mut per_session: HashMap<_, Vec<u64>> = HashMap::new();
    for event in got.events() {
        per_session.entry(event.session.clone()).or_default().push(event.session_seq);
    }
    for numbers in per_session.into_values() {
        assert_eq!(numbers, (1..=200).collect::<Vec<_>>());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscriber_misses_nothing_and_sees_nothing_twice() {
    let bus = bus();
    let publisher = bus.publisher("feed", Trust::Reported);
    let writer = std::thread::spawn(move || {
        for number in 0..2_000 {
            // The engine makes this the session's state: how many events went before.
            let name = format!("s{}", number % 7);
            publisher.publish(draft(&name, essential_body("working"))).expect("published");
        }
    });
    for _ in 0..20 {
        let mut subscription = bus.subscribe();
        let mut next = subscription.upto.0 + 1;
        while next <= (subscription.upto.0 + 50).min(2_000) {
            match subscription.recv().await.expect("open") {
                Update::Event(event) => {
                    assert_eq!(event.seq, Seq(next));
                    next += 1;
                }
                Update::Resync { upto, missed, .. } => {
                    assert_eq!(upto.0 + 1 - next, missed);
                    next = upto.0 + 1;
                }
            }
        }
    }
    writer.join().expect("joined");
}

#[tokio::test]
async fn a_subscriber_that_was_lapped_gets_the_state_and_goes_on() {
    let bus = builder().ring(4).build();
    let publisher = bus.publisher("feed", Trust::Reported);
    let mut subscription = bus.subscribe();
    for _ in 0..10 {
        publisher.publish(draft("a", essential_body("working"))).expect("published");
    }
    let Some(Update::Resync { snapshot, upto, missed }) = subscription.recv().await else {
        panic!("lapped subscribers are told")
    };
    assert_eq!((snapshot.len(), upto, missed), (1, Seq(10), 10));
    publisher.publish(draft("a", essential_body("idle"))).expect("published");
    let Some(Update::Event(event)) = subscription.recv().await else { panic!("an event") };
    assert_eq!(event.seq, Seq(11));
    bus.close();
    assert_eq!(subscription.recv().await, None);
}

#[test]
fn publishing_needs_no_runtime_and_answers_what_became_of_the_draft() {
    let bus = bus();
    let publisher = bus.publisher("feed", Trust::Reported);
    assert_eq!(publisher.publish(draft("a", essential_body("t"))), Ok(Answer::New(Seq(1))));
    assert_eq!(publisher.publish(draft("a", notice_body("seen"))), Ok(Answer::Confirms(Seq(1))));
    bus.close();
    assert_eq!(publisher.publish(draft("a", essential_body("t"))), Err(PublishError::Closed));
    assert_eq!(publisher.publish_all(None, vec![], None), Err(PublishError::Closed));
    let feed = &bus.stats().feeds[0];
    assert_eq!((feed.published, feed.confirmed), (1, 1));
}

#[test]
fn a_feed_over_its_rate_is_refused_what_is_not_essential() {
    let clock = StillClock::new();
    let bus = Bus::builder()
        .engine(Box::new(Echo::default()))
        .clock(clock.clone())
        .feed_rate(Rate { per_second: 10.0, burst: 5.0 })
        .build();
    let publisher = bus.publisher("feed", Trust::Reported);
    let notice = || publisher.publish(draft("a", notice_body("x")));
    assert_eq!((0..9).filter(|_| notice().is_ok()).count(), 5);
    assert_eq!(notice(), Err(PublishError::OverRate));
    for _ in 0..100 {
        publisher.publish(draft("a", essential_body("t"))).expect("essential events pass");
    }
    let other = bus.publisher("other", Trust::Reported);
    other.publish(draft("a", notice_body("x"))).expect("each feed has its own rate");
    clock.advance(Duration::from_millis(150));
    notice().expect("time gives tokens");
    assert_eq!(bus.stats().feeds[0].over_rate, 5);
}

#[test]
fn an_invalid_draft_is_counted_and_the_feed_goes_on() {
    let bus = bus();
    let publisher = bus.publisher("feed", Trust::Reported);
    let mut nameless = draft("a", essential_body("t"));
    nameless.session.agent = "".into();
    let mut wrong_size = draft("a", delta_body("m", 0, "text"));
    if let Body::MessageDelta(delta) = &mut wrong_size.body {
        delta.text.size = 99;
    }
    let claim = draft("a", status_body(Status::Idle));
    let gap = BusGap { first_seq: Seq(1), last_seq: Seq(2), reason: GapReason::Overflow };
    let unknown = Body::Unknown { kind: "bus.other".to_owned(), data: serde_json::Value::Null };
    let bad = [
        nameless,
        wrong_size,
        claim,
        draft("", essential_body("t")),
        draft("line\nend", essential_body("t")),
        draft("a", gap),
        draft("a", unknown),
        draft("a", delta_body("m", u64::MAX, "text")),
    ];
    let count = bad.len() as u64;
    for draft in bad {
        let answer = publisher.publish(draft.clone());
        assert!(matches!(answer, Err(PublishError::Invalid(_))), "{draft:?}: {answer:?}");
    }
    publisher.publish(draft("a", essential_body("t"))).expect("the feed goes on");
    let stats = bus.stats();
    assert_eq!((stats.feeds[0].invalid, stats.published), (count, 1));
}

#[test]
fn a_panic_in_the_resolver_costs_one_draft() {
    let bus = bus();
    let publisher = bus.publisher("feed", Trust::Reported);
    let answer = publisher.publish(draft("a", notice_body("panic")));
    assert!(matches!(answer, Err(PublishError::Invalid(_))), "{answer:?}");
    publisher.publish(draft("a", essential_body("t"))).expect("the bus lives on");
    assert_eq!(bus.snapshot().len(), 1);
}

#[test]
fn a_source_whose_clock_runs_ahead_does_not_reach_the_future() {
    let clock = StillClock::new();
    let bus = builder().clock(clock).build();
    let mut subscription = bus.subscribe();
    let mut ahead = draft("a", essential_body("t"));
    ahead.at = start() + Duration::from_secs(3_600);
    bus.publisher("feed", Trust::Reported).publish(ahead).expect("published");
    let mut next = Box::pin(subscription.recv());
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(Some(Update::Event(event))) = next.as_mut().poll(&mut context)
    else {
        panic!("an event is there")
    };
    assert_eq!((event.at, event.observed_at), (start(), start()));
}

#[tokio::test(start_paused = true)]
async fn what_time_changes_is_published_too() {
    let bus = bus();
    let got = Got::default();
    bus.add_sink(setup("sink", willing(&got))).expect("added");
    bus.publisher("feed", Trust::Reported)
        .publish(draft("a", essential_body("t")))
        .expect("published");
    bus.tick(start());
    eventually("both", || got.count() == 2).await;
    assert_eq!(got.kinds(), ["turn.started", "status.changed"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_drafts_of_one_input_stand_together() {
    let bus = bus();
    let got = Got::default();
    bus.add_sink(setup("sink", willing(&got))).expect("added");
    let threads: Vec<_> = (0..3)
        .map(|thread| {
            let publisher = bus.publisher(format!("feed-{thread}"), Trust::Reported);
            std::thread::spawn(move || {
                for _ in 0..50 {
                    let drafts = vec![draft(&format!("s{thread}"), essential_body("t")); 5];
                    publisher.publish_all(None, drafts, None).expect("published");
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("joined");
    }
    bus.drain(Duration::from_secs(30)).await;
    let events = got.events();
    assert_eq!(events.len(), 750);
    for input in events.chunks(5) {
        assert!(input.iter().all(|event| event.session == input[0].session));
    }
}

#[test]
fn invalid_drafts_of_an_input_are_left_out_and_the_rest_stands() {
    let bus = bus();
    let publisher = bus.publisher("feed", Trust::Reported);
    let drafts = vec![
        draft("a", essential_body("t")),
        draft("a", status_body(Status::Idle)),
        draft("a", essential_body("t")),
    ];
    let answers = publisher.publish_all(None, drafts, None).expect("open");
    assert_eq!(answers[0], Ok(Answer::New(Seq(1))));
    assert!(matches!(answers[1], Err(PublishError::Invalid(_))));
    assert_eq!(answers[2], Ok(Answer::New(Seq(2))));
}

#[test]
fn an_input_is_never_cut_by_the_rate() {
    let bus = Bus::builder()
        .engine(Box::new(Echo::default()))
        .clock(StillClock::new())
        .feed_rate(Rate { per_second: 1.0, burst: 2.0 })
        .build();
    let publisher = bus.publisher("feed", Trust::Reported);
    let answers = publisher.publish_all(None, vec![draft("a", notice_body("x")); 50], None);
    assert!(answers.expect("open").iter().all(Result::is_ok));
}

#[tokio::test(start_paused = true)]
async fn a_feed_that_asks_waits_until_it_is_within_its_rate() {
    let bus = Bus::builder()
        .engine(Box::new(Echo::default()))
        .clock(StillClock::new())
        .feed_rate(Rate { per_second: 1.0, burst: 10.0 })
        .build();
    let publisher = bus.publisher("feed", Trust::Reported);
    publisher.ready().await;
    publisher.publish_all(None, vec![draft("a", notice_body("x")); 15], None).expect("open");
    let before = tokio::time::Instant::now();
    publisher.ready().await;
    assert_eq!(before.elapsed(), Duration::from_secs(6), "five tokens owed and one to take");
}

#[test]
fn a_bus_starts_empty_and_says_who_it_is() {
    let bus = bus();
    let publisher = bus.publisher("feed", Trust::Hint);
    let mut subscription = bus.subscribe();
    assert!(subscription.snapshot.is_empty());
    publisher.publish(draft("a", essential_body("t"))).expect("published");
    let mut next = Box::pin(subscription.recv());
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(Some(Update::Event(event))) = next.as_mut().poll(&mut context)
    else {
        panic!("an event is there")
    };
    let expected =
        Origin { feed: "feed".into(), trust: Trust::Hint, pid: None, host: Arc::from("host") };
    assert_eq!(event.origin, expected);
}

#[tokio::test]
async fn the_drafts_of_one_moment_change_the_state_once() {
    let bus = Bus::builder().clock(StillClock::new()).build();
    let publisher = bus.publisher("stream", Trust::Authoritative);
    let mut subscription = bus.subscribe();
    let end: SessionEnded = SessionEnded {
        reason: EndReason::Exit,
        exit_code: Some(0),
        signal: None,
        process: None,
        error: None,
    };
    let invalid = draft("a", status_body(Status::Idle));
    // Two sessions in turns, and what is refused delays nothing.
    let drafts = vec![
        draft("a", essential_body("t")),
        draft("b", essential_body("t")),
        draft("a", end.clone()),
        draft("b", end),
        invalid,
    ];
    publisher.publish_all(None, drafts, None).expect("open");
    let mut told = Vec::new();
    while told.len() < 2 {
        if let Update::Event(event) = subscription.recv().await.expect("open")
            && let Body::StatusChanged(change) = &event.body
        {
            told.push((event.session.id.to_string(), change.from, change.to));
        }
    }
    let ended = |id: &str| (id.to_owned(), None, Status::Ended);
    assert_eq!(told, [ended("a"), ended("b")]);
}
