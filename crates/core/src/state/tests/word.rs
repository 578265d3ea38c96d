//! What a process keeps saying of itself, against what others saw.

use super::bench::*;
use crate::draft::Draft;
use crate::event::ReportedStatus::{Busy, Idle, Unknown};
use crate::event::*;

/// Hooks tell of prompt p1 at 1000 and call c1 at 2000; process 7 says that it works since 1050.
fn at_work() -> Bench {
    let mut bench = Bench::default();
    bench.hook(draft(0, start(StartSource::Startup)).pid(7));
    bench.word(100, says(Idle));
    bench.hook(draft(1000, turn("p1")).prompt("p1"));
    bench.word(1050, says(Busy));
    bench.hook(draft(2000, tool("c1", "Bash")).prompt("p1").input("a"));
    assert_eq!(bench.status(), Status::Working);
    bench
}

/// Hooks tell that the turn of p1 is over.
fn over(ms: i64) -> Draft {
    draft(ms, stop("p1")).prompt("p1").agents(0)
}

fn asks(ms: i64) -> Draft {
    draft(ms, ask("Bash")).prompt("p1").input("a")
}

#[test]
fn a_stop_hook_ends_no_turn_while_the_process_says_that_it_works() {
    let mut bench = at_work();
    bench.hook(over(3000));
    bench.wait(9000);
    assert_eq!((bench.status(), bench.dones()), (Status::Working, 0));
    bench.word(9500, says(Idle));
    let state = bench.state();
    assert_eq!((state.status, state.outcome), (Status::Idle, Some(TurnOutcome::Completed)));
    bench.wait(60_000);
    assert_eq!((bench.status(), bench.dones()), (Status::Idle, 1));
}

#[test]
fn a_turn_is_over_when_the_process_says_that_it_is_idle_whatever_hooks_say() {
    let mut bench = at_work();
    bench.word(3000, says(Idle));
    assert_eq!((bench.status(), bench.state().outcome), (Status::Idle, None));
    // The hook that tells how it ended comes later, and of no moment after.
    bench.see_at(Feed::Hook, over(2990), at(3200));
    let state = bench.state();
    assert_eq!((state.status, state.outcome), (Status::Idle, Some(TurnOutcome::Completed)));
    bench.wait(60_000);
    assert_eq!(bench.path(), [Status::Idle, Status::Working, Status::Idle]);
}

#[test]
fn a_process_that_contradicts_everybody_is_believed_for_half_a_minute() {
    let mut bench = at_work();
    bench.hook(over(3000));
    bench.wait(32_900);
    assert_eq!(bench.status(), Status::Working);
    bench.wait(33_000);
    assert_eq!((bench.status(), bench.dones()), (Status::Idle, 1));

    let mut waiting = at_work();
    waiting.word(2500, waits(WaitingFor::Permission));
    waiting.hook(over(3000));
    waiting.wait(32_900);
    assert_eq!(waiting.status(), Status::WaitingForPermission);
    waiting.wait(33_000);
    assert_eq!(waiting.status(), Status::Idle);
}

#[test]
fn a_process_that_nobody_contradicts_is_believed_for_long() {
    let mut bench = at_work();
    bench.wait(5 * 60 * 60_000);
    assert_eq!(bench.status(), Status::Working, "a tool may run for hours");
    bench.wait(25 * 60 * 60_000);
    assert_eq!(bench.status(), Status::Stale, "and nothing holds for ever");
}

