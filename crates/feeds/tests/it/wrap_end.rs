//! The wrapper starts and ends as its child does.

use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{PROBE, child_of, kill, spool_files, state_of, wait_for, wrap, wrap_sh};

#[test]
fn exit_codes_and_death_by_signal_are_reproduced() {
    let state = tempfile::tempdir().expect("a folder");
    for code in [0, 1, 7, 143, 255] {
        let status = wrap_sh(state.path(), &format!("exit {code}")).stdout(Stdio::piped()).status();
        assert_eq!(status.expect("a status").code(), Some(code));
    }
    for (signal, number) in [("TERM", 15), ("KILL", 9), ("SEGV", 11), ("HUP", 1), ("PIPE", 13)] {
        let script = format!("kill -{signal} $$; sleep 5");
        let status = wrap_sh(state.path(), &script).stdout(Stdio::piped()).status();
        let status = status.expect("a status");
        assert_eq!((status.signal(), status.core_dumped()), (Some(number), false), "{signal}");
    }
    assert!(spool_files(state.path()).is_empty(), "nothing was said, nothing is left");
}

#[test]
fn a_program_that_cannot_be_run_ends_as_in_a_shell() {
    let state = tempfile::tempdir().expect("a folder");
    let not_executable = state.path().join("file");
    std::fs::write(&not_executable, "").expect("a file");
    let not_executable = not_executable.to_str().expect("text");
    for (options, word, code) in [
        (&[][..], "/nowhere/at-all", 127),
        (&[], "no-such-program-anywhere", 127),
        (&[], not_executable, 126),
        (&["--side"], "no-such-program-anywhere", 127),
    ] {
        let output = wrap(state.path(), options, &[word]).output().expect("output");
        assert_eq!(output.status.code(), Some(code), "{word}");
    }
}

