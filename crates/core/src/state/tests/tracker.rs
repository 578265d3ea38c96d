//! The stream tracker: what whoever sits in the stream can rely on.

use super::bench::*;
use crate::draft::Draft;
use crate::event::*;
use crate::state::Answer;

fn open_stream() -> Bench {
    let mut bench = Bench::default();
    bench.stream(draft(0, start(StartSource::Startup)));
    bench
}

#[test]
fn a_started_and_unprompted_process_is_idle_after_it_started() {
    let mut bench = open_stream();
    assert_eq!(bench.status(), Status::Starting);
    bench.wait(9000);
    assert_eq!(bench.status(), Status::Starting);
    bench.wait(10_000);
    assert_eq!(bench.status(), Status::Idle);
    for ready in [says(ReportedStatus::Idle).into(), Body::from(start(StartSource::Startup))] {
        let mut bench = open_stream();
        bench.hook(draft(300, ready));
        assert_eq!(bench.status(), Status::Idle);
    }
}

#[test]
fn a_long_turn_costs_two_changes_and_not_one_a_token() {
    let mut bench = open_stream();
    bench.stream(draft(100, turn("t1")));
    for piece in 0..500_u64 {
        bench.stream(draft(200, delta(piece * 4)));
    }
    bench.stream(draft(900, stop("t1")));
    assert_eq!(bench.path(), [Status::Starting, Status::Working, Status::Idle]);
    assert_eq!(bench.count("message.delta"), 500);
}

#[test]
fn events_are_numbered_on_the_bus_and_in_their_session() {
    let mut bench = open_stream();
    bench.stream(draft(50, start(StartSource::Startup)).of("session-2"));
    bench.stream(draft(100, turn("t1")));
    for piece in 0..10_u64 {
        bench.stream(draft(200, delta(piece * 4)));
        bench.stream(draft(200, delta(piece * 4)).of("session-2"));
    }
    let numbers: Vec<u64> = bench.events.iter().map(|event| event.seq.0).collect();
    assert_eq!(numbers, (1..=bench.events.len() as u64).collect::<Vec<_>>());
    for session in ["session-1", "session-2"] {
        let own: Vec<u64> = bench
            .events
            .iter()
            .filter(|event| event.session.id.as_str() == session)
            .map(|event| event.session_seq)
            .collect();
        assert_eq!(own, (1..=own.len() as u64).collect::<Vec<_>>());
    }
}

#[test]
fn a_wait_opens_by_its_id_and_only_its_answer_closes_it() {
    let mut bench = open_stream();
    bench.stream(draft(100, turn("t1")));
    bench.stream(draft(200, tool("c1", "Bash")));
    bench.stream(draft(300, ask_by_id("r1", "c1", "Bash")));
    assert_eq!(bench.status(), Status::WaitingForPermission);
    bench.stream(draft(400, answer("r9", Decision::Allowed)));
    assert_eq!(bench.status(), Status::WaitingForPermission);
    bench.stream(draft(500, answer("r1", Decision::Allowed)));
    assert_eq!(bench.status(), Status::Working);
}

#[test]
fn an_open_request_outranks_content_that_streams_on() {
    let mut bench = open_stream();
    bench.stream(draft(100, turn("t1")));
    bench.stream(draft(200, ask_by_id("r1", "c1", "Bash")));
    bench.stream(draft(300, delta(0)));
    bench.stream(draft(400, text("m1", 0)));
    assert_eq!(bench.status(), Status::WaitingForPermission);
}

#[test]
fn open_requests_are_capped() {
    let mut bench = open_stream();
    bench.stream(draft(100, turn("t1")));
    for n in 0..200 {
        bench.stream(draft(200 + n, ask_by_id(&format!("r{n}"), &format!("c{n}"), "Bash")));
    }
    assert_eq!(bench.state().open.len(), 64);
    assert_eq!(bench.state().open[63].request, "r199".into());
}

#[test]
fn a_result_closes_the_main_agents_requests_and_no_subagents() {
    let mut bench = open_stream();
    bench.stream(draft(100, turn("t1")));
    let background = SubagentStarted { background: true, ..subagent() };
    bench.stream(draft(150, background).child("a1"));
    bench.stream(draft(200, ask_by_id("r1", "c1", "Bash")).child("a1"));
    bench.stream(draft(300, ask_by_id("r2", "c2", "Bash")));
    bench.stream(draft(400, stop("t1")).agents(1));
    let state = bench.state();
    assert_eq!(state.status, Status::WaitingForPermission);
    assert_eq!(state.open.len(), 1);
    assert_eq!(state.open[0].request, "r1".into());
    bench.stream(draft(500, answer("r1", Decision::Allowed)));
    assert_eq!(bench.status(), Status::Working, "the subagent goes on");
    bench.stream(draft(600, subagent_end()).child("a1"));
    bench.stream(draft(700, wake("t2")));
    bench.stream(draft(800, stop("t2")).agents(0));
    assert_eq!(bench.status(), Status::Idle);
}

