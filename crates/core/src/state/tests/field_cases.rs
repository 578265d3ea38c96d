//! What breaks in real life, and what is right then.

use super::bench::*;
use crate::event::*;
use crate::state::Activity;

/// A session at work, told by hooks: prompt p1 at 1000, call c1 of Bash at 2000.
fn at_work() -> Bench {
    let mut bench = Bench::default();
    bench.hook(draft(0, start(StartSource::Startup)));
    bench.hook(draft(1000, turn("p1")).prompt("p1"));
    bench.hook(draft(2000, tool("c1", "Bash")).prompt("p1").input("a"));
    assert_eq!(bench.status(), Status::Working);
    bench
}

#[test]
fn a_turn_that_fails_at_the_api_leaves_working_at_once() {
    for error in [ErrorKind::RateLimit, ErrorKind::Authentication, ErrorKind::Server] {
        let mut bench = at_work();
        bench.hook(draft(3000, failed("p1", error)).prompt("p1"));
        let state = bench.state();
        assert_eq!(state.status, Status::Idle);
        assert_eq!((state.outcome, state.error), (Some(TurnOutcome::Failed), Some(error)));
        bench.hook(draft(9000, turn("p2")).prompt("p2"));
        let state = bench.state();
        assert_eq!((state.status, state.outcome, state.error), (Status::Working, None, None));
    }
}

#[test]
fn an_interrupt_that_no_hook_tells_becomes_stale_and_never_works_for_ever() {
    let mut bench = at_work();
    bench.wait(30 * 60_000);
    assert_eq!(bench.status(), Status::Working, "a tool may be slow and silent");
    bench.wait(3 * 60 * 60_000);
    assert_eq!(bench.status(), Status::Stale);
    assert_eq!(bench.dones(), 0);
    bench.hook(draft(4 * 60 * 60_000, turn("p2")).prompt("p2"));
    assert_eq!(bench.status(), Status::Working);
    let lost = bench.events.iter().filter(
        |event| matches!(&event.body, Body::TurnEnded(end) if end.outcome == TurnOutcome::Lost),
    );
    assert_eq!(lost.count(), 1);
}

#[test]
fn an_interrupt_that_the_status_file_tells_is_idle_within_seconds() {
    let mut bench = at_work();
    bench.see(Feed::Status, draft(5000, says(ReportedStatus::Idle)));
    assert_eq!(bench.status(), Status::Idle);
    assert_eq!(bench.state().outcome, None);
}

#[test]
fn silence_after_a_tool_result_becomes_stale_and_a_late_event_restores_it() {
    let mut bench = at_work();
    bench.hook(draft(3000, tool_end("c1", ToolOutcome::Ok)).prompt("p1"));
    bench.wait(9 * 60_000);
    assert_eq!(bench.status(), Status::Working);
    bench.wait(11 * 60_000);
    assert_eq!(bench.status(), Status::Stale);
    bench.hook(draft(12 * 60_000, tool_end("c2", ToolOutcome::Ok)).prompt("p1"));
    assert_eq!(bench.status(), Status::Working);
}

#[test]
fn a_subagents_events_change_the_subagent_only() {
    let mut bench = at_work();
    bench.hook(draft(2100, subagent()).child("a1"));
    bench.hook(draft(2200, tool("c2", "Read")).child("a1"));
    assert_eq!(bench.state().children, ["a1".into()]);
    bench.hook(draft(2300, tool_end("c2", ToolOutcome::Ok)).child("a1"));
    bench.hook(draft(2400, stop("p1")).child("a1"));
    bench.hook(draft(2500, subagent_end()).child("a1"));
    bench.wait(8000);
    let state = bench.state();
    assert_eq!(state.status, Status::Working, "a subagent's stop is not the session's");
    assert_eq!(state.children, []);
}

#[test]
fn background_work_of_a_subagent_is_work_and_done_is_told_once() {
    let mut bench = at_work();
    bench.hook(draft(2100, subagent()).child("a1"));
    bench.hook(draft(3000, stop("p1")).prompt("p1").agents(1));
    bench.wait(8000);
    assert_eq!(bench.status(), Status::Working);
    bench.hook(draft(63_000, says(ReportedStatus::Idle)).quiet());
    assert_eq!(bench.status(), Status::Working, "an idle notice only confirms");
    bench.hook(draft(70_000, subagent_end()).child("a1"));
    assert_eq!(bench.status(), Status::Working, "its report wakes the agent");
    bench.hook(draft(70_600, wake("p2")).prompt("p2"));
    bench.hook(draft(72_000, stop("p2")).prompt("p2").agents(0));
    bench.wait(90_000);
    assert_eq!(bench.status(), Status::Idle);
    assert_eq!(bench.dones(), 1);
}

