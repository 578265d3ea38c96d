//! Promises about sinks that do what they should not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use crate::bus::testing::*;
use crate::bus::{Bus, Filter, MailboxLimits, Publisher, SinkSetup, SinkSource};
use crate::detail::Detail;
use crate::event::*;
use crate::id::Seq;
use crate::sink::{DeliverError, SinkNeeds};

fn publish(publisher: &Publisher, count: usize) {
    for _ in 0..count {
        publisher.publish(draft("a", essential_body("working"))).expect("published");
    }
}

fn feed(bus: &Bus) -> Publisher {
    bus.publisher("feed", Trust::Reported)
}

fn gap(event: &Event) -> &BusGap {
    let Body::BusGap(gap) = &event.body else { panic!("no gap: {event:?}") };
    gap
}

#[tokio::test(start_paused = true)]
async fn dead_sink_never_delays_publish_nor_another_sink() {
    let bus = bus();
    let got = Got::default();
    bus.add_sink(setup("dead", dead())).expect("added");
    bus.add_sink(setup("live", willing(&got))).expect("added");
    let publisher = feed(&bus);
    for _ in 0..100 {
        let before = Instant::now();
        publish(&publisher, 100);
        assert_eq!(before.elapsed(), Duration::ZERO, "no waiting at all");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    eventually("the live sink has it all", || lane(&bus, "live").delivered >= 10_000).await;
    let dead = lane(&bus, "dead");
    assert_eq!(dead.delivered, 0);
    assert!(dead.queued <= 1_024 + 64, "{dead:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_sink_that_never_answers_is_told_to_the_others_and_not_to_itself() {
    let bus = bus();
    let (calls, got) = (Arc::new(AtomicUsize::new(0)), Got::default());
    let counter = Arc::clone(&calls);
    let silent = scripted(&got, move |_, batch, got| {
        counter.fetch_add(1, Ordering::Relaxed);
        got.take(batch);
        Box::pin(std::future::pending())
    });
    let other = Got::default();
    bus.add_sink(setup("silent", silent)).expect("added");
    bus.add_sink(setup("other", willing(&other))).expect("added");
    publish(&feed(&bus), 1);
    eventually("the call is cut short", || lane(&bus, "silent").retries >= 1).await;
    assert_eq!(lane(&bus, "silent").health, SinkHealth::Stalled);
    eventually("it is tried again", || calls.load(Ordering::Relaxed) > 1).await;
    let events = other.events();
    let told = events.iter().find_map(|event| match &event.body {
        Body::BusSinkStatus(status) => Some(status.clone()),
        _ => None,
    });
    let told = told.expect("other sinks are told");
    assert_eq!((told.sink.as_str(), told.to), ("silent", SinkHealth::Stalled));
    assert!(!got.kinds().contains(&"bus.sink_status".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn what_was_taken_is_not_delivered_again() {
    let bus = bus();
    let got = Got::default();
    let picky = scripted(&got, |call, batch, got| {
        let taken = if call == 0 { 2 } else { batch.len() };
        got.take(&batch[..taken]);
        answer(if call == 0 { Err(retry(2)) } else { Ok(()) })
    });
    bus.add_sink(setup("picky", picky)).expect("added");
    publish(&feed(&bus), 5);
    eventually("all delivered", || lane(&bus, "picky").delivered == 5).await;
    assert_eq!(got.seqs(), [1, 2, 3, 4, 5]);
    assert_eq!(lane(&bus, "picky").health, SinkHealth::Healthy);
}

#[tokio::test(start_paused = true)]
async fn the_wait_a_sink_asks_for_is_kept() {
    let bus = bus();
    let got = Got::default();
    let start = Instant::now();
    let asking = scripted(&got, move |call, batch, got| {
        if call == 0 {
            let after = Some(Duration::from_secs(90));
            answer(Err(DeliverError::Retry { taken: 0, after, source: "busy".into() }))
        } else {
            assert!(start.elapsed() >= Duration::from_secs(90), "too early");
            got.take(batch);
            done()
        }
    });
    bus.add_sink(setup("asking", asking)).expect("added");
    publish(&feed(&bus), 1);
    eventually("delivered", || got.count() == 1).await;
    assert!(start.elapsed() < Duration::from_secs(120));
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_fails_for_five_minutes_is_given_up_with_a_gap() {
    let bus = bus();
    let got = Got::default();
    let start = Instant::now();
    let failing = scripted(&got, move |_, batch, got| {
        if start.elapsed() < Duration::from_secs(301) {
            return answer(Err(retry(0)));
        }
        got.take(batch);
        done()
    });
    bus.add_sink(setup("failing", failing)).expect("added");
    let publisher = feed(&bus);
    publish(&publisher, 3);
    tokio::time::sleep(Duration::from_secs(120)).await;
    publish(&publisher, 2);
    publisher.publish(draft("b", essential_body("idle"))).expect("published");
    eventually("given up and gone on", || lane(&bus, "failing").delivered == 3).await;
    assert!(start.elapsed() < Duration::from_secs(400), "{:?}", start.elapsed());
    let events = got.events();
    let told = gap(&events[0]);
    let expected = BusGap { first_seq: Seq(1), last_seq: Seq(3), reason: GapReason::GaveUp };
    assert_eq!(told, &expected);
    let Body::BusSnapshot(snapshot) = &events[1].body else { panic!("{:?}", events[1]) };
    assert_eq!(snapshot.state.status, Status::Working);
    assert_eq!(got.seqs()[2..], [4, 5, 6], "newer events waited in the mailbox");
    let lane = lane(&bus, "failing");
    assert_eq!((lane.dropped.gave_up, lane.notes), (3, 2));
}

#[tokio::test(start_paused = true)]
async fn a_sink_that_fails_for_hours_still_learns_the_state_in_the_end() {
    let bus = bus();
    let got = Got::default();
    let start = Instant::now();
    let failing = scripted(&got, move |_, batch, got| {
        if start.elapsed() < Duration::from_secs(3 * 3_600) {
            return answer(Err(retry(0)));
        }
        got.take(batch);
        done()
    });
    bus.add_sink(setup("failing", failing)).expect("added");
    let publisher = feed(&bus);
    publish(&publisher, 2);
    for hour in 0..3 {
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        let status = if hour == 2 { "idle" } else { "working" };
        publisher.publish(draft("a", essential_body(status))).expect("published");
    }
    eventually("told", || got.count() > 0).await;
    quiet(&bus, "failing", 5).await;
    let events = got.events();
    assert_eq!(gap(&events[0]).first_seq, Seq(1), "the gap begins where it really began");
    let newest = events.iter().rev().find_map(|event| match &event.body {
        Body::BusSnapshot(snapshot) => Some(snapshot.state.status),
        Body::TurnStarted(turn) => Some(Status::from_word(turn.turn.as_str())),
        _ => None,
    });
    assert_eq!(newest, Some(Status::Idle));
    lane(&bus, "failing");
}

#[tokio::test(start_paused = true)]
async fn a_rejected_event_is_skipped_and_the_rest_arrives() {
    let bus = bus();
    let got = Got::default();
    let strict = scripted(&got, |_, batch, got| {
        let bad = batch.iter().position(|event| event.seq == Seq(3));
        got.take(&batch[..bad.unwrap_or(batch.len())]);
        answer(match bad {
            Some(taken) => Err(DeliverError::Rejected { taken, source: "never".into() }),
            None => Ok(()),
        })
    });
    bus.add_sink(setup("strict", strict)).expect("added");
    publish(&feed(&bus), 5);
    quiet(&bus, "strict", 5).await;
    assert_eq!(got.seqs(), [1, 2, 4, 5]);
    let lane = lane(&bus, "strict");
    assert_eq!((lane.rejected, lane.dropped.rejected, lane.delivered), (1, 1, 4));
}

#[tokio::test(start_paused = true)]
async fn a_sink_that_lies_about_what_it_took_is_not_believed() {
    let bus = bus();
    let got = Got::default();
    let liar = scripted(&got, |call, _, _| {
        answer(match call {
            0 => Err(DeliverError::Rejected { taken: usize::MAX, source: "x".into() }),
            1 => Err(retry(usize::MAX)),
            _ => Ok(()),
        })
    });
    bus.add_sink(setup("liar", liar)).expect("added");
    publish(&feed(&bus), 3);
    quiet(&bus, "liar", 3).await;
    publish(&feed(&bus), 2);
    quiet(&bus, "liar", 5).await;
}

#[tokio::test(start_paused = true)]
async fn a_panicking_sink_is_built_anew_and_gets_its_batch_again() {
    let bus = bus();
    let got = Got::default();
    let clone = got.clone();
    let factory = factory(move |number| {
        scripted(&clone, move |_, batch, got| {
            assert!(number >= 2, "the first two are broken");
            got.take(batch);
            done()
        })
    });
    let source = SinkSource::Factory(factory, serde_json::Value::Null);
    bus.add_sink(SinkSetup::new("fragile", source).needs(greedy())).expect("added");
    publish(&feed(&bus), 2);
    eventually("delivered", || got.count() == 2).await;
    let lane = lane(&bus, "fragile");
    assert_eq!((lane.rebuilds, lane.health), (2, SinkHealth::Healthy));
}

#[tokio::test(start_paused = true)]
async fn a_broken_sink_is_quarantined_after_three_rebuilds() {
    let bus = bus();
    let other = Got::default();
    let factory = factory(|_| {
        scripted(&Got::default(), |_, _, _| answer(Err(DeliverError::Fatal("broken".into()))))
    });
    let source = SinkSource::Factory(factory.clone(), serde_json::Value::Null);
    bus.add_sink(SinkSetup::new("broken", source).needs(greedy())).expect("added");
    bus.add_sink(setup("other", willing(&other))).expect("added");
    publish(&feed(&bus), 2);
    eventually("quarantined", || lane(&bus, "broken").health == SinkHealth::Quarantined).await;
    assert_eq!(*factory.built.lock().expect("count"), 4, "one and three more");
    publish(&feed(&bus), 3);
    eventually("dropped", || lane(&bus, "broken").dropped.quarantined >= 5).await;
    eventually("the other one has it all", || {
        other.kinds().iter().filter(|kind| *kind == "turn.started").count() == 5
    })
    .await;
    let quarantined = other.events().iter().any(|event| {
        matches!(&event.body, Body::BusSinkStatus(status) if status.to == SinkHealth::Quarantined)
    });
    assert!(quarantined, "others are told");
}

#[tokio::test(start_paused = true)]
async fn a_sink_nobody_can_rebuild_is_quarantined_at_once_and_can_be_replaced() {
    let bus = bus();
    let broken =
        scripted(&Got::default(), |_, _, _| answer(Err(DeliverError::Fatal("broken".into()))));
    bus.add_sink(setup("sink", broken)).expect("added");
    publish(&feed(&bus), 1);
    eventually("quarantined", || lane(&bus, "sink").health == SinkHealth::Quarantined).await;
    let got = Got::default();
    assert!(bus.add_sink(setup("sink", willing(&got))).is_err(), "the name is taken");
    assert!(bus.remove_sink(&"sink".into(), Duration::from_secs(1)).await);
    bus.add_sink(setup("sink", willing(&got))).expect("the name is free");
    publish(&feed(&bus), 1);
    eventually("delivered", || got.count() == 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_sink_that_overflows_gets_a_gap_then_the_state_then_what_follows() {
    let bus = bus();
    let got = Got::default();
    let slow = scripted(&got, |_, batch, got| {
        got.take(batch);
        Box::pin(async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(())
        })
    });
    let limits = MailboxLimits { items: 100, ..MailboxLimits::default() };
    bus.add_sink(setup("slow", slow).limits(limits)).expect("added");
    let publisher = feed(&bus);
    publish(&publisher, 1);
    eventually("busy", || got.count() == 1).await;
    publish(&publisher, 500);
    publisher.publish(draft("b", essential_body("idle"))).expect("published");
    eventually("told", || got.kinds().contains(&"bus.gap".to_owned())).await;
    publish(&publisher, 1);
    quiet(&bus, "slow", 503).await;
    let events = got.events();
    let told = gap(&events[1]);
    let expected = BusGap { first_seq: Seq(2), last_seq: Seq(502), reason: GapReason::Overflow };
    assert_eq!(told, &expected);
    let states: Vec<_> = events[2..4]
        .iter()
        .map(|event| match &event.body {
            Body::BusSnapshot(data) => (event.session.id.to_string(), data.state.status, data.upto),
            other => panic!("no snapshot: {other:?}"),
        })
        .collect();
    let expected = [("a", Status::Working), ("b", Status::Idle)]
        .map(|(id, status)| (id.to_owned(), status, Seq(502)));
    assert_eq!(states, expected);
    assert_eq!(got.seqs()[4..], [503]);
    assert_eq!(lane(&bus, "slow").dropped.overflow, 501);
}

#[tokio::test(start_paused = true)]
async fn a_pump_that_was_lapped_makes_a_gap_too() {
    let bus = builder().ring(64).build();
    let got = Got::default();
    bus.add_sink(setup("sink", willing(&got))).expect("added");
    // No task runs meanwhile, so the ring laps the pump.
    publish(&feed(&bus), 1_000);
    eventually("told", || got.kinds().contains(&"bus.gap".to_owned())).await;
    publish(&feed(&bus), 1);
    eventually("goes on", || got.seqs().last() == Some(&1_001)).await;
    let events = got.events();
    let told = gap(&events[0]);
    let expected =
        BusGap { first_seq: Seq(1), last_seq: Seq(1_000), reason: GapReason::RingLapped };
    assert_eq!(told, &expected);
    assert_eq!(lane(&bus, "sink").dropped.ring_lapped, 1_000);
}

#[tokio::test(start_paused = true)]
async fn content_passes_only_where_it_is_wanted_and_granted() {
    let bus = bus();
    let levels = [Detail::Metadata, Detail::Content];
    let mut cases = Vec::new();
    for granted in levels {
        for wanted in levels {
            let got = Got::default();
            let name = format!("{granted:?}-{wanted:?}");
            let needs = SinkNeeds { detail: wanted, ..greedy() };
            bus.add_sink(setup(&name, willing(&got)).detail(granted).needs(needs)).expect("added");
            let both = granted == Detail::Content && wanted == Detail::Content;
            cases.push((name, got, both));
        }
    }
    feed(&bus).publish(draft("a", completed_body("secret words"))).expect("published");
    for (name, got, content) in cases {
        eventually("delivered", || got.count() == 1).await;
        assert_eq!(got.events()[0].to_json().contains("secret words"), content, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_sink_does_not_want_is_filtered_and_counted() {
    let bus = bus();
    let got = Got::default();
    let needs = SinkNeeds { deltas: false, ..greedy() };
    let filter = Filter::kinds(["!notice"]);
    bus.add_sink(setup("sink", willing(&got)).needs(needs).filter(filter)).expect("added");
    let publisher = feed(&bus);
    publisher.publish(draft("a", delta_body("m", 0, "x"))).expect("published");
    publisher.publish(draft("a", notice_body("x"))).expect("published");
    publisher.publish(draft("a", essential_body("t"))).expect("published");
    eventually("delivered", || got.count() == 1).await;
    let lane = lane(&bus, "sink");
    assert_eq!((lane.offered, lane.filtered, lane.delivered), (3, 2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_batch_waits_to_fill_but_not_longer_than_it_may() {
    let bus = bus();
    let sizes = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&sizes);
    let sink = scripted(&Got::default(), move |_, batch, _| {
        seen.lock().expect("sizes").push(batch.len());
        done()
    });
    let needs = SinkNeeds { max_batch: 4, linger: Duration::from_secs(1), ..greedy() };
    bus.add_sink(setup("sink", sink).needs(needs)).expect("added");
    let publisher = feed(&bus);
    let before = Instant::now();
    publish(&publisher, 4);
    eventually("full", || lane(&bus, "sink").delivered == 4).await;
    assert!(before.elapsed() < Duration::from_secs(1), "a full batch goes at once");
    publish(&publisher, 2);
    tokio::time::sleep(Duration::from_millis(500)).await;
    publish(&publisher, 1);
    eventually("lingered", || lane(&bus, "sink").delivered == 7).await;
    assert_eq!(*sizes.lock().expect("sizes"), [4, 3]);
}

#[tokio::test(start_paused = true)]
async fn every_event_has_exactly_one_fate_whatever_sinks_do() {
    let bus = builder().ring(128).build();
    let got = Got::default();
    let moody = scripted(&got, |call, batch, _| match call % 5 {
        0 => answer(Err(retry(batch.len() / 2))),
        1 => answer(Err(DeliverError::Rejected { taken: 0, source: "x".into() })),
        2 => Box::pin(async {
            tokio::time::sleep(Duration::from_secs(3)).await;
            Ok(())
        }),
        _ => done(),
    });
    let limits = MailboxLimits { items: 40, bytes: 64 * 1_024 };
    bus.add_sink(setup("moody", moody).limits(limits)).expect("added");
    bus.add_sink(setup("dead", dead()).limits(limits)).expect("added");
    bus.add_sink(setup("live", willing(&got)).limits(limits)).expect("added");
    let publisher = feed(&bus);
    let mut offset = 0;
    for round in 0..400_u64 {
        for body in [delta_body("m", offset, "words "), usage_body(round), notice_body("n")] {
            publisher.publish(draft("a", body)).expect("published");
        }
        offset += 6;
        if round % 3 == 0 {
            publish(&publisher, 1);
        }
        if round % 7 == 0 {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    for name in ["moody", "dead", "live"] {
        let lane = lane(&bus, name);
        assert!(lane.offered >= 1_200, "{lane:#?}");
        assert_eq!(lane.lag, 0, "{lane:#?}");
    }
}