#[test]
fn two_subagents_that_wait_are_two_waits_over_a_result() {
    let mut bench = open_stream();
    bench.stream(draft(100, turn("t1")));
    for (child, request) in [("a1", "r1"), ("a2", "r2")] {
        let background = SubagentStarted { background: true, ..subagent() };
        bench.stream(draft(150, background).child(child));
        bench.stream(draft(200, ask_by_id(request, request, "Bash")).child(child));
    }
    bench.stream(draft(400, stop("t1")).agents(2));
    assert_eq!(bench.state().open.len(), 2);
    bench.stream(draft(500, answer("r1", Decision::Allowed)));
    assert_eq!(bench.status(), Status::WaitingForPermission);
    bench.stream(draft(600, answer("r2", Decision::Denied)));
    assert_eq!(bench.status(), Status::Working);
    bench.stream(draft(700, subagent_end()).child("a1"));
    bench.stream(draft(800, subagent_end()).child("a2"));
    bench.wait(9000);
    assert_eq!(bench.status(), Status::Idle);
}

#[test]
fn an_answer_seen_before_its_request_settles_it() {
    let mut bench = open_stream();
    bench.stream(draft(100, turn("t1")));
    assert!(matches!(
        bench.stream(draft(200, answer("r1", Decision::Denied))),
        Answer::Confirms(_)
    ));
    bench.stream(draft(200, ask_by_id("r1", "c1", "Bash")));
    assert_eq!(bench.status(), Status::Working);
    assert_eq!((bench.count("permission.requested"), bench.count("permission.resolved")), (1, 1));
}

#[test]
fn requests_answers_and_cancels_told_twice_change_nothing() {
    let mut bench = open_stream();
    bench.stream(draft(100, turn("t1")));
    bench.stream(draft(200, ask_by_id("r1", "c1", "Bash")));
    bench.stream(draft(250, ask_by_id("r1", "c1", "Bash")));
    bench.stream(draft(300, answer("r1", Decision::Cancelled)));
    bench.stream(draft(350, answer("r1", Decision::Allowed)));
    bench.stream(draft(380, answer("r7", Decision::Cancelled)));
    bench.stream(draft(390, ask_by_id("r1", "c1", "Bash")));
    assert_eq!((bench.count("permission.requested"), bench.count("permission.resolved")), (1, 1));
    assert_eq!(bench.status(), Status::Working);
}

#[test]
fn known_values_are_updated_and_never_taken_away() {
    let mut bench = Bench::default();
    let known = SessionStarted {
        cwd: Some("/a".into()),
        model: Some("m1".into()),
        ..start(StartSource::Startup)
    };
    bench.stream(draft(0, known));
    bench.hook(draft(50, start(StartSource::Startup)));
    assert_eq!(bench.state().cwd.as_deref(), Some("/a"));
    let later = SessionStarted { model: Some("m2".into()), ..start(StartSource::Startup) };
    bench.hook(draft(60, later));
    assert_eq!(bench.state().model.as_deref(), Some("m2"));
    assert_eq!(bench.state().cwd.as_deref(), Some("/a"));
}

#[test]
fn a_session_with_an_open_stream_does_not_age() {
    let mut bench = open_stream();
    bench.stream(draft(100, turn("t1")));
    for minute in 1..300 {
        bench.stream(draft(minute * 60_000, says(ReportedStatus::Busy)).quiet());
        bench.resolver.tick(at(minute * 60_000 + 59_000), &mut bench.events);
    }
    assert_eq!(bench.path(), [Status::Starting, Status::Working]);
}

#[test]
fn a_stream_whose_end_nobody_saw_lets_others_decide_and_claims_age() {
    let mut bench = open_stream();
    bench.stream(draft(100, turn("t1")));
    bench.hook(draft(5000, stop("p1")).prompt("p1").agents(0));
    assert_eq!(bench.status(), Status::Working, "who is in the stream knows better");
    let origin = Feed::Stream.origin();
    bench.resolver.feed_closed(&key(), at(6000), &origin, &mut bench.events);
    bench.hook(draft(9000, tool("c1", "Bash")).prompt("p1"));
    bench.hook(draft(10_000, stop("p1")).prompt("p1").agents(0));
    bench.wait(11_000);
    assert_eq!(bench.status(), Status::Idle);
}