#[test]
fn a_prompt_that_a_hook_refuses_is_work_no_longer_than_the_process_says() {
    let mut bench = Bench::default();
    bench.hook(draft(0, start(StartSource::Startup)).pid(7));
    bench.word(100, says(Idle));
    bench.wait(5000);
    bench.hook(draft(6000, turn("p1")).prompt("p1"));
    assert_eq!(bench.status(), Status::Idle, "its word follows in a moment, or it was no prompt");
    bench.word(6010, says(Busy));
    assert_eq!(bench.status(), Status::Working);
    bench.word(6060, says(Idle));
    assert_eq!(bench.status(), Status::Idle);
    bench.wait(120_000);
    assert_eq!((bench.status(), bench.dones()), (Status::Idle, 0));

    // The session file says so, too.
    let mut bench = Bench::default();
    bench.hook(draft(0, start(StartSource::Startup)).pid(7));
    bench.word(100, says(Idle));
    bench.hook(draft(6000, turn("p1")).prompt("p1"));
    bench.line(draft(6100, turn_end("p1", TurnOutcome::Blocked)).prompt("p1"));
    bench.wait(120_000);
    let state = bench.state();
    assert_eq!((state.status, state.outcome), (Status::Idle, Some(TurnOutcome::Blocked)));
    assert!(!bench.path().contains(&Status::Working));
}

#[test]
fn of_several_processes_who_waits_is_heard_before_who_works() {
    let mut bench = at_work();
    bench.hook(draft(2100, start(StartSource::Resume)).pid(8));
    bench.word_of(8, 2200, says(Idle));
    bench.wait(5000);
    assert_eq!(bench.status(), Status::Working, "one of them works");
    bench.word_of(8, 6000, waits(WaitingFor::Permission));
    assert_eq!(bench.status(), Status::WaitingForPermission, "one of them waits");
    bench.word(7000, says(Busy));
    assert_eq!(bench.status(), Status::WaitingForPermission);
    bench.wait(60_000);
    assert_eq!(bench.status(), Status::WaitingForPermission, "a human may take long");
    bench.word_of(8, 61_000, says(Busy));
    assert_eq!(bench.status(), Status::Working);
    bench.word_of(8, 62_000, says(Idle));
    assert_eq!(bench.status(), Status::Working, "the other one works");
    bench.wait(120_000);
    assert_eq!(bench.status(), Status::Working);
    bench.word(121_000, says(Idle));
    assert_eq!(bench.status(), Status::Idle);
}

#[test]
fn a_process_that_left_the_session_counts_no_more() {
    for word in [says(Busy), waits(WaitingFor::Permission)] {
        let mut bench = at_work();
        bench.word(3000, says(Idle));
        bench.hook(draft(3100, start(StartSource::Resume)).pid(8));
        bench.word_of(8, 3200, says(Idle));
        bench.word_of(8, 4000, word);
        assert_ne!(bench.status(), Status::Idle);
        bench.see(Feed::Status, draft(5000, end(EndReason::Exit)).pid(8));
        assert_eq!(bench.status(), Status::Idle);
        bench.wait(60_000);
        assert_eq!(bench.status(), Status::Idle);
    }
}

#[test]
fn a_process_that_took_up_another_session_counts_no_more_in_the_first() {
    let mut bench = at_work();
    bench.see(Feed::Status, draft(5000, says(Busy)).of("session-2").pid(7).stands());
    assert_eq!(bench.status(), Status::Ended);
    assert_eq!(bench.state_of("session-2").status, Status::Working);
}

#[test]
fn a_request_is_shown_a_second_after_the_process_said_that_it_works() {
    let mut bench = at_work();
    bench.hook(asks(2100));
    assert_eq!(bench.status(), Status::Working, "somebody may decide before anybody is asked");
    bench.wait(3090);
    assert_eq!(bench.status(), Status::Working);
    bench.wait(3100);
    assert_eq!(bench.status(), Status::WaitingForPermission);
}

#[test]
fn a_request_is_shown_at_once_when_the_process_says_that_it_waits() {
    let mut bench = at_work();
    bench.hook(asks(2100));
    bench.word(2150, waits(WaitingFor::Permission));
    let state = bench.state();
    assert_eq!((state.status, state.open.len()), (Status::WaitingForPermission, 1));
    assert_eq!(bench.count("permission.requested"), 1);
}

