//! One thing that happened is one event, whichever feeds see it.

use super::bench::*;
use crate::event::*;
use crate::id::Seq;
use crate::state::Answer;

fn opened() -> Bench {
    let mut bench = Bench::default();
    bench.stream(draft(0, start(StartSource::Startup)));
    bench.hook(draft(20, start(StartSource::Startup)));
    bench.stream(draft(100, turn("t1")));
    bench
}

/// A session that only hooks tell of.
fn beside_none() -> Bench {
    let mut bench = Bench::default();
    bench.hook(draft(20, start(StartSource::Startup)));
    bench.hook(draft(100, turn("p1")).prompt("p1"));
    bench
}

#[test]
fn a_tool_call_seen_by_two_feeds_is_one() {
    let mut bench = opened();
    let first = bench.stream(draft(200, tool("c1", "Bash")).input("a"));
    let second = bench.hook(draft(250, tool("c1", "Bash")).prompt("p1").input("a"));
    assert_eq!(second, Answer::Confirms(first.seq()));
    let ended = bench.stream(draft(400, tool_end("c1", ToolOutcome::Ok)));
    assert_eq!(
        bench.hook(draft(420, tool_end("c1", ToolOutcome::Ok))),
        Answer::Confirms(ended.seq())
    );
    assert_eq!((bench.count("tool.started"), bench.count("tool.ended")), (1, 1));
}

#[test]
fn an_end_that_was_evidence_only_is_told_by_whoever_knows_how() {
    let mut bench = opened();
    bench.stream(draft(200, tool("c1", "Bash")));
    assert_eq!(
        bench.hook(draft(400, tool_end("c1", ToolOutcome::Ok)).quiet()),
        Answer::Confirms(Seq(0))
    );
    assert!(matches!(
        bench.stream(draft(420, tool_end("c1", ToolOutcome::Denied))),
        Answer::New(_)
    ));
    assert_eq!(bench.count("tool.ended"), 1);
}

#[test]
fn a_request_is_one_whichever_feed_asks_first() {
    for hook_first in [true, false] {
        let mut bench = opened();
        bench.stream(draft(200, tool("c1", "Bash")).input("a"));
        let hook = draft(350, ask("Bash")).prompt("p1").input("a");
        let stream = draft(300, ask_by_id("r1", "c1", "Bash")).input("a");
        if hook_first {
            bench.see_at(Feed::Hook, hook, at(360));
            bench.see_at(Feed::Stream, stream, at(370));
        } else {
            bench.see_at(Feed::Stream, stream, at(360));
            bench.see_at(Feed::Hook, hook, at(370));
        }
        assert_eq!(bench.count("permission.requested"), 1);
        assert_eq!(bench.state().open.len(), 1);
        bench.stream(draft(500, answer("r1", Decision::Allowed)));
        assert_eq!(bench.status(), Status::Working);
    }
}

#[test]
fn a_request_whose_hook_comes_after_the_answer_is_not_asked_again() {
    let mut bench = opened();
    bench.stream(draft(200, tool("c1", "Bash")).input("a"));
    bench.stream(draft(300, ask_by_id("r1", "c1", "Bash")).input("a"));
    bench.stream(draft(310, answer("r1", Decision::Allowed)));
    let late = bench.hook(draft(370, ask("Bash")).prompt("p1").input("a"));
    assert!(matches!(late, Answer::Confirms(_)));
    assert_eq!(bench.status(), Status::Working);
}

#[test]
fn two_equal_parallel_calls_are_two_requests_in_order() {
    let mut bench = beside_none();
    bench.hook(draft(200, tool("c1", "Bash")).prompt("p1").input("a"));
    bench.hook(draft(210, tool("c2", "Bash")).prompt("p1").input("a"));
    bench.hook(draft(300, ask("Bash")).prompt("p1").input("a"));
    bench.hook(draft(301, ask("Bash")).prompt("p1").input("a"));
    let open: Vec<_> = bench.state().open.into_iter().map(|open| open.call).collect();
    assert_eq!(open, [Some("c1".into()), Some("c2".into())]);
    bench.hook(draft(900, tool_end("c1", ToolOutcome::Ok)));
    assert_eq!(bench.status(), Status::WaitingForPermission);
    bench.hook(draft(950, tool_end("c2", ToolOutcome::Ok)));
    assert_eq!(bench.status(), Status::Working);
}