#[test]
fn an_end_that_hooks_told_counts_when_the_streams_holder_vanishes() {
    let mut bench = open_stream();
    bench.hook(draft(10, start(StartSource::Startup)));
    bench.stream(draft(100, turn("t1")));
    bench.hook(draft(5000, end(EndReason::Exit)));
    assert_eq!(bench.status(), Status::Working);
    let origin = Feed::Stream.origin();
    bench.resolver.feed_closed(&key(), at(6000), &origin, &mut bench.events);
    assert_eq!((bench.status(), bench.count("session.ended")), (Status::Ended, 1));
}

#[test]
fn a_change_names_the_event_that_decided() {
    let mut bench = open_stream();
    bench.stream(draft(100, turn("t1")));
    let started = bench.events.iter().find(|event| event.body.kind() == "turn.started");
    let started = started.expect("a turn").id;
    let change = bench.changes().last().expect("a change");
    assert_eq!(change.because, [started]);
    let explained = bench.resolver.explain(&key(), at(600)).expect("known");
    let decided = explained.decided.expect("a reason");
    assert_eq!((decided.event, decided.age_ms), (started, 500));
    assert_eq!(decided.trust, Some(Trust::Authoritative));
}

/// Drafts of the stream that come together: the state is settled with the last.
fn together(bench: &mut Bench, drafts: Vec<Draft>) {
    let last = drafts.len() - 1;
    for (index, draft) in drafts.into_iter().enumerate() {
        let (origin, at) = (Feed::Stream.origin(), draft.at);
        if index < last {
            bench.resolver.accept_part(draft, &origin, at, &mut bench.events);
        } else {
            bench.resolver.accept(draft, &origin, at, &mut bench.events);
        }
    }
}

#[test]
fn a_turn_whose_next_prompt_waits_is_never_told_as_idle() {
    let mut bench = Bench::default();
    bench.stream(draft(0, turn("t1")));
    together(&mut bench, vec![draft(900, stop("t1")), draft(900, turn("t2"))]);
    assert_eq!(bench.path(), [Status::Working]);
    assert_eq!((bench.count("turn.ended"), bench.count("turn.started")), (1, 2));
    assert_eq!(bench.state().turn, Some("t2".into()));
}

#[test]
fn a_crash_ends_a_session_without_a_moment_of_idle() {
    let mut bench = Bench::default();
    bench.stream(draft(0, turn("t1")));
    let crash = draft(900, end(EndReason::Crashed));
    together(&mut bench, vec![draft(900, turn_end("t1", TurnOutcome::Lost)), crash]);
    assert_eq!(bench.path(), [Status::Working, Status::Ended]);
    assert_eq!(bench.state().outcome, Some(TurnOutcome::Lost));
}

#[test]
fn a_moment_told_together_names_the_draft_that_changed_the_state() {
    let mut bench = Bench::default();
    bench.stream(draft(0, turn("t1")));
    bench.stream(draft(100, ask_by_id("r1", "c1", "Bash")));
    let answered = draft(900, answer("r1", Decision::Allowed));
    together(
        &mut bench,
        vec![answered, draft(900, ModeChanged { mode: "plan".into(), from: None })],
    );
    let resolved = bench.events.iter().find(|event| event.body.kind() == "permission.resolved");
    let resolved = resolved.expect("published").id;
    let last = bench.changes().last().expect("told");
    assert_eq!(last.to, Status::Working);
    assert!(last.because.contains(&resolved), "{:?} without {resolved}", last.because);
}

#[test]
fn a_moment_whose_last_draft_never_comes_is_settled_by_time() {
    let mut bench = Bench::default();
    let origin = Feed::Stream.origin();
    bench.resolver.accept_part(draft(0, turn("t1")), &origin, at(0), &mut bench.events);
    assert_eq!(bench.path(), []);
    bench.resolver.tick(at(250), &mut bench.events);
    assert_eq!(bench.path(), [Status::Working]);
}

#[test]
fn to_be_idle_before_a_prompt_never_counts_after_it_whoever_says_it() {
    let mut bench = Bench::default();
    bench.hook(draft(0, start(StartSource::Startup)));
    bench.hook(draft(600, turn("p1")).prompt("p1"));
    // The stream's first words, held back until it named its session.
    bench.see_at(Feed::Stream, draft(300, says(ReportedStatus::Idle)), at(700));
    assert_eq!(bench.path(), [Status::Idle, Status::Working]);
    bench.see_at(Feed::Stream, draft(310, turn("s1")), at(700));
    bench.stream(draft(800, text("m1", 0)));
    assert_eq!(bench.path(), [Status::Idle, Status::Working]);
    bench.stream(draft(900, says(ReportedStatus::Idle)));
    assert_eq!(bench.status(), Status::Idle);
}
