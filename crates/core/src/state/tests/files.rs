//! What breaks in real life, where a session's file or its process's status file tells what hooks do not, or tells
//! it as well.

use super::bench::*;
use crate::draft::{Draft, Ending};
use crate::event::ReportedStatus::{Busy, Idle};
use crate::event::*;
use crate::id::NativeId;
use crate::process::ProcessRef;
use crate::state::{Activity, Link};

/// A session at work in process 7: prompt p1 at 1000, call c1 of Bash at 2000; hooks and the session's file tell it.
fn at_work() -> Bench {
    let mut bench = Bench::default();
    bench.hook(draft(0, start(StartSource::Startup)).pid(7));
    for feed in [Feed::Hook, Feed::Transcript] {
        bench.see(feed, draft(1000, turn("p1")).prompt("p1"));
    }
    for feed in [Feed::Hook, Feed::Transcript] {
        bench.see(feed, draft(2000, tool("c1", "Bash")).prompt("p1").input("a"));
    }
    assert_eq!(bench.status(), Status::Working);
    assert_eq!((bench.count("turn.started"), bench.count("tool.started")), (1, 1));
    bench
}

/// The same, and the process says that it works.
fn at_work_by_its_word() -> Bench {
    let mut bench = at_work();
    bench.word(2010, says(Busy));
    bench
}

fn interrupted(ms: i64) -> Draft {
    draft(ms, turn_end("p1", TurnOutcome::Interrupted)).prompt("p1")
}

fn over(ms: i64) -> Draft {
    draft(ms, stop("p1")).prompt("p1").agents(0)
}

#[test]
fn a_failure_that_only_the_session_file_tells_leaves_working_at_once() {
    for error in [ErrorKind::RateLimit, ErrorKind::Authentication, ErrorKind::Server] {
        let mut bench = at_work();
        bench.line(draft(3000, failed("p1", error)).prompt("p1"));
        // Its hook comes late, or never.
        bench.see_at(Feed::Hook, draft(3010, failed("p1", error)).prompt("p1"), at(3400));
        let state = bench.state();
        assert_eq!((state.status, state.error), (Status::Idle, Some(error)));
        assert_eq!(bench.count("turn.ended"), 1);
        bench.hook(draft(9000, turn("p2")).prompt("p2"));
        assert_eq!((bench.status(), bench.state().error), (Status::Working, None));
    }
}

#[test]
fn a_failure_stays_when_the_process_says_that_it_is_idle() {
    let mut bench = at_work_by_its_word();
    bench.hook(draft(3000, failed("p1", ErrorKind::Authentication)).prompt("p1"));
    bench.word(3300, says(Idle));
    bench.wait(120_000);
    let state = bench.state();
    assert_eq!((state.status, state.outcome), (Status::Idle, Some(TurnOutcome::Failed)));
    assert_eq!(state.error, Some(ErrorKind::Authentication));
}

#[test]
fn an_interrupt_that_the_session_file_tells_is_idle_at_once_and_no_success() {
    let mut bench = at_work();
    bench.line(interrupted(5000));
    let state = bench.state();
    assert_eq!((state.status, state.outcome), (Status::Idle, Some(TurnOutcome::Interrupted)));
    bench.wait(120_000);
    assert_eq!(bench.status(), Status::Idle);
    let told = bench.changes().filter(|change| change.outcome == Some(TurnOutcome::Completed));
    assert_eq!(told.count(), 0);
}

#[test]
fn an_interrupt_that_the_status_file_tells_as_well_is_the_same_in_any_order() {
    for file_first in [true, false] {
        let mut bench = at_work_by_its_word();
        let line = |bench: &mut Bench| bench.see_at(Feed::Transcript, interrupted(5000), at(5200));
        let word = |bench: &mut Bench| bench.see_at(Feed::Status, rest(5030), at(5200));
        if file_first {
            line(&mut bench);
            word(&mut bench);
        } else {
            word(&mut bench);
            line(&mut bench);
        }
        let state = bench.state();
        assert_eq!((state.status, state.outcome), (Status::Idle, Some(TurnOutcome::Interrupted)));
        assert_eq!(bench.path(), [Status::Idle, Status::Working, Status::Idle]);
    }
}

fn rest(ms: i64) -> Draft {
    draft(ms, says(Idle)).pid(7).stands()
}