#[test]
fn a_subagent_that_wakes_nobody_is_over_after_a_moment() {
    let mut bench = at_work();
    bench.hook(draft(2100, subagent()).child("a1"));
    bench.hook(draft(3000, stop("p1")).prompt("p1").agents(1));
    bench.hook(draft(9000, subagent_end()).child("a1"));
    bench.wait(11_000);
    assert_eq!(bench.status(), Status::Working);
    bench.wait(13_000);
    assert_eq!(bench.status(), Status::Idle);
    assert_eq!(bench.dones(), 1);
}

#[test]
fn a_background_shell_leaves_the_session_idle_and_done_is_told_once() {
    let mut bench = at_work();
    bench.hook(draft(2900, tasks(&[("b1", TaskKind::Shell)])));
    bench.hook(draft(3000, TurnEnded { background: 1, ..stop("p1") }).prompt("p1").agents(0));
    bench.wait(8000);
    assert_eq!((bench.status(), bench.state().background), (Status::Idle, 1));
    assert_eq!(bench.dones(), 0);
    bench.hook(draft(60_000, wake("p2")).prompt("p2"));
    bench.hook(draft(61_000, tasks(&[])));
    bench.hook(draft(61_000, stop("p2")).prompt("p2").agents(0));
    bench.wait(70_000);
    assert_eq!((bench.status(), bench.state().background), (Status::Idle, 0));
    assert_eq!(bench.dones(), 1);
}

#[test]
fn a_shell_that_ends_and_wakes_nobody_is_done_once() {
    let mut bench = Bench::default();
    bench.stream(draft(0, start(StartSource::Startup)));
    bench.stream(draft(100, turn("t1")));
    bench.stream(draft(200, shell("b1", true)));
    bench.stream(draft(300, stop("t1")).agents(0));
    assert_eq!((bench.status(), bench.state().background, bench.dones()), (Status::Idle, 1, 0));
    bench.stream(draft(5000, task_end("b1")));
    bench.stream(draft(5000, tasks(&[])));
    assert_eq!(bench.dones(), 0, "the agent may be about to wake");
    bench.wait(9000);
    assert_eq!((bench.status(), bench.state().background, bench.dones()), (Status::Idle, 0, 1));
}

#[test]
fn a_one_shot_run_that_waits_for_its_shell_works() {
    let mut bench = Bench::default();
    let mode = Some(RunMode::OneShot);
    bench.stream(draft(0, SessionStarted { mode, ..start(StartSource::Startup) }));
    bench.stream(draft(100, turn("t1")));
    bench.stream(draft(200, shell("b1", true)));
    bench.stream(draft(300, stop("t1")).agents(0));
    assert_eq!((bench.status(), bench.state().background), (Status::Working, 1));
}

#[test]
fn an_older_version_that_does_not_count_is_done_at_its_stop() {
    let mut bench = at_work();
    bench.hook(draft(2100, subagent()).child("a1"));
    bench.hook(draft(3000, stop("p1")).prompt("p1"));
    bench.wait(4000);
    assert_eq!(bench.status(), Status::Idle);
    assert_eq!(bench.dones(), 1);
}

#[test]
fn a_late_tool_event_does_not_revive_a_finished_turn() {
    let mut bench = at_work();
    bench.hook(draft(3000, stop("p1")).prompt("p1").agents(0));
    bench.hook(draft(3300, tool_end("c1", ToolOutcome::Ok)).prompt("p1"));
    bench.wait(5000);
    assert_eq!(bench.status(), Status::Idle);
    assert_eq!(bench.count("tool.ended"), 1, "it is recorded all the same");
}

#[test]
fn a_turn_that_its_own_hook_keeps_going_works_again() {
    let mut bench = at_work();
    bench.hook(draft(3000, stop("p1")).prompt("p1").agents(0));
    bench.wait(5000);
    bench.hook(draft(6000, tool("c2", "Bash")).prompt("p1"));
    assert_eq!(bench.status(), Status::Working);
}

#[test]
fn a_request_without_an_id_is_cleared_by_its_calls_end() {
    let mut bench = at_work();
    bench.hook(draft(2100, ask("Bash")).prompt("p1").input("a"));
    let state = bench.state();
    assert_eq!(state.status, Status::WaitingForPermission);
    assert_eq!(state.waiting_for, Some(WaitingFor::Permission));
    assert_eq!(state.open[0].call, Some("c1".into()));
    bench.hook(draft(9000, tool_end("c1", ToolOutcome::Ok)).prompt("p1"));
    assert_eq!(bench.status(), Status::Working);
    assert_eq!(bench.count("permission.resolved"), 1);
}

#[test]
fn another_tools_end_does_not_clear_a_wait() {
    let mut bench = at_work();
    bench.hook(draft(2050, tool("c2", "Read")).prompt("p1").input("b"));
    bench.hook(draft(2100, ask("Bash")).prompt("p1").input("a"));
    bench.hook(draft(2200, tool_end("c2", ToolOutcome::Ok)).prompt("p1"));
    assert_eq!(bench.status(), Status::WaitingForPermission);
}

