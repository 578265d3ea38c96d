//! Signals reach the child once, whoever sent them and to whom.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};

use crate::support::{child_of, kill, state_of, wait_for, wrap_sh};
use crate::unix::on_a_terminal;

/// Says «ready», then each signal's name as it comes, until its input ends.
const TRAPS: &str = "for s in HUP INT QUIT TERM CONT WINCH USR1 USR2; do trap \"echo $s\" $s; done; \
                     trap 'exit 0' ALRM; echo ready; while :; do sleep 0.02; done";

fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let output = child.stdout.take().expect("piped");
    BufReader::new(output).lines().map(|line| line.expect("text"))
}

fn piped(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started")
}

#[test]
fn a_signal_sent_to_the_wrapper_alone_reaches_the_child_once() {
    let state = tempfile::tempdir().expect("a folder");
    let mut child = piped(wrap_sh(state.path(), TRAPS).stdin(Stdio::null()));
    let mut lines = lines(&mut child);
    assert_eq!(lines.next().as_deref(), Some("ready"));
    let own = child_of(&child);
    for signal in ["HUP", "INT", "QUIT", "TERM", "CONT", "WINCH", "USR1", "USR2"] {
        kill(signal, child.id());
        assert_eq!(lines.next().as_deref(), Some(signal));
    }
    kill("ALRM", own);
    assert_eq!(lines.next(), None, "each came once");
    assert_eq!(child.wait().expect("ended").code(), Some(0));
}

#[test]
fn a_signal_from_the_terminal_reaches_the_child_once() {
    let state = tempfile::tempdir().expect("a folder");
    let mut command = wrap_sh(state.path(), TRAPS);
    let terminal = on_a_terminal(&mut command);
    let mut child = piped(&mut command);
    let mut lines = lines(&mut child);
    assert_eq!(lines.next().as_deref(), Some("ready"));
    let own = child_of(&child);
    // Control-C, then control-backslash, then a new window size.
    rustix::io::write(&terminal, b"\x03").expect("typed");
    assert_eq!(lines.next().as_deref(), Some("INT"));
    rustix::io::write(&terminal, b"\x1c").expect("typed");
    assert_eq!(lines.next().as_deref(), Some("QUIT"));
    let size = rustix::termios::Winsize { ws_row: 10, ws_col: 20, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&terminal, size).expect("sized");
    assert_eq!(lines.next().as_deref(), Some("WINCH"));
    // A marker behind everything the wrapper might have forwarded: it takes signals in order.
    kill("USR1", child.id());
    assert_eq!(lines.next().as_deref(), Some("USR1"));
    kill("ALRM", own);
    assert_eq!(lines.next(), None, "each came once");
    child.wait().expect("ended");
}

#[test]
fn the_terminal_going_away_ends_both() {
    let state = tempfile::tempdir().expect("a folder");
    let mut command = wrap_sh(state.path(), "echo ready; sleep 60; :");
    let terminal = on_a_terminal(&mut command);
    let mut child = piped(&mut command);
    let mut lines = lines(&mut child);
    assert_eq!(lines.next().as_deref(), Some("ready"));
    drop(terminal);
    assert_eq!(child.wait().expect("ended").signal(), Some(1));
}

#[test]
fn a_child_that_signals_its_own_group_gets_that_once() {
    let state = tempfile::tempdir().expect("a folder");
    let script = "trap 'echo USR1' USR1; kill -USR1 0; sleep 0.1; echo end";
    let mut command = wrap_sh(state.path(), script);
    // A group of its own, so that the test is not in it.
    let _terminal = on_a_terminal(&mut command);
    let mut child = piped(&mut command);
    assert_eq!(lines(&mut child).collect::<Vec<_>>(), ["USR1", "end"]);
    child.wait().expect("ended");
}

#[test]
fn a_stopped_child_stops_the_wrapper_and_both_go_on() {
    let state = tempfile::tempdir().expect("a folder");
    let mut child = piped(wrap_sh(state.path(), TRAPS).stdin(Stdio::null()));
    let mut lines = lines(&mut child);
    assert_eq!(lines.next().as_deref(), Some("ready"));
    let own = child_of(&child);
    for _ in 0..3 {
        kill("STOP", own);
        wait_for("the wrapper stopping", || (state_of(child.id()) == Some('T')).then_some(()));
        kill("CONT", child.id());
        assert_eq!(lines.next().as_deref(), Some("CONT"));
        assert_ne!(state_of(own), Some('T'));
    }
    kill("TERM", child.id());
    assert_eq!(lines.next().as_deref(), Some("TERM"));
    kill("ALRM", own);
    assert_eq!(lines.next(), None, "each came once");
    child.wait().expect("ended");
}