#[test]
fn the_request_takes_the_newest_call_that_is_not_over() {
    let mut bench = beside_none();
    bench.hook(draft(200, tool("c1", "Bash")).prompt("p1").input("a"));
    bench.hook(draft(300, tool_end("c1", ToolOutcome::Ok)).prompt("p1"));
    bench.hook(draft(400, tool("c2", "Bash")).prompt("p1").input("a"));
    bench.hook(draft(500, ask("Bash")).prompt("p1").input("a"));
    assert_eq!(bench.state().open[0].call, Some("c2".into()));
}

#[test]
fn a_changed_input_still_finds_its_call() {
    let mut bench = beside_none();
    bench.hook(draft(200, tool("c1", "Bash")).prompt("p1").input("a"));
    bench.hook(draft(300, ask("Bash")).prompt("p1").input("changed"));
    assert_eq!(bench.state().open[0].call, Some("c1".into()));
}

#[test]
fn a_request_is_never_that_of_another_scope_or_prompt() {
    let mut bench = beside_none();
    bench.hook(draft(150, turn("p1")).prompt("p1"));
    bench.hook(draft(200, tool("c1", "Bash")).prompt("p1").input("a"));
    bench.hook(draft(300, ask("Bash")).prompt("p1").input("a").child("a1"));
    assert_eq!(bench.state().open[0].call, None);
    bench.hook(draft(310, ask("Bash")).prompt("p2").input("a"));
    assert_eq!(bench.state().open[1].call, None);
}

#[test]
fn a_request_that_comes_before_its_call_takes_it_when_it_comes() {
    let mut bench = beside_none();
    bench.hook(draft(300, ask("Bash")).prompt("p1").input("a"));
    bench.see_at(Feed::Hook, draft(280, tool("c1", "Bash")).prompt("p1").input("a"), at(400));
    assert_eq!(bench.state().open[0].call, Some("c1".into()));
    bench.hook(draft(600, tool_end("c1", ToolOutcome::Ok)));
    assert_eq!(bench.status(), Status::Working);
}

#[test]
fn a_request_given_to_another_input_goes_to_its_own_call_when_that_comes() {
    let mut bench = beside_none();
    bench.hook(draft(200, tool("c1", "Bash")).prompt("p1").input("a"));
    bench.hook(draft(300, ask("Bash")).prompt("p1").input("b"));
    bench.see_at(Feed::Hook, draft(280, tool("c2", "Bash")).prompt("p1").input("b"), at(310));
    assert_eq!(bench.state().open[0].call, Some("c2".into()));
    bench.hook(draft(400, tool_end("c1", ToolOutcome::Ok)));
    assert_eq!(bench.status(), Status::WaitingForPermission);
}

#[test]
fn a_request_is_not_that_of_an_equal_call_that_was_over_before() {
    let mut bench = Bench::default();
    bench.hook(draft(100, turn("p1")).prompt("p1"));
    bench.hook(draft(200, tool("c1", "Bash")).prompt("p1").input("a"));
    bench.hook(draft(300, tool_end("c1", ToolOutcome::Ok)).prompt("p1"));
    bench.hook(draft(500, ask("Bash")).prompt("p1").input("a"));
    bench.see_at(Feed::Hook, draft(480, tool("c2", "Bash")).prompt("p1").input("a"), at(510));
    assert_eq!(bench.state().open[0].call, Some("c2".into()));
}

#[test]
fn a_call_asked_about_again_is_a_new_request() {
    let mut bench = opened();
    bench.stream(draft(200, tool("c1", "Bash")));
    bench.stream(draft(300, ask_by_id("r1", "c1", "Bash")));
    bench.stream(draft(400, answer("r1", Decision::Allowed)));
    bench.stream(draft(500, ask_by_id("r2", "c1", "Bash")));
    assert_eq!(bench.status(), Status::WaitingForPermission);
    assert_eq!(bench.count("permission.requested"), 2);
}