#[test]
fn an_interrupt_before_the_first_byte_leaves_no_mark_but_in_the_status_file() {
    let mut bench = Bench::default();
    bench.hook(draft(0, start(StartSource::Startup)).pid(7));
    bench.word(100, says(Idle));
    bench.hook(draft(1000, turn("p1")).prompt("p1"));
    bench.word(1050, says(Busy));
    bench.line(draft(1300, turn("p1")).prompt("p1"));
    bench.word(4000, says(Idle));
    assert_eq!((bench.status(), bench.dones()), (Status::Idle, 0));
    bench.wait(60 * 60_000);
    assert_eq!((bench.status(), bench.dones()), (Status::Idle, 0));
}

#[test]
fn silence_after_a_tool_result_is_decided_by_who_still_speaks() {
    let silent = |mut bench: Bench| {
        for feed in [Feed::Hook, Feed::Transcript] {
            bench.see(feed, draft(3000, tool_end("c1", ToolOutcome::Ok)).prompt("p1"));
        }
        bench.wait(9 * 60_000);
        bench
    };
    let mut alone = silent(at_work());
    alone.wait(11 * 60_000);
    assert_eq!(alone.status(), Status::Stale, "nobody does");
    let mut works = silent(at_work_by_its_word());
    works.wait(11 * 60_000);
    assert_eq!(works.status(), Status::Working, "its process says that it works");
    works.word(12 * 60_000, says(Idle));
    assert_eq!(works.status(), Status::Idle);
    let mut late = silent(at_work());
    late.line(over(10 * 60_000));
    late.wait(11 * 60_000);
    assert_eq!((late.status(), late.dones()), (Status::Idle, 1), "its file tells the end");
}

#[test]
fn a_subagents_own_file_changes_the_subagent_only() {
    let mut bench = at_work();
    bench.hook(draft(2100, subagent()).child("a1"));
    bench.line(draft(2120, subagent()).child("a1"));
    bench.line(draft(2200, tool("c2", "Read")).child("a1"));
    bench.line(draft(2300, tool_end("c2", ToolOutcome::Ok)).child("a1"));
    bench.line(draft(2350, text("m2", 0)).child("a1"));
    bench.line(draft(2400, subagent_end()).child("a1"));
    bench.wait(8000);
    let state = bench.state();
    assert_eq!((state.status, state.children), (Status::Working, vec![]));
    assert_eq!((bench.count("subagent.started"), bench.count("subagent.ended")), (1, 1));
    bench.hook(draft(9000, subagent_end()).child("a1"));
    assert_eq!((bench.status(), bench.count("subagent.ended")), (Status::Working, 1));
}

#[test]
fn background_work_is_told_as_done_once_whoever_tells_of_it() {
    let launched = || SubagentStarted { background: true, call: Some("c1".into()), ..subagent() };
    for word in [true, false] {
        let mut bench = at_work();
        if word {
            bench.word(2010, says(Busy));
        }
        bench.line(draft(2500, launched()).child("a1"));
        bench.line(draft(2500, tool_end("c1", ToolOutcome::Ok)).prompt("p1"));
        let stopped = draft(3000, stop("p1")).prompt("p1").agents(1);
        bench.hook(stopped.clone().ending(Ending::Announced));
        bench.line(stopped);
        bench.wait(60_000);
        assert_eq!((bench.status(), bench.dones()), (Status::Working, 0), "a1 runs");
        // A notice that nobody has typed anything says nothing of what runs.
        bench.hook(draft(63_000, says(Idle)).quiet());
        assert_eq!((bench.status(), bench.dones()), (Status::Working, 0));
        bench.line(draft(70_000, subagent_end()).child("a1"));
        bench.line(draft(70_500, wake("p2")).prompt("p2"));
        bench.hook(draft(70_600, wake("p2")).prompt("p2"));
        let stopped = draft(72_000, stop("p2")).prompt("p2").agents(0);
        bench.hook(stopped.clone().ending(Ending::Announced));
        bench.line(stopped);
        if word {
            bench.word(72_300, says(Idle));
        }
        bench.wait(90_000);
        assert_eq!((bench.status(), bench.dones()), (Status::Idle, 1));
    }
}

#[test]
fn a_result_that_is_read_late_does_not_revive_a_finished_turn() {
    let late = |ms| draft(ms, tool_end("c1", ToolOutcome::Ok)).prompt("p1");
    let mut bench = at_work();
    bench.hook(over(3000));
    bench.line(late(3300));
    bench.wait(5000);
    assert_eq!((bench.status(), bench.count("tool.ended")), (Status::Idle, 1));
    let mut bench = at_work_by_its_word();
    bench.word(3000, says(Idle));
    bench.line(late(3300));
    bench.hook(late(3310));
    bench.wait(5000);
    assert_eq!((bench.status(), bench.count("tool.ended")), (Status::Idle, 1));
    // Neither does what was said before the end.
    bench.see_at(Feed::Transcript, draft(2900, text("m1", 0)).prompt("p1"), at(5100));
    assert_eq!(bench.status(), Status::Idle);
}