#[test]
fn a_request_that_comes_after_its_calls_end_never_opens_a_wait() {
    let mut bench = at_work();
    bench.hook(draft(2500, tool_end("c1", ToolOutcome::Ok)).prompt("p1").input("a"));
    let late = draft(2100, ask("Bash")).prompt("p1").input("a");
    bench.see_at(Feed::Hook, late, at(2600));
    assert_eq!(bench.status(), Status::Working);
    assert_eq!(bench.count("permission.requested"), 1);
    assert_eq!(bench.count("permission.resolved"), 1);
    assert!(!bench.path().contains(&Status::WaitingForPermission));
}

#[test]
fn a_refusal_that_only_the_batch_tells_of_clears_the_wait() {
    let mut bench = at_work();
    bench.hook(draft(2100, ask("Bash")).prompt("p1").input("a"));
    bench.hook(draft(2200, tool_end("c1", ToolOutcome::Ok)).prompt("p1").quiet());
    assert_eq!(bench.status(), Status::Working);
    let resolved = bench.events.iter().find_map(|event| match &event.body {
        Body::PermissionResolved(resolved) => Some(resolved.decision),
        _ => None,
    });
    assert_eq!(resolved, Some(Decision::Unknown), "evidence alone does not say how");
}

#[test]
fn a_wait_needs_no_notice_and_a_notice_adds_none() {
    let mut without = at_work();
    without.hook(draft(2100, ask("Bash")).prompt("p1").input("a"));
    let mut with = at_work();
    with.hook(draft(2100, ask("Bash")).prompt("p1").input("a"));
    let notice = Notice {
        level: NoticeLevel::Info,
        code: "permission_prompt".to_owned(),
        count: None,
        text: None,
    };
    with.hook(draft(8100, notice));
    for bench in [without, with] {
        assert_eq!(bench.status(), Status::WaitingForPermission);
        assert_eq!(bench.count("permission.requested"), 1);
        assert_eq!(bench.path().iter().filter(|s| **s == Status::WaitingForPermission).count(), 1);
    }
}

#[test]
fn questions_and_plans_are_waits_for_input() {
    for (name, waiting_for) in
        [("AskUserQuestion", WaitingFor::Question), ("ExitPlanMode", WaitingFor::Plan)]
    {
        let mut bench = at_work();
        bench.hook(draft(2050, tool("c2", name)).prompt("p1").input("b"));
        bench.hook(draft(2100, ask_for(name, waiting_for)).prompt("p1").input("b"));
        assert_eq!(bench.status(), Status::WaitingForInput);
        assert_eq!(bench.state().waiting_for, Some(waiting_for));
        let told = StatusReported {
            status: ReportedStatus::Waiting,
            waiting_for: Some(WaitingFor::Permission),
            raw: None,
        };
        bench.see(Feed::Status, draft(2400, told));
        assert_eq!(bench.state().waiting_for, Some(waiting_for), "the open request knows better");
        bench.hook(draft(9000, tool_end("c2", ToolOutcome::Ok)).prompt("p1"));
        assert_eq!(bench.status(), Status::Working);
    }
}

#[test]
fn a_new_prompt_clears_the_main_agents_wait() {
    let mut bench = at_work();
    bench.hook(draft(2100, ask("Bash")).prompt("p1").input("a"));
    bench.hook(draft(9000, turn("p2")).prompt("p2"));
    assert_eq!(bench.status(), Status::Working);
    bench.hook(draft(9500, stop("p2")).prompt("p2").agents(0));
    bench.wait(12_000);
    assert_eq!(bench.status(), Status::Idle);
}

#[test]
fn idle_notices_after_the_stop_are_not_told_again() {
    let mut bench = at_work();
    bench.hook(draft(3000, stop("p1")).prompt("p1").agents(0));
    bench.wait(5000);
    for minute in 1..4 {
        bench.hook(draft(3000 + minute * 60_000, says(ReportedStatus::Idle)).quiet());
    }
    assert_eq!((bench.status(), bench.dones()), (Status::Idle, 1));
}

#[test]
fn compaction_is_work_and_neither_an_end_nor_a_new_session() {
    let mut bench = at_work();
    bench.hook(draft(3000, compaction()));
    assert_eq!(bench.state().activity, Some(Activity::Compacting));
    bench.hook(draft(3600, start(StartSource::Compact)));
    bench.hook(draft(3700, compacted()));
    bench.hook(draft(4000, tool_end("c1", ToolOutcome::Ok)));
    assert_eq!((bench.status(), bench.state().activity), (Status::Working, None));
    assert_eq!((bench.count("session.started"), bench.dones()), (1, 0));

    let mut idle = at_work();
    idle.hook(draft(3000, stop("p1")).prompt("p1").agents(0));
    idle.wait(9000);
    idle.hook(draft(10_000, compaction()));
    assert_eq!(idle.status(), Status::Working);
    idle.hook(draft(11_000, compacted()));
    assert_eq!((idle.status(), idle.state().activity), (Status::Idle, None));
}