#[test]
fn equal_questions_of_different_calls_are_two() {
    let mut bench = beside_none();
    for (n, call) in ["c1", "c2"].into_iter().enumerate() {
        let ms = 1000 + i64::try_from(n).expect("small") * 30_000;
        bench.hook(draft(ms, tool(call, "Bash")).prompt("p1").input("a"));
        bench.hook(draft(ms + 100, ask("Bash")).prompt("p1").input("a").payload("same"));
        bench.hook(draft(ms + 5000, tool_end(call, ToolOutcome::Ok)).prompt("p1"));
    }
    assert_eq!(bench.count("permission.requested"), 2);
}

#[test]
fn an_elicitation_is_known_by_its_server() {
    let mut bench = opened();
    bench.hook(draft(300, elicit("", "lab")));
    bench.stream(draft(320, elicit("r1", "lab")));
    assert_eq!(bench.count("permission.requested"), 1);
    assert_eq!(bench.state().waiting_for, Some(WaitingFor::Elicitation));
    bench.stream(draft(500, answer("r1", Decision::Answered)));
    let mut result = draft(560, answer("", Decision::Answered));
    result.hints.aliases.push("lab".to_owned());
    bench.hook(result);
    assert_eq!((bench.status(), bench.count("permission.resolved")), (Status::Working, 1));
    bench.stream(draft(900, elicit("r2", "lab")));
    assert_eq!(bench.count("permission.requested"), 2);
}

#[test]
fn turns_are_told_by_the_stream_where_there_is_one() {
    let mut bench = opened();
    let shadow = bench.hook(draft(600, turn("p1")).prompt("p1"));
    assert!(matches!(shadow, Answer::Confirms(seq) if seq.0 > 0));
    bench.hook(draft(700, turn("p2")).prompt("p2"));
    bench.hook(draft(900, stop("p1")).prompt("p1").agents(0));
    assert_eq!(bench.status(), Status::Working);
    bench.stream(draft(950, stop("t1")).agents(0));
    assert_eq!((bench.count("turn.started"), bench.count("turn.ended")), (1, 1));
}

#[test]
fn a_turn_that_hooks_told_before_the_stream_was_heard_is_the_same() {
    let mut bench = Bench::default();
    bench.hook(draft(400, start(StartSource::Startup)));
    bench.hook(draft(1500, turn("p1")).prompt("p1"));
    bench.see_at(Feed::Stream, draft(1600, start(StartSource::Startup)), at(1600));
    bench.see_at(Feed::Stream, draft(20, turn("t1")), at(1600));
    assert_eq!((bench.count("session.started"), bench.count("turn.started")), (1, 1));
    assert_eq!(bench.path(), [Status::Idle, Status::Working], "and nothing flickers");
    bench.stream(draft(2000, stop("t1")).agents(0));
    bench.hook(draft(1990, stop("p1")).prompt("p1").agents(0));
    assert_eq!((bench.status(), bench.count("turn.ended")), (Status::Idle, 1));
}

#[test]
fn different_prompts_never_merge() {
    let mut bench = Bench::default();
    bench.hook(draft(0, start(StartSource::Startup)));
    bench.hook(draft(100, turn("p1")).prompt("p1"));
    bench.hook(draft(200, stop("p1")).prompt("p1").agents(0));
    bench.hook(draft(300, turn("p2")).prompt("p2"));
    assert_eq!(bench.count("turn.started"), 2);
    assert_eq!(bench.status(), Status::Working);
}

#[test]
fn a_weaker_feed_confirms_the_turn_that_ran_at_its_time_whenever_it_comes() {
    let mut bench = Bench::default();
    bench.hook(draft(0, start(StartSource::Startup)));
    let first = bench.hook(draft(1000, turn("p1")).prompt("p1"));
    bench.hook(draft(5000, stop("p1")).prompt("p1").agents(0));
    let late = bench.see_at(Feed::Transcript, draft(1500, turn("")), at(60_000));
    assert_eq!(late, Answer::Confirms(first.seq()));
    assert_eq!(bench.status(), Status::Idle);
}

#[test]
fn the_cost_that_only_the_second_sighting_knows_is_told_once() {
    let mut bench = Bench::default();
    bench.hook(draft(1000, turn("p1")).prompt("p1"));
    bench.hook(draft(2000, stop("p1")).prompt("p1").agents(0));
    let priced = || TurnEnded { cost_total_usd: Some(0.5), ..stop("p1") };
    for _ in 0..2 {
        bench.see(Feed::Transcript, draft(2100, priced()).prompt("p1"));
    }
    assert_eq!((bench.count("turn.ended"), bench.count("usage.updated")), (1, 1));
    assert_eq!(bench.state().cost_usd, Some(0.5));
}