#[test]
fn a_wait_is_cleared_by_its_own_call_in_the_session_file_and_by_no_other() {
    let mut bench = at_work();
    bench.line(draft(2050, tool("c2", "Read")).prompt("p1").input("b"));
    bench.hook(draft(2100, ask("Bash")).prompt("p1").input("a"));
    bench.line(draft(2500, tool_end("c2", ToolOutcome::Ok)).prompt("p1"));
    assert_eq!(bench.status(), Status::WaitingForPermission);
    bench.line(draft(9000, tool_end("c1", ToolOutcome::Ok)).prompt("p1"));
    assert_eq!((bench.status(), bench.count("permission.resolved")), (Status::Working, 1));
    let mut bench = at_work();
    bench.line(draft(2500, tool_end("c1", ToolOutcome::Ok)).prompt("p1"));
    bench.see_at(Feed::Hook, draft(2100, ask("Bash")).prompt("p1").input("a"), at(2600));
    assert_eq!(bench.status(), Status::Working, "it was over before it was heard of");
    assert!(!bench.path().contains(&Status::WaitingForPermission));
}

#[test]
fn a_no_that_fires_no_hook_clears_the_wait_and_ends_the_turn() {
    let mut bench = at_work();
    bench.hook(draft(2100, ask("Bash")).prompt("p1").input("a"));
    assert_eq!(bench.status(), Status::WaitingForPermission);
    bench.line(draft(6000, tool_end("c1", ToolOutcome::Denied)).prompt("p1"));
    bench.line(interrupted(6000));
    let state = bench.state();
    assert_eq!((state.status, state.open), (Status::Idle, vec![]));
    assert_eq!(state.outcome, Some(TurnOutcome::Interrupted));
    let decision = bench.events.iter().find_map(|event| match &event.body {
        Body::PermissionResolved(resolved) => Some(resolved.decision),
        _ => None,
    });
    assert_eq!((decision, bench.dones()), (Some(Decision::Denied), 1));
}

#[test]
fn a_wait_is_told_once_whether_or_not_the_process_and_a_notice_confirm_it() {
    let notice = || Notice {
        level: NoticeLevel::Info,
        code: "permission_prompt".to_owned(),
        count: None,
        text: None,
    };
    for (word, noticed) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut bench = at_work();
        bench.hook(draft(2100, ask("Bash")).prompt("p1").input("a"));
        if word {
            bench.word(2400, waits(WaitingFor::Permission));
        }
        if noticed {
            bench.hook(draft(8100, notice()));
        }
        bench.wait(60_000);
        assert_eq!(bench.status(), Status::WaitingForPermission);
        assert_eq!(bench.count("permission.requested"), 1);
        assert_eq!(bench.path().iter().filter(|s| **s == Status::WaitingForPermission).count(), 1);
    }
}

#[test]
fn done_is_told_once_with_and_without_notices_that_nobody_types() {
    for notices in [0, 3] {
        let mut bench = at_work_by_its_word();
        bench.hook(over(3000).ending(Ending::Announced));
        bench.line(over(3050));
        bench.word(3300, says(Idle));
        for minute in 1..=notices {
            bench.hook(draft(3000 + minute * 60_000, says(Idle)).quiet());
        }
        bench.wait(10 * 60_000);
        assert_eq!((bench.status(), bench.dones()), (Status::Idle, 1));
    }
}

#[test]
fn compaction_is_no_end_and_no_new_session_whoever_tells_of_it() {
    let mut bench = at_work_by_its_word();
    bench.hook(draft(3000, compaction()));
    assert_eq!(bench.state().activity, Some(Activity::Compacting));
    bench.hook(draft(3600, start(StartSource::Compact)).pid(7));
    bench.line(draft(3650, compacted()));
    bench.hook(draft(3700, compacted()));
    bench.line(draft(4000, tool_end("c1", ToolOutcome::Ok)).prompt("p1"));
    assert_eq!((bench.status(), bench.state().activity), (Status::Working, None));
    assert_eq!((bench.count("session.started"), bench.dones()), (1, 0));
    assert_eq!(bench.count("compaction.ended"), 1);

    // By hand, while it rests: it works for a while and is no more done than before.
    let mut idle = at_work_by_its_word();
    idle.hook(over(3000));
    idle.word(3200, says(Idle));
    idle.wait(9000);
    let done = idle.dones();
    idle.hook(draft(10_000, compaction()));
    idle.word(10_050, says(Busy));
    assert_eq!(idle.status(), Status::Working);
    idle.line(draft(11_000, compacted()));
    idle.word(11_100, says(Idle));
    idle.wait(60_000);
    assert_eq!((idle.status(), idle.state().activity), (Status::Idle, None));
    assert_eq!((idle.count("session.started"), idle.dones(), done), (1, 1, 1));
}