#[test]
fn a_request_that_is_decided_before_anybody_is_asked_is_never_a_wait() {
    let mut bench = at_work();
    bench.hook(asks(2100));
    bench.hook(draft(2400, tool_end("c1", ToolOutcome::Ok)).prompt("p1"));
    bench.wait(9000);
    assert_eq!(bench.status(), Status::Working);
    assert!(!bench.path().contains(&Status::WaitingForPermission));
    assert_eq!((bench.count("permission.requested"), bench.count("permission.resolved")), (1, 1));
}

#[test]
fn a_process_that_works_again_after_waiting_was_answered() {
    let mut bench = at_work();
    bench.hook(asks(2100));
    bench.word(2150, waits(WaitingFor::Permission));
    bench.word(5000, says(Busy));
    let state = bench.state();
    assert_eq!((state.status, state.open), (Status::Working, vec![]));
    bench.wait(9000);
    let decision = bench.events.iter().find_map(|event| match &event.body {
        Body::PermissionResolved(resolved) => Some(resolved.decision),
        _ => None,
    });
    assert_eq!(decision, Some(Decision::Allowed), "whoever goes on was let");
}

#[test]
fn a_process_that_is_idle_asks_nothing_any_more() {
    // "No" and Esc: no hook tells.
    let mut bench = at_work();
    bench.hook(asks(2100));
    bench.word(2150, waits(WaitingFor::Permission));
    bench.word(5000, says(Idle));
    let state = bench.state();
    assert_eq!((state.status, state.open), (Status::Idle, vec![]));
    assert_eq!((bench.count("permission.resolved"), bench.dones()), (1, 0));
    // Nobody saw it wait, either.
    let mut bench = at_work();
    bench.hook(asks(2100));
    bench.word(5000, says(Idle));
    assert_eq!((bench.status(), bench.state().open), (Status::Idle, vec![]));
}

#[test]
fn what_is_asked_while_another_dialog_is_open_is_answered_with_it() {
    let mut bench = at_work();
    bench.hook(draft(2050, tool("c2", "Write")).prompt("p1").input("b"));
    bench.hook(asks(2100));
    bench.word(2150, waits(WaitingFor::Permission));
    bench.hook(draft(5600, ask("Write")).prompt("p1").input("b"));
    assert_eq!(bench.state().open.len(), 2);
    // The file says no more than that it waits until both are answered.
    bench.word(9000, says(Busy));
    assert_eq!(bench.status(), Status::Working);
    bench.wait(60_000);
    assert_eq!((bench.status(), bench.state().open), (Status::Working, vec![]));
}

#[test]
fn what_is_asked_as_the_process_goes_on_is_open() {
    let mut bench = at_work();
    bench.hook(asks(2100));
    bench.word(2150, waits(WaitingFor::Permission));
    bench.hook(draft(8000, tool("c2", "Write")).prompt("p1").input("b"));
    bench.hook(draft(8900, ask("Write")).prompt("p1").input("b"));
    bench.word(9000, says(Busy));
    let open = bench.state().open;
    assert_eq!(open.iter().map(|open| open.call.clone()).collect::<Vec<_>>(), [Some("c2".into())]);
    bench.word(9300, waits(WaitingFor::Permission));
    assert_eq!((bench.status(), bench.state().open.len()), (Status::WaitingForPermission, 1));
}

#[test]
fn what_another_process_says_of_itself_answers_nothing() {
    for word in [says(Idle), says(Busy), says(ReportedStatus::Shell)] {
        let mut bench = at_work();
        bench.hook(asks(2100));
        bench.word(2150, waits(WaitingFor::Permission));
        bench.hook(draft(5000, start(StartSource::Resume)).pid(8));
        bench.word_of(8, 5100, word);
        let state = bench.state();
        assert_eq!((state.status, state.open.len()), (Status::WaitingForPermission, 1));
        bench.word(9000, says(Busy));
        assert_eq!((bench.status(), bench.state().open), (Status::Working, vec![]));
    }
}

