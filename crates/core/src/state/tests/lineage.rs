//! Sessions and processes: starts, ends, and what descends from what.

use super::bench::*;
use crate::event::*;
use crate::id::NativeId;
use crate::process::ProcessRef;
use crate::state::Link;

#[test]
fn clearing_ends_the_old_session_and_links_the_new_one() {
    for told in [true, false] {
        for announced in [true, false] {
            let mut bench = Bench::default();
            bench.hook(draft(0, start(StartSource::Startup)).pid(7));
            bench.hook(draft(100, turn("p1")).prompt("p1").pid(7));
            bench.hook(draft(900, stop("p1")).prompt("p1").agents(0).pid(7));
            if told {
                bench.hook(draft(5000, end(EndReason::Clear)).pid(7));
            }
            if announced {
                bench.hook(draft(5100, start(StartSource::Clear)).of("session-2").pid(7));
            }
            bench.hook(draft(8000, turn("p2")).prompt("p2").of("session-2").pid(7));
            assert_eq!(bench.status(), Status::Ended);
            assert_eq!(bench.state_of("session-2").status, Status::Working);
            let ends = bench.events.iter().filter_map(|event| match &event.body {
                Body::SessionEnded(end) => Some(end.reason),
                _ => None,
            });
            assert_eq!(ends.collect::<Vec<_>>(), [EndReason::Clear]);
            let parent = bench.state_of("session-2").parent.map(|link| link.id);
            assert_eq!(parent, Some(NativeId::from("session-1")), "{told} {announced}");
        }
    }
}

#[test]
fn late_words_of_a_cleared_session_do_not_bring_it_back() {
    let mut bench = Bench::default();
    bench.hook(draft(0, start(StartSource::Startup)).pid(7));
    bench.hook(draft(5000, start(StartSource::Clear)).of("session-2").pid(7));
    bench.see_at(Feed::Hook, draft(4900, tool("c1", "Bash")).pid(7), at(5200));
    assert_eq!(bench.status(), Status::Ended);
    assert_eq!(bench.state_of("session-2").status, Status::Idle);
}

#[test]
fn a_resumed_session_is_the_same_row_and_begins_anew() {
    let mut bench = Bench::default();
    bench.hook(draft(0, start(StartSource::Startup)).pid(7));
    bench.hook(draft(100, turn("p1")).prompt("p1").pid(7));
    bench.hook(draft(900, end(EndReason::Exit)).pid(7));
    assert_eq!(bench.status(), Status::Ended);
    bench.hook(draft(60_000, start(StartSource::Resume)).pid(8));
    assert_eq!(bench.status(), Status::Idle, "the old prompt says nothing any more");
    assert_eq!(bench.state().source, StartSource::Resume);
    assert_eq!(bench.count("session.started"), 2);
    assert_eq!(bench.resolver.snapshot().len(), 1);
}

#[test]
fn the_end_in_one_process_is_no_end_while_another_has_the_session_open() {
    for pids in [true, false] {
        let of = |draft: crate::Draft, pid| if pids { draft.pid(pid) } else { draft };
        let mut bench = Bench::default();
        bench.hook(of(draft(0, start(StartSource::Startup)), 7));
        bench.hook(of(draft(5000, start(StartSource::Resume)), 8));
        bench.hook(of(draft(6000, end(EndReason::Exit)), 8));
        assert_ne!(bench.status(), Status::Ended);
        bench.hook(of(draft(9000, end(EndReason::Exit)), 7));
        assert_eq!(bench.status(), Status::Ended);
        assert_eq!(bench.count("session.ended"), 2);
    }
}

#[test]
fn the_streams_process_ends_by_its_exit_and_tells_how() {
    let mut bench = Bench::default();
    bench.stream(draft(0, start(StartSource::Startup)));
    bench.hook(draft(10, start(StartSource::Startup)));
    bench.hook(draft(900, end(EndReason::Exit)));
    assert_ne!(bench.status(), Status::Ended);
    bench.stream(draft(950, SessionEnded { exit_code: Some(3), ..end(EndReason::Crashed) }));
    assert_eq!(bench.status(), Status::Ended);
    let code = bench.events.iter().find_map(|event| match &event.body {
        Body::SessionEnded(end) => Some(end.exit_code),
        _ => None,
    });
    assert_eq!((code, bench.count("session.ended")), (Some(Some(3)), 1));
    bench.see_at(Feed::Hook, draft(930, end(EndReason::Exit)), at(1300));
    assert_eq!(bench.count("session.ended"), 1);
}

