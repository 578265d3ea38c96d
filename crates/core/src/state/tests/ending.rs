//! Ends that were announced: how long the turn counts as running, and until when it does at most.

use super::bench::*;
use crate::draft::Ending;
use crate::event::*;

/// A turn that hooks told of, prompt p1 at 1000, and that somebody says is over at 3000.
fn over(feed: Feed, outcome: TurnOutcome, ending: Ending) -> Bench {
    let mut bench = Bench::default();
    bench.hook(draft(0, start(StartSource::Startup)));
    bench.hook(draft(1000, turn("p1")).prompt("p1"));
    bench.see(feed, draft(3000, turn_end("p1", outcome)).prompt("p1").agents(0).ending(ending));
    bench
}

/// The session works until just before `ms` and is idle then.
fn is_over_at(mut bench: Bench, ms: i64, what: &str) {
    bench.wait(ms - 10);
    assert_eq!(bench.status(), Status::Working, "{what}");
    bench.wait(ms);
    assert_eq!(bench.status(), Status::Idle, "{what}");
    bench.wait(60_000);
    assert_eq!((bench.status(), bench.dones()), (Status::Idle, 1), "{what}");
}

#[test]
fn an_end_told_from_beside_the_stream_counts_a_moment_later() {
    for feed in [Feed::Hook, Feed::Transcript] {
        is_over_at(over(feed, TurnOutcome::Completed, Ending::Final), 3250, "final");
    }
}

#[test]
fn an_announced_end_counts_once_nobody_can_have_held_it_up() {
    for feed in [Feed::Hook, Feed::Transcript] {
        is_over_at(over(feed, TurnOutcome::Completed, Ending::Announced), 3500, "announced");
    }
}

#[test]
fn an_announced_end_whose_seal_is_sure_to_come_waits_for_it() {
    let sealed = || over(Feed::Transcript, TurnOutcome::Completed, Ending::Sealed);
    is_over_at(sealed(), 13_000, "the seal never comes");
    let mut bench = sealed();
    bench.line(draft(7000, stop("p1")).prompt("p1").agents(0));
    is_over_at(bench, 7250, "the seal comes");
}

#[test]
fn a_seal_that_comes_only_if_hooks_are_asked_is_waited_for_only_then() {
    let sealed = || over(Feed::Transcript, TurnOutcome::Completed, Ending::SealedIfAsked);
    is_over_at(sealed(), 3500, "nobody was asked");
    let mut asked = sealed();
    asked.hook(draft(3020, stop("p1")).prompt("p1").agents(0).ending(Ending::Announced));
    is_over_at(asked, 13_020, "asked, and the seal never comes");
    let mut asked = sealed();
    asked.hook(draft(3020, stop("p1")).prompt("p1").agents(0).ending(Ending::Announced));
    asked.line(draft(5000, stop("p1")).prompt("p1").agents(0));
    is_over_at(asked, 5250, "asked, and the seal comes");
}

#[test]
fn work_that_goes_on_after_an_announced_end_is_never_told_as_idle() {
    let mut bench = over(Feed::Hook, TurnOutcome::Completed, Ending::Announced);
    bench.wait(3400);
    bench.hook(draft(3450, tool("c1", "Bash")).prompt("p1"));
    bench.wait(30_000);
    assert_eq!((bench.path(), bench.dones()), (vec![Status::Idle, Status::Working], 0));
    bench.hook(draft(31_000, stop("p1")).prompt("p1").agents(0).ending(Ending::Announced));
    is_over_at(bench, 31_500, "the end at last");
}

#[test]
fn a_seal_of_another_turn_seals_nothing() {
    let mut bench = over(Feed::Transcript, TurnOutcome::Completed, Ending::Final);
    bench.wait(4000);
    assert_eq!(bench.status(), Status::Idle);
    bench.hook(draft(5000, turn("p2")).prompt("p2"));
    bench.hook(draft(6000, stop("p2")).prompt("p2").agents(0).ending(Ending::Announced));
    bench.wait(6400);
    assert_eq!(bench.status(), Status::Working);
    bench.wait(6500);
    assert_eq!((bench.status(), bench.dones()), (Status::Idle, 2));
}

#[test]
fn a_turn_that_failed_or_was_stopped_is_over_at_once() {
    for outcome in [TurnOutcome::Interrupted, TurnOutcome::Failed, TurnOutcome::MaxTurns] {
        for feed in [Feed::Hook, Feed::Transcript] {
            let bench = over(feed, outcome, Ending::Final);
            let state = bench.state();
            assert_eq!((state.status, state.outcome), (Status::Idle, Some(outcome)));
        }
    }
}