#[test]
fn a_side_call_runs_in_our_place() {
    let state = tempfile::tempdir().expect("a folder");
    let mut child = wrap(state.path(), &["--side"], &["sh", "-c", "echo $$; exec cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    drop(child.stdin.take());
    let mut text = String::new();
    child.stdout.take().expect("piped").read_to_string(&mut text).expect("text");
    assert_eq!(text.trim(), child.id().to_string());
    child.wait().expect("ended");
}

/// Masks and ignored signals as the kernel shows them for a program run by `sh` after `before`.
fn signals_of(before: &str, program: &str) -> Vec<u64> {
    let script = format!("{before} exec {program} grep -E 'Sig(Blk|Ign)' /proc/self/status");
    let output = Command::new("sh").args(["-c", &script]).output().expect("output");
    assert!(output.status.success());
    // Signals 32 and 33 are the C library's own: it takes them when a thread is started.
    let own = 0b11 << 31;
    String::from_utf8(output.stdout)
        .expect("text")
        .lines()
        .map(|line| line.split_whitespace().nth(1).expect("a set"))
        .map(|set| u64::from_str_radix(set, 16).expect("hexadecimal") & !own)
        .collect()
}

#[test]
fn the_child_has_the_signal_mask_and_dispositions_it_would_have_alone() {
    let state = tempfile::tempdir().expect("a folder");
    let path = state.path().display();
    for before in ["", "trap '' PIPE HUP;", "trap '' CHLD INT;"] {
        let alone = signals_of(before, "");
        for option in ["", "--side"] {
            let wrapped = signals_of(before, &format!("{PROBE} wrap {path} {option} --"));
            assert_eq!(wrapped, alone, "{before} {option}");
        }
    }
}

#[test]
fn the_end_of_input_is_forwarded_at_once() {
    let state = tempfile::tempdir().expect("a folder");
    let mut child = wrap_sh(state.path(), "cat >/dev/null; echo ended")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    drop(child.stdin.take());
    let mut text = String::new();
    child.stdout.take().expect("piped").read_to_string(&mut text).expect("text");
    assert_eq!(text, "ended\n");
    child.wait().expect("ended");
}

#[test]
fn the_child_ending_ends_us_though_our_input_stays_open() {
    let state = tempfile::tempdir().expect("a folder");
    let mut child = wrap_sh(state.path(), "echo '{\"must\":1}'; exit 7")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let _input = child.stdin.take().expect("piped");
    assert_eq!(child.wait().expect("ended").code(), Some(7));
}

#[test]
fn a_child_that_ignores_its_input_is_not_disturbed_by_it() {
    let state = tempfile::tempdir().expect("a folder");
    let mut child = wrap_sh(state.path(), "read first; echo $first; read go; exit 3")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut input = child.stdin.take().expect("piped");
    // Far more than all pipes hold: the writer must be made to wait, and nobody else.
    let writer = std::thread::spawn(move || {
        input.write_all(b"one\n").ok();
        let block = vec![b'\n'; 1 << 16];
        while input.write_all(&block).is_ok() {}
    });
    assert_eq!(child.wait().expect("ended").code(), Some(3));
    writer.join().expect("the writer saw its pipe close");
}

#[test]
fn a_reader_that_goes_away_is_seen_by_the_child_as_alone() {
    let state = tempfile::tempdir().expect("a folder");
    let mut child = wrap(state.path(), &[], &["yes"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut output = child.stdout.take().expect("piped");
    output.read_exact(&mut [0; 10]).expect("some output");
    drop(output);
    assert_eq!(child.wait().expect("ended").signal(), Some(13));
}

#[test]
fn an_idle_child_finds_its_output_closed_at_its_next_word() {
    let state = tempfile::tempdir().expect("a folder");
    let mut child = wrap_sh(state.path(), "echo one; read line; echo two; sleep 20")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut output = child.stdout.take().expect("piped");
    output.read_exact(&mut [0; 4]).expect("some output");
    drop(output);
    // The pump sees the reader go without a byte to write.
    let own = child_of(&child);
    wait_for("our end closing", || {
        let ours = std::fs::read_link(format!("/proc/{own}/fd/1")).ok()?;
        let held = std::fs::read_dir(format!("/proc/{}/fd", child.id())).ok()?;
        let holds =
            held.flatten().any(|entry| std::fs::read_link(entry.path()).is_ok_and(|at| at == ours));
        (!holds).then_some(())
    });
    child.stdin.take().expect("piped").write_all(b"go\n").expect("written");
    assert_eq!(child.wait().expect("ended").signal(), Some(13));
}

#[test]
fn killing_the_wrapper_kills_the_child() {
    let state = tempfile::tempdir().expect("a folder");
    let mut child = wrap(state.path(), &[], &["sleep", "60"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let own = child_of(&child);
    kill("KILL", child.id());
    child.wait().expect("ended");
    wait_for("the child's end", || state_of(own).is_none_or(|state| state == 'Z').then_some(()));
}

#[test]
fn an_output_held_open_by_a_grandchild_does_not_hold_our_exit_and_loses_nothing() {
    let state = tempfile::tempdir().expect("a folder");
    let go = state.path().join("go");
    let script = format!(
        "echo first; (while [ ! -e {} ]; do sleep 0.01; done; echo last) & exit 5",
        go.display()
    );
    let mut child = wrap_sh(state.path(), &script)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut output = child.stdout.take().expect("piped");
    assert_eq!(child.wait().expect("ended").code(), Some(5));
    std::fs::write(&go, "").expect("written");
    let mut text = String::new();
    output.read_to_string(&mut text).expect("text");
    assert_eq!(text, "first\nlast\n");
}

#[test]
fn a_reader_that_stopped_reading_does_not_hold_our_exit_and_loses_nothing() {
    let state = tempfile::tempdir().expect("a folder");
    let mut child = wrap(state.path(), &[], &[PROBE, "burst", "6000", "10"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut output = child.stdout.take().expect("piped");
    // More than one pipe holds, less than two: the child can end, its words cannot all arrive.
    assert!(child.wait().expect("ended").success());
    let mut text = Vec::new();
    output.read_to_end(&mut text).expect("bytes");
    let alone = Command::new(PROBE).args(["burst", "6000", "10"]).output().expect("output");
    assert!(alone.stdout.len() > 1 << 20);
    assert_eq!(text, alone.stdout);
}

#[test]
fn whatever_the_daemon_does_the_exit_is_not_held() {
    let state = tempfile::tempdir().expect("a folder");
    let _hung = crate::daemon::hung(state.path());
    held_for(state.path());
    held_for(Path::new("/proc/none"));
}

fn held_for(state: &Path) {
    let mut child = wrap_sh(state, "echo '{\"must\":1}'")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("started");
    let started = Instant::now();
    assert!(child.wait().expect("ended").success());
    // Generous for a busy machine; what is promised is a quarter of a second.
    assert!(started.elapsed() < Duration::from_secs(5));
}