#[test]
fn an_older_snapshot_of_the_status_file_that_is_taken_later_loses() {
    let mut bench = at_work();
    bench.hook(draft(10_000, ask("Bash")).prompt("p1").input("a"));
    let old = draft(9000, says(Busy)).pid(7).stands();
    bench.see_at(Feed::Status, old, at(11_000));
    bench.wait(11_500);
    assert_eq!((bench.status(), bench.state().open.len()), (Status::WaitingForPermission, 1));
}

#[test]
fn a_process_whose_file_names_another_session_has_cleared_the_first() {
    // Whether or not hooks tell of the end, and of the start.
    for (told, announced) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut bench = at_work_by_its_word();
        bench.hook(over(3000));
        bench.word(3200, says(Idle));
        bench.wait(4500);
        if told {
            bench.hook(draft(5000, end(EndReason::Clear)).pid(7));
        }
        if announced {
            bench.hook(draft(5100, start(StartSource::Clear)).of("session-2").pid(7));
        }
        bench.see(Feed::Status, draft(5200, says(Idle)).of("session-2").pid(7).stands());
        bench.wait(60_000);
        assert_eq!(bench.status(), Status::Ended, "{told} {announced}");
        let next = bench.state_of("session-2");
        assert_eq!(next.status, Status::Idle, "{told} {announced}");
        let link = Link { id: NativeId::from("session-1"), how: StartSource::Clear };
        assert_eq!(next.parent, Some(link), "{told} {announced}");
        let ends = bench.events.iter().filter_map(|event| match &event.body {
            Body::SessionEnded(end) => Some(end.reason),
            _ => None,
        });
        assert_eq!(ends.collect::<Vec<_>>(), [EndReason::Clear], "{told} {announced}");
        let live = bench.resolver.snapshot().into_iter().filter(|it| it.status != Status::Ended);
        assert_eq!(live.count(), 1, "one row, not two live ones");
    }
}

#[test]
fn a_resumed_session_is_one_row_and_nothing_in_it_counts_twice() {
    let usage = |message: &str| UsageUpdated {
        message: Some(message.into()),
        usage: Some(Usage {
            input: Some(10),
            output: Some(5),
            cache_read: None,
            cache_creation: None,
        }),
        cost_total_usd: None,
        context_tokens: None,
        context_limit: None,
    };
    let mut bench = at_work();
    bench.line(draft(2500, usage("m1")).prompt("p1"));
    bench.line(draft(2600, usage("m1")).prompt("p1"));
    bench.hook(over(3000));
    bench.wait(5000);
    bench.hook(draft(9000, end(EndReason::Exit)).pid(7));
    bench.hook(draft(60_000, start(StartSource::Resume)).pid(8));
    bench.word_of(8, 60_100, says(Idle));
    // The file is read again from its beginning.
    bench.see_at(Feed::Transcript, draft(1000, turn("p1")).prompt("p1"), at(60_200));
    bench.see_at(Feed::Transcript, draft(2500, usage("m1")).prompt("p1"), at(60_200));
    bench.see_at(Feed::Transcript, over(3000), at(60_200));
    bench.wait(62_000);
    assert_eq!((bench.status(), bench.resolver.snapshot().len()), (Status::Idle, 1));
    assert_eq!((bench.count("turn.started"), bench.count("turn.ended")), (1, 1));
    assert_eq!((bench.count("usage.updated"), bench.dones()), (1, 1));
}