#[test]
fn a_request_heard_of_after_the_process_said_that_it_is_idle_waits_for_nobody() {
    let mut bench = at_work();
    bench.word(2500, says(Idle));
    bench.see_at(Feed::Hook, asks(2100), at(2600));
    let state = bench.state();
    assert_eq!((state.status, state.open), (Status::Idle, vec![]));
    // The same if it was seen to wait and to go on.
    let mut bench = at_work();
    bench.word(2150, waits(WaitingFor::Permission));
    bench.word(2500, says(Busy));
    bench.see_at(Feed::Hook, asks(2100), at(2600));
    bench.wait(9000);
    assert_eq!((bench.status(), bench.state().open), (Status::Working, vec![]));
}

#[test]
fn a_wait_that_nobody_else_tells_is_shown_as_the_process_says() {
    for (waiting_for, status) in [
        (WaitingFor::Permission, Status::WaitingForPermission),
        (WaitingFor::Question, Status::WaitingForInput),
    ] {
        let mut bench = at_work();
        bench.word(2500, waits(waiting_for));
        let state = bench.state();
        assert_eq!((state.status, state.waiting_for), (status, Some(waiting_for)));
        bench.wait(20 * 60_000);
        assert_eq!(bench.status(), status, "a human may take long");
    }
}

#[test]
fn what_an_open_request_waits_for_is_known_better_than_what_the_process_calls_it() {
    let mut bench = at_work();
    bench.hook(draft(2050, tool("c2", "ExitPlanMode")).prompt("p1").input("b"));
    bench.hook(draft(2100, ask_for("ExitPlanMode", WaitingFor::Plan)).prompt("p1").input("b"));
    bench.word(2150, waits(WaitingFor::Permission));
    let state = bench.state();
    assert_eq!(
        (state.status, state.waiting_for),
        (Status::WaitingForInput, Some(WaitingFor::Plan))
    );
}

#[test]
fn a_word_nobody_knows_counts_for_nothing() {
    let strange = || StatusReported { raw: Some("hibernating".to_owned()), ..says(Unknown) };
    let mut bench = at_work();
    bench.word(2500, strange());
    assert_eq!(bench.status(), Status::Working);
    bench.hook(over(3000));
    bench.wait(4000);
    assert_eq!((bench.status(), bench.dones()), (Status::Idle, 1), "hooks decide alone");
    let mut bench = at_work();
    bench.word(2500, waits(WaitingFor::Permission));
    bench.word(2600, strange());
    bench.wait(4000);
    assert_eq!(bench.status(), Status::Working, "what it said before counts no more");
}

#[test]
fn an_older_word_that_is_read_later_changes_nothing() {
    let mut bench = at_work();
    bench.word(5000, says(Idle));
    bench.see_at(Feed::Status, draft(4000, says(Busy)).pid(7).stands(), at(6000));
    bench.wait(9000);
    assert_eq!(bench.status(), Status::Idle);
}

#[test]
fn while_a_stream_is_watched_its_word_counts_alone() {
    let mut bench = Bench::default();
    bench.stream(draft(0, start(StartSource::Startup)).pid(7));
    bench.stream(draft(1000, turn("t1")).pid(7));
    bench.word(1100, says(Idle));
    assert_eq!(bench.status(), Status::Working);
    bench.word(1200, waits(WaitingFor::Permission));
    assert_eq!(bench.status(), Status::Working);
    bench.stream(draft(2000, stop("t1")).agents(0).pid(7));
    bench.word(2100, says(Busy));
    bench.wait(9000);
    assert_eq!(bench.status(), Status::Idle);
}

#[test]
fn to_be_idle_again_is_told_once_however_often_the_file_is_written() {
    let mut bench = at_work();
    bench.word(3000, says(Idle));
    for minute in 1..5 {
        bench.word(minute * 60_000, says(Idle));
    }
    bench.wait(10 * 60_000);
    assert_eq!(bench.path(), [Status::Idle, Status::Working, Status::Idle]);
}