#[test]
fn subagents_are_known_by_their_scope() {
    let mut bench = opened();
    bench.stream(draft(200, subagent()).child("a1"));
    bench.hook(draft(230, subagent()).child("a1"));
    bench.hook(draft(400, subagent_end()).child("a1"));
    bench.stream(draft(430, subagent_end()).child("a1"));
    bench.stream(draft(440, task_end("a1")));
    assert_eq!((bench.count("subagent.started"), bench.count("subagent.ended")), (1, 1));
    assert_eq!(bench.state().children, []);
}

#[test]
fn a_message_is_known_by_its_block_and_by_its_line() {
    let mut bench = opened();
    let mut line = draft(300, text("m1", 0));
    line.hints.aliases.push("uuid-1".to_owned());
    let first = bench.stream(line);
    assert_eq!(
        bench.see(Feed::Transcript, draft(300, text("m1", 0))),
        Answer::Confirms(first.seq())
    );
    let mut copy = draft(300, text("other", 7));
    copy.hints.aliases.push("uuid-1".to_owned());
    assert_eq!(bench.see(Feed::Transcript, copy), Answer::Confirms(first.seq()));
    assert!(matches!(bench.stream(draft(310, text("m1", 1))), Answer::New(_)));
}

#[test]
fn a_compaction_is_one_whichever_feeds_see_it() {
    let mut bench = opened();
    bench.stream(draft(300, compaction()));
    bench.hook(draft(380, compaction()));
    bench.hook(draft(700, start(StartSource::Compact)));
    bench.hook(draft(720, compacted()));
    bench.stream(draft(760, compacted()));
    assert_eq!((bench.count("compaction.started"), bench.count("compaction.ended")), (1, 1));
    bench.stream(draft(60_000, compaction()));
    bench.stream(draft(61_000, compacted()));
    assert_eq!((bench.count("compaction.started"), bench.count("compaction.ended")), (2, 2));
}

#[test]
fn retries_are_known_by_their_attempt_and_may_count_anew() {
    let mut bench = opened();
    bench.stream(draft(300, retry(1)));
    bench.see(Feed::Transcript, draft(400, retry(1)));
    bench.stream(draft(900, retry(2)));
    bench.stream(draft(5000, retry(1)));
    assert_eq!(bench.count("api.retry"), 3);
}

#[test]
fn a_burst_of_one_payload_is_one_event_and_a_genuine_pair_is_two() {
    let mut bench = opened();
    let notice = |ms| {
        let notice =
            Notice { level: NoticeLevel::Info, code: "told".into(), count: None, text: None };
        draft(ms, notice).payload("same bytes")
    };
    for n in 0..13 {
        bench.hook(notice(1000 + n * 8));
    }
    assert_eq!(bench.count("notice"), 1);
    bench.hook(notice(6000));
    assert_eq!(bench.count("notice"), 2);
}

#[test]
fn several_drafts_of_one_payload_are_several_events() {
    let mut bench = opened();
    for _ in 0..2 {
        bench.hook(draft(300, tool_end("c1", ToolOutcome::Ok)).payload("batch"));
        bench.hook(draft(300, tool_end("c2", ToolOutcome::Ok)).payload("batch"));
    }
    assert_eq!(bench.count("tool.ended"), 2);
}

#[test]
fn the_same_set_of_tasks_is_told_once() {
    let mut bench = opened();
    bench.stream(draft(300, tasks(&[("b1", TaskKind::Shell)])));
    bench.hook(draft(400, tasks(&[("b1", TaskKind::Shell)])));
    bench.stream(draft(900, tasks(&[])));
    bench.hook(draft(950, tasks(&[])));
    assert_eq!(bench.count("tasks.changed"), 2);
}