#[test]
fn a_later_taken_and_older_snapshot_loses() {
    let mut bench = at_work();
    bench.hook(draft(10_000, ask("Bash")).prompt("p1").input("a"));
    bench.see_at(Feed::Status, draft(9000, says(ReportedStatus::Busy)), at(11_000));
    assert_eq!(bench.status(), Status::WaitingForPermission);
}

#[test]
fn a_weaker_source_does_not_overrule_a_bare_claim_of_a_stronger_one() {
    let mut bench = at_work();
    bench.see(Feed::Transcript, draft(4000, says(ReportedStatus::Idle)));
    assert_eq!(bench.status(), Status::Working);
    bench.see(Feed::Transcript, draft(5000, turn_end("p1", TurnOutcome::Interrupted)).prompt("p1"));
    assert_eq!(bench.status(), Status::Idle, "a fact wins by its time");
    assert_eq!(bench.state().outcome, Some(TurnOutcome::Interrupted));
}

#[test]
fn a_failure_stays_until_the_next_prompt() {
    let mut bench = at_work();
    bench.hook(draft(3000, failed("p1", ErrorKind::Authentication)).prompt("p1"));
    bench.hook(draft(63_000, says(ReportedStatus::Idle)).quiet());
    assert_eq!(bench.state().outcome, Some(TurnOutcome::Failed));
}

#[test]
fn a_state_nobody_knows_changes_nothing() {
    let mut bench = at_work();
    let report = StatusReported {
        status: ReportedStatus::Unknown,
        waiting_for: None,
        raw: Some("hibernating".to_owned()),
    };
    bench.see(Feed::Status, draft(3000, report));
    assert_eq!(bench.status(), Status::Working);
    bench.hook(draft(
        3100,
        Native { source: "hook".into(), name: "FutureEvent".into(), payload: None },
    ));
    assert_eq!(bench.status(), Status::Working);
}

#[test]
fn a_session_is_known_before_it_is_announced() {
    let mut bench = Bench::default();
    bench.hook(draft(1000, tool("c1", "Bash")).prompt("p1"));
    bench.hook(draft(1100, ask("Bash")).prompt("p1"));
    bench.hook(draft(1200, text("m1", 0)));
    assert_eq!(bench.status(), Status::WaitingForPermission);
    assert_eq!(bench.kinds()[0], "session.started");
    assert_eq!(bench.state().source, StartSource::Discovered);
    bench.see_at(Feed::Hook, draft(900, start(StartSource::Startup)), at(1300));
    assert_eq!(bench.count("session.started"), 1);
    assert_eq!(bench.state().source, StartSource::Startup);
}

#[test]
fn a_late_failure_of_the_turn_before_does_not_end_the_next_one() {
    let first = || draft(3100, failed("p1", ErrorKind::Overloaded)).prompt("p1");
    let next = || draft(3000, turn("p2")).prompt("p2");
    for swap in [false, true] {
        let mut bench = at_work();
        for draft in if swap { [next(), first()] } else { [first(), next()] } {
            bench.see_at(Feed::Hook, draft, at(3200));
        }
        assert_eq!(bench.status(), Status::Working);
        bench.hook(draft(4000, stop("p2")).prompt("p2").agents(0));
        bench.wait(5000);
        assert_eq!(
            (bench.status(), bench.state().outcome),
            (Status::Idle, Some(TurnOutcome::Completed))
        );
    }
}

#[test]
fn retries_are_work() {
    let mut bench = Bench::default();
    bench.stream(draft(0, start(StartSource::Startup)));
    bench.stream(draft(100, turn("t1")));
    bench.stream(draft(200, retry(1)));
    assert_eq!(
        (bench.status(), bench.state().activity),
        (Status::Working, Some(Activity::Retrying))
    );
    bench.stream(draft(300, delta(0)));
    assert_eq!((bench.status(), bench.state().activity), (Status::Working, None));
}

#[test]
fn a_change_of_state_says_what_failed_and_what_goes_on_besides() {
    let mut bench = at_work();
    bench.hook(draft(3000, failed("p1", ErrorKind::Server)).prompt("p1"));
    let last = bench.changes().last().expect("told");
    assert_eq!((last.to, last.error), (Status::Idle, Some(ErrorKind::Server)));
    bench.stream(draft(9000, compaction()));
    let last = bench.changes().last().expect("told");
    assert_eq!((last.to, last.activity), (Status::Working, Some(Activity::Compacting)));
}