#[test]
fn once_the_stream_is_gone_what_others_say_of_the_end_counts_in_either_order() {
    for said_first in [true, false] {
        let mut bench = Bench::default();
        bench.stream(draft(0, start(StartSource::Startup)).pid(7));
        bench.stream(draft(100, turn("t1")).pid(7));
        let say = |bench: &mut Bench| {
            bench.see(Feed::Transcript, draft(900, end(EndReason::Crashed)).pid(7));
        };
        let lose = |bench: &mut Bench| {
            let origin = Feed::Stream.origin();
            bench.resolver.feed_closed(&key(), at(950), &origin, &mut bench.events);
        };
        if said_first {
            say(&mut bench);
            assert_ne!(bench.status(), Status::Ended, "who holds the stream may know better");
            lose(&mut bench);
        } else {
            lose(&mut bench);
            say(&mut bench);
        }
        assert_eq!(bench.status(), Status::Ended, "{said_first}");
        let reasons = bench.events.iter().filter_map(|event| match &event.body {
            Body::SessionEnded(end) => Some(end.reason),
            _ => None,
        });
        assert_eq!(reasons.collect::<Vec<_>>(), [EndReason::Crashed], "{said_first}");
        assert_eq!(bench.count("turn.ended"), 1, "its turn is lost: {said_first}");
    }
}

#[test]
fn evidence_older_than_the_end_never_reopens_a_session() {
    let mut bench = Bench::default();
    bench.hook(draft(0, start(StartSource::Startup)));
    bench.hook(draft(900, end(EndReason::Exit)));
    for late in [
        draft(800, turn("p1")).prompt("p1"),
        draft(850, tool("c1", "Bash")).prompt("p1"),
        draft(860, ask("Bash")).prompt("p1"),
        draft(870, subagent()).child("a1"),
    ] {
        bench.see_at(Feed::Hook, late, at(1200));
        assert_eq!(bench.status(), Status::Ended);
    }
    assert_eq!(bench.state().open, []);
}

#[test]
fn an_end_settles_what_was_open() {
    let mut bench = Bench::default();
    bench.hook(draft(0, start(StartSource::Startup)));
    bench.hook(draft(100, turn("p1")).prompt("p1"));
    bench.hook(draft(200, tool("c1", "Bash")).prompt("p1"));
    bench.hook(draft(300, ask("Bash")).prompt("p1"));
    bench.hook(draft(900, end(EndReason::Exit)));
    assert_eq!((bench.count("permission.resolved"), bench.count("turn.ended")), (1, 1));
    let state = bench.state();
    assert_eq!((state.status, state.open.len(), state.turn), (Status::Ended, 0, None));
}

#[test]
fn a_session_that_speaks_after_its_end_is_alive_again() {
    let mut bench = Bench::default();
    bench.hook(draft(0, start(StartSource::Startup)));
    bench.hook(draft(900, end(EndReason::Exit)));
    bench.hook(draft(20_000, turn("p9")).prompt("p9"));
    assert_eq!(bench.status(), Status::Working);
    assert_eq!(bench.count("session.started"), 2);
}

#[test]
fn a_nested_session_is_its_own_and_a_child_of_the_outer_one() {
    let mut bench = Bench::default();
    bench.hook(draft(0, start(StartSource::Startup)).pid(7));
    bench.hook(draft(100, turn("p1")).prompt("p1").pid(7));
    let mut inner = draft(2000, start(StartSource::Startup)).of("session-2").pid(9);
    inner.hints.ancestors = vec![ProcessRef { pid: 7, start: Some(700) }];
    bench.hook(inner);
    bench.hook(draft(3000, end(EndReason::Exit)).of("session-2").pid(9));
    assert_eq!(bench.status(), Status::Working);
    let link = Link { id: "session-1".into(), how: StartSource::Startup };
    assert_eq!(bench.state_of("session-2").parent, Some(link));
}