#[test]
fn what_is_remembered_is_bounded() {
    let mut bench = opened();
    for n in 0..3000 {
        let id = format!("c{n}");
        bench.hook(draft(1000 + n, tool(&id, "Bash")).prompt(&id).input(&id).payload(&id));
        bench.hook(draft(1000 + n, ask("Bash")).prompt(&id).input(&id));
        bench.hook(draft(1000 + n, tool_end(&id, ToolOutcome::Ok)));
        bench.stream(draft(1000 + n, text(&id, 0)));
        bench.stream(draft(1000 + n, shell(&id, true)));
        bench.stream(draft(1000 + n, subagent()).child(&id));
        bench.stream(draft(1000 + n, retry(1)));
    }
    let record = bench.resolver.record(&key()).expect("known");
    let size = serde_json::to_string(&**record).expect("json").len();
    assert!(size < 200_000, "a record of {size} bytes");
}

#[test]
fn a_retry_names_the_turn_that_was_told() {
    let mut bench = Bench::default();
    bench.hook(draft(500, turn("p1")).prompt("p1"));
    bench.stream(draft(300, turn("s1")));
    bench.stream(draft(800, ApiRetry { turn: Some("s1".into()), ..retry(1) }));
    bench.stream(draft(900, retry(2)));
    let turns = bench.events.iter().filter_map(|event| match &event.body {
        Body::ApiRetry(data) => Some(data.turn.clone()),
        _ => None,
    });
    let told = Some("p1".into());
    assert_eq!(turns.collect::<Vec<_>>(), [told.clone(), told]);
}

#[test]
fn a_request_that_a_new_prompt_closes_was_decided_by_nobody_knows_whom() {
    for late in [false, true] {
        let mut bench = Bench::default();
        bench.hook(draft(0, turn("p1")).prompt("p1"));
        bench.hook(draft(100, tool("c1", "Bash")).prompt("p1"));
        let asked = draft(200, ask("Bash")).prompt("p1");
        let prompt = draft(5000, turn("p2")).prompt("p2");
        if late {
            bench.hook(prompt);
            bench.see_at(Feed::Hook, asked, at(5100));
        } else {
            bench.hook(asked);
            bench.hook(prompt);
        }
        let resolved = bench.events.iter().find_map(|event| match &event.body {
            Body::PermissionResolved(data) => Some((data.decision, data.by)),
            _ => None,
        });
        assert_eq!(resolved, Some((Decision::Unknown, DecidedBy::Unknown)), "late: {late}");
    }
}

#[test]
fn nobody_waits_for_a_request_that_the_stream_does_not_tell() {
    let mut bench = opened();
    bench.stream(draft(200, tool("c1", "Bash")).input("a"));
    assert_eq!(bench.hook(draft(250, ask("Bash")).input("a")), Answer::Confirms(Seq(0)));
    assert_eq!((bench.status(), bench.count("permission.requested")), (Status::Working, 0));
    let denied = PermissionResolved { call: Some("c1".into()), ..answer("", Decision::Denied) };
    bench.hook(draft(260, denied));
    bench.stream(draft(300, tool_end("c1", ToolOutcome::Denied)));
    assert_eq!((bench.status(), bench.count("permission.resolved")), (Status::Working, 0));
    // The next request about the same is nobody's business but the stream's.
    bench.stream(draft(400, tool("c2", "Bash")).input("a"));
    bench.stream(draft(450, ask_by_id("r2", "c2", "Bash")).input("a"));
    assert_eq!(bench.status(), Status::WaitingForPermission);
}

#[test]
fn a_request_that_a_hook_saw_first_has_the_streams_id_and_both_names() {
    let mut bench = opened();
    bench.hook(draft(300, elicit("hook-1", "lab")));
    bench.stream(draft(400, elicit("wire-1", "lab")));
    assert_eq!(bench.state().open[0].request, "wire-1".into());
    bench.hook(draft(500, answer("hook-1", Decision::Answered)));
    let resolved = bench.events.iter().find_map(|event| match &event.body {
        Body::PermissionResolved(data) => Some(data.request.clone()),
        _ => None,
    });
    assert_eq!(resolved, Some("wire-1".into()));
}

fn says_human(message: &str, size: usize) -> MessageCompleted {
    MessageCompleted { role: Role::User, text: Content::withheld(size), ..text(message, 0) }
}

