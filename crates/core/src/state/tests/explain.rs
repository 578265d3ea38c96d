//! An explanation names what decided, what did not, and what would change it.

use super::bench::*;
use crate::event::*;
use crate::state::explain::{Change, Explanation, Overruled};
use crate::state::{Sign, Weighed};

fn explain(bench: &Bench, ms: i64) -> Explanation {
    bench.resolver.explain(&key(), at(ms)).expect("a session")
}

fn decided(explanation: &Explanation) -> &Weighed {
    explanation.decided.as_ref().expect("something decided")
}

fn overruled(explanation: &Explanation) -> Vec<(Sign, Overruled)> {
    let all = explanation.overruled.iter();
    all.map(|weighed| (weighed.sign, weighed.overruled.expect("a reason"))).collect()
}

#[test]
fn what_decided_is_named_with_trust_and_age_and_what_came_before_as_older() {
    let mut bench = Bench::default();
    bench.hook(draft(0, start(StartSource::Startup)));
    bench.hook(draft(1000, turn("p1")).prompt("p1"));
    bench.hook(draft(2000, tool("c1", "Bash")).prompt("p1"));
    let explanation = explain(&bench, 5000);
    assert_eq!(explanation.status, Status::Working);
    let by = decided(&explanation);
    assert_eq!((by.sign, by.trust, by.age_ms), (Sign::Tool, Some(Trust::Reported), 3000));
    assert_eq!(by.overruled, None);
    assert_eq!(overruled(&explanation), [(Sign::Start, Overruled::Older)]);
    assert_eq!(
        explanation.changes,
        [Change::TurnEnd, Change::Interrupt, Change::Request, Change::ProcessEnd]
    );
    assert_eq!(explanation.then, Some(Status::Stale));
    let stale = explanation.until.expect("it ages");
    bench.resolver.tick(stale, &mut bench.events);
    assert_eq!(bench.status(), Status::Stale, "as foretold");
}

#[test]
fn who_holds_the_stream_is_named_as_having_the_word_alone() {
    let mut bench = Bench::default();
    bench.stream(draft(0, start(StartSource::Startup)));
    bench.stream(draft(100, turn("t1")));
    bench.see(Feed::Status, draft(400, says(ReportedStatus::Idle)));
    let explanation = explain(&bench, 1000);
    assert_eq!(explanation.status, Status::Working);
    assert_eq!(explanation.least_trust, Trust::Authoritative);
    assert_eq!(overruled(&explanation), [(Sign::SaysIdle, Overruled::Unheard)]);
}

#[test]
fn an_open_request_goes_before_everything_and_is_listed_with_its_time() {
    let mut bench = Bench::default();
    bench.hook(draft(0, turn("p1")).prompt("p1"));
    bench.hook(draft(100, tool("c1", "Bash")).prompt("p1"));
    bench.hook(draft(200, ask("Bash")).prompt("p1"));
    bench.hook(draft(300, tool("c2", "Read")).prompt("p1"));
    let explanation = explain(&bench, 1000);
    assert_eq!(explanation.status, Status::WaitingForPermission);
    assert_eq!((decided(&explanation).sign, decided(&explanation).trust), (Sign::Request, None));
    assert_eq!(overruled(&explanation), [(Sign::Tool, Overruled::Outweighed)]);
    assert_eq!(explanation.open.len(), 1);
    assert_eq!(explanation.open[0].since, at(200));
    assert_eq!(explanation.changes[0], Change::Answer);
}

#[test]
fn a_weak_claim_that_came_later_is_named_as_such() {
    let mut bench = Bench::default();
    bench.hook(draft(0, turn("p1")).prompt("p1"));
    bench.see(Feed::Transcript, draft(900, says(ReportedStatus::Idle)));
    let explanation = explain(&bench, 1000);
    assert_eq!(explanation.status, Status::Working);
    assert_eq!(overruled(&explanation), [(Sign::SaysIdle, Overruled::Weaker)]);
}

#[test]
fn the_word_of_the_process_is_told_whether_or_not_it_decides() {
    let mut bench = Bench::default();
    bench.hook(draft(0, turn("p1")).prompt("p1").pid(7));
    let mut word = draft(5000, says(ReportedStatus::Idle)).pid(7);
    word.hints.stands = true;
    bench.see(Feed::Status, word);
    bench.wait(20_000);
    let explanation = explain(&bench, 20_000);
    assert_eq!(explanation.status, Status::Idle);
    let word = explanation.word.as_ref().expect("a word");
    assert_eq!((word.sign, word.status, word.overruled), (Sign::SaysIdle, Status::Idle, None));
    bench.hook(draft(30_000, ask("Bash")).pid(7));
    bench.wait(32_000);
    let explanation = explain(&bench, 32_000);
    assert_eq!(explanation.status, Status::WaitingForPermission);
    let word = explanation.word.as_ref().expect("a word");
    assert_eq!(word.overruled, Some(Overruled::Older));
}

#[test]
fn every_state_says_what_would_change_it_and_a_live_one_names_its_process() {
    let mut bench = Bench::default();
    bench.hook(draft(0, start(StartSource::Startup)).pid(7));
    let mut seen = Vec::new();
    let mut look = |bench: &Bench, ms| {
        let explanation = explain(bench, ms);
        assert!(!explanation.changes.is_empty(), "{}", explanation.status);
        assert_eq!(
            explanation.changes.contains(&Change::ProcessEnd),
            explanation.status != Status::Ended
        );
        seen.push(explanation.status);
    };
    look(&bench, 100);
    bench.hook(draft(1000, subagent()).child("a1"));
    look(&bench, 1100);
    bench.hook(draft(2000, compaction()));
    look(&bench, 2100);
    bench.hook(draft(3000, ask_for("AskUserQuestion", WaitingFor::Question)));
    look(&bench, 3100);
    bench.wait(90_000_000);
    look(&bench, 90_000_000);
    bench.hook(draft(90_001_000, end(EndReason::Exit)).pid(7));
    look(&bench, 90_001_100);
    assert_eq!(seen.last(), Some(&Status::Ended));
    assert!(seen.contains(&Status::Stale) && seen.contains(&Status::WaitingForInput), "{seen:?}");
}
