//! Sessions that never came to be: known, and left out where people look.

use super::bench::*;
use crate::event::*;

/// What is seen of a session, whether it is a ghost then, and why.
type Case = (&'static str, fn(&mut Bench), bool);

#[test]
fn only_what_was_never_asked_for_anything_and_cannot_be_any_more_is_a_ghost() {
    let cases: [Case; 9] = [
        (
            "a program that looked around",
            |bench| {
                bench.hook(draft(0, start(StartSource::Startup)).pid(7));
                bench.hook(draft(1000, end(EndReason::Exit)).pid(7));
            },
            true,
        ),
        (
            "the same, killed",
            |bench| {
                bench.hook(draft(0, start(StartSource::Startup)).pid(7));
                bench.see(Feed::Transcript, draft(1000, end(EndReason::Crashed)).pid(7));
            },
            true,
        ),
        (
            "an id that was thrown away",
            |bench| {
                bench.hook(draft(0, start(StartSource::Startup)).pid(7));
                bench.hook(draft(2000, start(StartSource::Resume)).of("session-2").pid(7));
            },
            true,
        ),
        (
            "no process is known",
            |bench| {
                bench.hook(draft(0, start(StartSource::Startup)));
            },
            true,
        ),
        (
            "a program at its prompt",
            |bench| {
                bench.hook(draft(0, start(StartSource::Startup)).pid(7));
                bench.wait(20_000);
            },
            false,
        ),
        (
            "a prompt",
            |bench| {
                bench.hook(draft(0, turn("p1")).prompt("p1"));
            },
            false,
        ),
        (
            "a turn that is over, and the end",
            |bench| {
                bench.hook(draft(0, start(StartSource::Startup)).pid(7));
                bench.hook(draft(100, turn("p1")).prompt("p1").pid(7));
                bench.hook(draft(900, stop("p1")).prompt("p1").pid(7));
                bench.hook(draft(2000, end(EndReason::Exit)).pid(7));
            },
            false,
        ),
        (
            "discovered at work",
            |bench| {
                bench.hook(draft(0, tool("c1", "Bash")));
                bench.hook(draft(900, end(EndReason::Exit)));
            },
            false,
        ),
        (
            "discovered while it asked",
            |bench| {
                bench.hook(draft(0, ask("Bash")));
                bench.hook(draft(900, end(EndReason::Exit)));
            },
            false,
        ),
    ];
    for (name, see, is_ghost) in cases {
        let mut bench = Bench::default();
        see(&mut bench);
        assert_eq!(bench.state().is_ghost(), is_ghost, "{name}: {:?}", bench.state());
    }
}

#[test]
fn a_ghost_that_is_asked_for_something_is_one_no_more() {
    let mut bench = Bench::default();
    bench.hook(draft(0, start(StartSource::Startup)).pid(7));
    bench.hook(draft(1000, end(EndReason::Exit)).pid(7));
    assert!(bench.state().is_ghost());
    bench.hook(draft(60_000, start(StartSource::Resume)).pid(8));
    assert!(!bench.state().is_ghost(), "it may yet be");
    bench.hook(draft(61_000, turn("p1")).prompt("p1").pid(8));
    bench.hook(draft(62_000, end(EndReason::Exit)).pid(8));
    assert!(!bench.state().is_ghost());
}