#[test]
fn a_second_process_of_a_watched_session_can_work_while_the_first_rests() {
    let mut bench = Bench::default();
    bench.stream(draft(0, start(StartSource::Startup)).pid(7));
    bench.stream(draft(100, turn("t1")).pid(7));
    bench.stream(draft(900, stop("t1")).agents(0).pid(7));
    bench.hook(draft(5000, start(StartSource::Resume)).pid(8));
    bench.hook(draft(6000, turn("p2")).prompt("p2").pid(8));
    assert_eq!(bench.status(), Status::Working);
    bench.stream(draft(6500, ask_by_id("r1", "c1", "Bash")).pid(7));
    bench.hook(draft(7000, stop("p2")).prompt("p2").agents(0).pid(8));
    assert_eq!(bench.status(), Status::WaitingForPermission, "the first process still asks");
    bench.stream(draft(7100, answer("r1", Decision::Allowed)).pid(7));
    bench.wait(8000);
    assert_eq!(bench.status(), Status::Idle);
    bench.hook(draft(9000, turn("p3")).prompt("p3").pid(8));
    bench.hook(draft(9500, end(EndReason::Exit)).pid(8));
    bench.wait(11_000);
    assert_eq!(bench.status(), Status::Idle, "who left does not work");
}

#[test]
fn a_session_of_which_only_the_end_is_seen_is_over() {
    let mut bench = Bench::default();
    bench.hook(draft(0, end(EndReason::Exit)));
    assert_eq!(bench.status(), Status::Ended);
}

#[test]
fn ended_sessions_are_forgotten_after_a_day() {
    let mut bench = Bench::default();
    bench.hook(draft(0, start(StartSource::Startup)));
    bench.hook(draft(900, end(EndReason::Exit)));
    bench.wait(23 * 3_600_000);
    assert_eq!(bench.resolver.snapshot().len(), 1);
    bench.wait(25 * 3_600_000);
    assert_eq!(bench.resolver.snapshot().len(), 0);
}

/// The parents told, in order.
fn parents(bench: &Bench) -> Vec<String> {
    let told = bench.events.iter().filter_map(|event| match &event.body {
        Body::SessionStarted(data) => data.parent.clone(),
        Body::SessionUpdated(data) => data.parent.clone(),
        _ => None,
    });
    told.map(|parent| parent.to_string()).collect()
}

#[test]
fn whoever_tells_of_the_session_before_tells_it_once() {
    let fork = || SessionStarted { parent: Some("session-0".into()), ..start(StartSource::Fork) };
    // The hook knows nothing of it and speaks first; or the stream does.
    for order in [[Feed::Hook, Feed::Stream], [Feed::Stream, Feed::Hook]] {
        let mut bench = Bench::default();
        for (ms, feed) in (0..).step_by(100).zip(order) {
            let begins = if feed == Feed::Hook { start(StartSource::Fork) } else { fork() };
            bench.see(feed, draft(ms, begins));
        }
        assert_eq!(parents(&bench), ["session-0"]);
        let link = Link { id: "session-0".into(), how: StartSource::Fork };
        assert_eq!(bench.state().parent, Some(link));
    }
}

#[test]
fn a_session_that_is_only_seen_to_take_over_a_process_tells_where_it_came_from() {
    let mut bench = Bench::default();
    bench.hook(draft(0, start(StartSource::Startup)).pid(7));
    bench.hook(draft(8000, turn("p2")).prompt("p2").of("session-2").pid(7));
    assert_eq!(parents(&bench), ["session-1"]);
}

#[test]
fn without_a_process_a_cleared_session_is_followed_by_the_next_one_in_its_folder() {
    let begins = |source, cwd: &str| SessionStarted { cwd: Some(cwd.into()), ..start(source) };
    let clear = |cwd| begins(StartSource::Clear, cwd);
    for (after, cwd, reason, follows) in [
        (100, "/a", EndReason::Clear, true),
        (100, "/b", EndReason::Clear, false),
        (60_000, "/a", EndReason::Clear, false),
        (100, "/a", EndReason::Exit, false),
    ] {
        let mut bench = Bench::default();
        bench.hook(draft(0, begins(StartSource::Startup, "/a")));
        bench.hook(draft(5000, end(reason)));
        bench.hook(draft(5000 + after, clear(cwd)).of("session-2"));
        // Only one session takes the place of another.
        bench.hook(draft(5010 + after, clear(cwd)).of("session-3"));
        let expected: &[&str] = if follows { &["session-1"] } else { &[] };
        assert_eq!(parents(&bench), expected, "{after} {cwd} {reason:?}");
        assert_eq!(bench.state_of("session-2").parent.is_some(), follows);
    }
}
