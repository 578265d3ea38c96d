//! Signals while a turn is in flight: whoever gets them, the host sees the CLI's own end, and
//! so does linelamp.

use std::os::unix::process::ExitStatusExt;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::answer::{Answer, Gate};
use crate::install;
use crate::lamp::Lamp;
use crate::piped::{Finished, Piped};
use crate::sandbox::{ONE_SHOT, Sandbox};

/// Who is sent the signal.
#[derive(Clone, Copy, Debug)]
enum To {
    Cli,
    Wrapper,
}

/// What a run ended with, and what linelamp says of it.
struct Ending {
    finished: Finished,
    session: Value,
    session_ended: Value,
    turn_ended: Value,
}

/// Runs a prompt that never ends under the wrapper and sends a signal in its middle.
fn signalled(signal: Signal, to: To) -> Option<Ending> {
    let sandbox = Sandbox::new(install::claude()?);
    let lamp = Lamp::serve(&sandbox);
    let gate = Gate::new();
    sandbox.api.script("never end", [Answer::text("On and").hanging_on(&gate)]);

    let mut run = Piped::spawn(sandbox.wrapped(&[&ONE_SHOT[..], &["never end"]].concat()));
    run.close_input();
    let id = run.session();
    gate.wait_reached();
    let cli: Pid = sandbox.cli_process();
    assert_ne!(cli, run.pid(), "the wrapper is a process of its own");
    lamp.wait_for_state(&id, "working");
    let target = match to {
        To::Cli => cli,
        To::Wrapper => run.pid(),
    };
    kill_process(target, signal).expect("it is still running");
    let finished = run.finish();

    let session = lamp.wait_for_state(&id, "ended");
    let [session_ended] = &lamp.events(&id, "session.ended")[..] else {
        panic!("not ended once: {:#?}", lamp.history(&id))
    };
    let [turn_ended] = &lamp.events(&id, "turn.ended")[..] else {
        panic!("turn not ended once: {:#?}", lamp.history(&id))
    };
    let (session_ended, turn_ended) = (session_ended.clone(), turn_ended.clone());
    Some(Ending { finished, session, session_ended, turn_ended })
}

/// The CLI takes SIGINT as an interrupt of its turn, prints the result and exits with 0.
fn assert_interrupted(to: To) {
    let Some(ending) = signalled(Signal::INT, to) else { return };
    assert_eq!(ending.finished.status.code(), Some(0), "{:?}", ending.finished);
    assert_eq!(ending.finished.last()["type"], "result");
    assert_eq!(ending.session_ended["exit_code"], 0);
    assert_eq!(ending.turn_ended["outcome"], "interrupted");
    assert_eq!(ending.session["outcome"], "interrupted");
}

/// The CLI takes SIGTERM, prints nothing more and exits with 143.
fn assert_terminated(to: To) {
    let Some(ending) = signalled(Signal::TERM, to) else { return };
    assert_eq!(ending.finished.status.code(), Some(143), "{:?}", ending.finished);
    assert_ne!(ending.finished.last()["type"], "result");
    assert_eq!(ending.session_ended["exit_code"], 143);
    assert_ne!(ending.turn_ended["outcome"], "completed");
}

#[test]
fn interrupt_of_the_cli_is_an_interrupted_turn() {
    assert_interrupted(To::Cli);
}

#[test]
fn interrupt_of_the_wrapper_reaches_the_cli() {
    assert_interrupted(To::Wrapper);
}

#[test]
fn termination_of_the_cli_is_told_with_its_exit_code() {
    assert_terminated(To::Cli);
}

#[test]
fn termination_of_the_wrapper_reaches_the_cli() {
    assert_terminated(To::Wrapper);
}

#[test]
fn killed_cli_is_told_with_its_signal_and_the_wrapper_dies_of_it_too() {
    let Some(ending) = signalled(Signal::KILL, To::Cli) else { return };
    assert_eq!(ending.finished.status.signal(), Some(9), "{:?}", ending.finished);
    assert_eq!(ending.session_ended["signal"], 9);
    assert_eq!(ending.session_ended["reason"], "killed");
    assert_ne!(ending.turn_ended["outcome"], "completed");
}