#[test]
fn a_nested_session_is_its_own_in_every_source() {
    let mut bench = at_work_by_its_word();
    let mut inner = draft(3000, start(StartSource::Startup)).of("session-2").pid(9);
    inner.hints.ancestors = vec![ProcessRef { pid: 7, start: Some(700) }];
    bench.hook(inner);
    bench.see(Feed::Status, draft(3100, says(Busy)).of("session-2").pid(9).stands());
    bench.line(draft(3200, turn("q1")).prompt("q1").of("session-2"));
    assert_eq!(bench.state_of("session-2").status, Status::Working);
    bench.see(
        Feed::Status,
        draft(4000, waits(WaitingFor::Permission)).of("session-2").pid(9).stands(),
    );
    assert_eq!(bench.state_of("session-2").status, Status::WaitingForPermission);
    assert_eq!(bench.status(), Status::Working, "the outer one does not wait");
    bench.see(Feed::Status, draft(5000, end(EndReason::Exit)).of("session-2").pid(9));
    assert_eq!(bench.state_of("session-2").status, Status::Ended);
    let link = Link { id: "session-1".into(), how: StartSource::Startup };
    assert_eq!(bench.state_of("session-2").parent, Some(link));
    assert_eq!((bench.status(), bench.state().parent), (Status::Working, None));
}

#[test]
fn a_session_that_only_begins_and_ends_is_never_done() {
    let mut bench = Bench::default();
    bench.hook(draft(0, start(StartSource::Startup)).pid(7));
    bench.word(100, says(Idle));
    bench.hook(draft(1000, end(EndReason::Exit)).pid(7));
    bench.see(Feed::Status, draft(1010, end(EndReason::Exit)).pid(7));
    bench.wait(60_000);
    assert_eq!(
        (bench.status(), bench.dones(), bench.count("session.ended")),
        (Status::Ended, 0, 1)
    );
    let calls = bench.changes().filter(|change| change.waiting_for.is_some());
    assert_eq!(calls.count(), 0);
}

#[test]
fn silence_alone_ends_no_session() {
    // Whether it has a terminal is asked nowhere.
    let mut bench = at_work_by_its_word();
    bench.hook(over(3000));
    bench.word(3200, says(Idle));
    bench.wait(60_000);
    assert_eq!(bench.status(), Status::Idle);
    bench.wait(20 * 60 * 60_000);
    assert_eq!(bench.status(), Status::Idle);
    bench.wait(30 * 60 * 60_000);
    assert_eq!(bench.status(), Status::Stale, "nobody knows, and it is not said to be over");
}

#[test]
fn a_session_file_alone_tells_work_and_its_end_and_no_wait() {
    let mut bench = Bench::default();
    bench.line(draft(1000, turn("p1")).prompt("p1"));
    bench.line(draft(2000, tool("c1", "Bash")).prompt("p1").input("a"));
    bench.wait(18 * 60_000);
    assert_eq!((bench.status(), bench.state().waiting_for), (Status::Working, None));
    bench.line(draft(18 * 60_000, tool_end("c1", ToolOutcome::Ok)).prompt("p1"));
    bench.line(draft(18 * 60_000 + 900, stop("p1")).prompt("p1").ending(Ending::Sealed));
    bench.line(draft(18 * 60_000 + 950, stop("p1")).prompt("p1"));
    bench.wait(19 * 60_000);
    assert_eq!(bench.path(), [Status::Working, Status::Idle]);
    assert_eq!((bench.dones(), bench.state().source), (1, StartSource::Discovered));
}

#[test]
fn a_call_that_a_resumed_process_calls_off_begins_no_work() {
    let mut bench = at_work();
    // It was killed, which nobody saw.
    bench.wait(2 * 60 * 60_000);
    assert_eq!(bench.status(), Status::Stale);
    let resumed = 3 * 60 * 60_000;
    bench.hook(draft(resumed, start(StartSource::Resume)).pid(8));
    bench.line(draft(resumed + 50, tool_end("c1", ToolOutcome::Interrupted)).prompt("p1"));
    bench.wait(resumed + 20_000);
    assert_eq!(bench.status(), Status::Idle);
    // The same where no hook tells of the start.
    let mut bench = at_work();
    bench.wait(2 * 60 * 60_000);
    bench.word_of(8, resumed, says(Idle));
    bench.line(draft(resumed + 50, tool_end("c1", ToolOutcome::Interrupted)).prompt("p1"));
    bench.wait(resumed + 20_000);
    assert_eq!(bench.status(), Status::Idle);
    // The same where nobody but its file tells anything.
    let mut bench = at_work();
    bench.wait(2 * 60 * 60_000);
    bench.line(draft(resumed + 50, tool_end("c1", ToolOutcome::Interrupted)).prompt("p1"));
    bench.line(draft(resumed + 51, turn_end("p1", TurnOutcome::Lost)).prompt("p1"));
    let state = bench.state();
    assert_eq!((state.status, state.outcome), (Status::Idle, Some(TurnOutcome::Lost)));
}
