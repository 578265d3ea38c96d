//! The end of a thing is told by whoever knows most of it, and told in any case.

use super::bench::*;
use crate::draft::Draft;
use crate::event::*;
use crate::id::Seq;
use crate::state::Answer;

/// A stream at work, with one of each thing running, all told by it.
fn at_work() -> Bench {
    let mut bench = Bench::default();
    bench.stream(draft(0, start(StartSource::Startup)));
    bench.stream(draft(100, turn("t1")));
    bench.stream(draft(200, tool("c1", "Bash")).input("a"));
    bench.stream(draft(210, subagent()).child("a1"));
    bench.stream(draft(220, compaction()));
    bench
}

/// The three ends as a hook knows them, and as the stream does.
fn poor() -> [Draft; 3] {
    [
        draft(500, tool_end("c1", ToolOutcome::Ok)),
        draft(510, subagent_end()).child("a1"),
        draft(520, compacted()),
    ]
}

fn rich() -> [Draft; 3] {
    let output = vec![part("done")];
    [
        draft(600, ToolEnded { output, ..tool_end("c1", ToolOutcome::Ok) }),
        draft(610, SubagentEnded { call: Some("c0".into()), ..subagent_end() }).child("a1"),
        draft(620, CompactionEnded { tokens_before: Some(9), ..compacted() }),
    ]
}

fn part(text: &str) -> Part {
    Part { kind: BlockKind::Text, media_type: None, data: Content::text(text) }
}

fn is_rich(body: &Body) -> Option<bool> {
    match body {
        Body::ToolEnded(data) => Some(!data.output.is_empty()),
        Body::SubagentEnded(data) => Some(data.call.is_some()),
        Body::CompactionEnded(data) => Some(data.tokens_before.is_some()),
        _ => None,
    }
}

fn ends(bench: &Bench) -> Vec<bool> {
    bench.events.iter().filter_map(|event| is_rich(&event.body)).collect()
}

#[test]
fn the_stream_tells_the_end_of_what_it_began() {
    let mut bench = at_work();
    for draft in poor() {
        assert_eq!(bench.hook(draft), Answer::Confirms(Seq(0)));
    }
    assert!(ends(&bench).is_empty());
    assert_eq!(bench.state().children, [], "the state moves at once");
    for draft in rich() {
        assert!(matches!(bench.stream(draft), Answer::New(_)));
    }
    bench.stream(draft(900, stop("t1")));
    bench.stream(draft(990, end(EndReason::Exit)));
    assert_eq!(ends(&bench), [true, true, true]);
}

#[test]
fn an_end_that_the_stream_never_tells_is_told_in_the_end() {
    let closings: [fn(&mut Bench); 3] = [
        |bench| {
            bench.stream(draft(900, stop("t1")));
        },
        |bench| {
            bench.stream(draft(900, end(EndReason::Crashed)));
        },
        |bench| {
            let origin = Feed::Stream.origin();
            bench.resolver.feed_closed(&key(), at(900), &origin, &mut bench.events);
        },
    ];
    for close in closings {
        let mut bench = at_work();
        for mut end in poor() {
            if let Body::ToolEnded(data) = &mut end.body {
                data.output = vec![part("secret")];
            }
            bench.hook(end);
        }
        close(&mut bench);
        let told = bench.events.iter().filter(|event| is_rich(&event.body).is_some());
        let told: Vec<_> = told.collect();
        assert_eq!(told.len(), 3);
        assert!(told.iter().all(|event| event.origin.trust == Trust::Reported));
        assert!(told.iter().all(|event| event.at < at(600)), "each at its own time");
        let text = format!("{told:?}");
        assert!(!text.contains("secret"), "what is held back holds no content");
        let known = bench.stream(draft(950, tool_end("c1", ToolOutcome::Ok)));
        assert!(matches!(known, Answer::Confirms(seq) if seq.0 > 0));
        assert_eq!(bench.count("tool.ended"), 1);
    }
}

#[test]
fn the_end_of_what_the_stream_never_told_is_not_held_back() {
    let mut bench = at_work();
    bench.hook(draft(300, tool("c9", "Read")).child("a1"));
    assert!(matches!(bench.hook(draft(400, tool_end("c9", ToolOutcome::Ok))), Answer::New(_)));
}

#[test]
fn a_subagent_beside_the_turn_may_be_told_to_end_after_it() {
    let mut bench = at_work();
    let beside = SubagentStarted { background: true, ..subagent() };
    bench.stream(draft(230, beside).child("a1"));
    let [_, poor, _] = poor();
    let [_, rich, _] = rich();
    bench.hook(poor);
    bench.stream(draft(550, stop("t1")));
    bench.stream(rich);
    let told = bench.events.iter().filter_map(|event| match &event.body {
        Body::SubagentEnded(data) => Some(data.call.is_some()),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [true]);
}

#[test]
fn a_tools_end_says_who_let_it_run_if_its_request_was_seen_to_be_answered() {
    let mut bench = Bench::default();
    bench.stream(draft(100, turn("t1")));
    bench.stream(draft(200, tool("c1", "Bash")));
    bench.stream(draft(300, ask_by_id("r1", "c1", "Bash")));
    bench.stream(draft(400, answer("r1", Decision::Allowed)));
    bench.hook(draft(500, tool_end("c1", ToolOutcome::Ok)));
    bench.stream(draft(900, stop("t1")));
    let told = bench.events.iter().find_map(|event| match &event.body {
        Body::ToolEnded(data) => Some((data.decision, data.decided_by)),
        _ => None,
    });
    assert_eq!(told, Some((Some(Decision::Allowed), Some(DecidedBy::Host))));
}