#[test]
fn a_human_prompt_is_told_once_whoever_hears_it_first() {
    for hook_first in [true, false] {
        let mut bench = Bench::default();
        bench.hook(draft(0, start(StartSource::Startup)));
        let hook = draft(300, says_human("p1", 20));
        // Sent before the session had a name.
        let stream = draft(100, says_human("line-1", 20));
        let answers = if hook_first {
            [bench.hook(hook), bench.see_at(Feed::Stream, stream, at(400))]
        } else {
            [bench.stream(stream), bench.hook(hook)]
        };
        assert_eq!(answers[1], Answer::Confirms(answers[0].seq()));
        assert_eq!(bench.count("message.completed"), 1);
        // The same words again are another prompt.
        bench.stream(draft(5000, says_human("line-2", 20)));
        bench.hook(draft(9000, says_human("p2", 20)));
        assert_eq!(bench.count("message.completed"), 2);
    }
}

#[test]
fn where_the_stream_tells_prompts_what_a_hook_adds_is_no_prompt() {
    let mut bench = opened();
    bench.stream(draft(150, says_human("line-1", 20)));
    bench.hook(draft(300, says_human("p1", 27)));
    bench.hook(draft(400, says_human("p2", 99)));
    assert_eq!(bench.count("message.completed"), 1);
}

#[test]
fn a_prompt_that_no_stream_tells_is_told_by_the_hook() {
    let mut bench = opened();
    bench.hook(draft(300, says_human("p1", 20)));
    bench.hook(draft(900, says_human("p2", 20)));
    assert_eq!(bench.count("message.completed"), 2);
}

#[test]
fn what_is_evidence_only_does_not_keep_a_value_from_being_told() {
    let update = |mode: &str| SessionUpdated {
        permission_mode: Some(mode.into()),
        ..SessionUpdated::default()
    };
    let mut bench = opened();
    bench.hook(draft(200, update("plan")).quiet());
    bench.stream(draft(300, update("plan")));
    bench.hook(draft(400, update("plan")));
    bench.stream(draft(500, ModeChanged { mode: "plan".into(), from: None }));
    assert_eq!((bench.count("session.updated"), bench.count("mode.changed")), (1, 0));
}

#[test]
fn a_mode_that_a_hook_saw_a_moment_ago_never_replaces_the_streams() {
    let update = |mode: &str| SessionUpdated {
        permission_mode: Some(mode.into()),
        title: Some(Content::withheld(9)),
        ..SessionUpdated::default()
    };
    let mut bench = opened();
    bench.hook(draft(150, update("plan")));
    bench.stream(draft(200, update("plan")));
    bench.stream(draft(500, ModeChanged { mode: "default".into(), from: None }));
    let told = bench.events.len();
    bench.hook(draft(550, update("plan")));
    bench.hook(draft(560, ModeChanged { mode: "plan".into(), from: None }));
    bench.hook(draft(600, update("default")));
    assert_eq!(bench.events.len(), told);
    assert_eq!(bench.state().permission_mode.as_deref(), Some("default"));
}

#[test]
fn what_was_only_evidence_is_news_to_whoever_tells_it() {
    let mut bench = Bench::default();
    let past = [
        draft(0, turn("p1")).prompt("p1"),
        draft(100, tool("c1", "Bash")).prompt("p1"),
        draft(200, tool_end("c1", ToolOutcome::Ok)).prompt("p1"),
        draft(300, subagent()).child("a1"),
        draft(400, subagent_end()).child("a1"),
        draft(500, retry(1)),
        draft(600, turn_end("p1", TurnOutcome::Completed)).prompt("p1"),
    ];
    for draft in &past {
        bench.see(Feed::Transcript, draft.clone().quiet());
    }
    let kinds = |bench: &Bench| -> Vec<String> {
        let told = bench.events.iter().map(|event| event.body.kind().to_owned());
        told.filter(|kind| kind != "status.changed").collect()
    };
    assert_eq!(kinds(&bench), ["session.started"]);
    for draft in past {
        bench.see_at(Feed::Stream, draft, at(5000));
    }
    assert_eq!(
        kinds(&bench)[1..],
        [
            "turn.started",
            "tool.started",
            "tool.ended",
            "subagent.started",
            "subagent.ended",
            "api.retry",
            "turn.ended"
        ]
    );
}
