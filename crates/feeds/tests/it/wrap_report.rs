//! What the daemon gets, and when there is none what lies in the spool.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use linelamp_feeds::spool::Role;
use serde_json::json;

use crate::daemon::{self, Daemon};
use crate::support::{
    PROBE, musts, on_a_full_disk, seen, spool_files, spooled_batches, wait_for, wrap, wrap_sh,
};

fn run(mut command: std::process::Command) {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
    assert!(status.expect("a status").success());
}

#[test]
fn a_daemon_hears_everything_and_nothing_is_spooled() {
    let state = tempfile::tempdir().expect("a folder");
    let daemon = Daemon::start(state.path(), "state");
    run(wrap_sh(
        state.path(),
        "echo '{\"must\":1}'; echo; printf '{\"must\":2}\\r\\n{\"must\":3}'",
    ));
    let (hello, batches) = daemon.whole();
    assert_eq!((&hello["linelamp"], &hello["role"]), (&json!(1), &json!("wrap")));
    assert_eq!(hello["agent"], "test");
    assert!(hello["child"]["pid"].is_u64() && hello["child"]["start"].is_u64(), "{hello}");
    let seen = seen(&batches);
    assert_eq!(musts(&seen), [1, 2, 3]);
    assert_eq!(seen.last().expect("an end")["exit"], json!({"code": 0, "signal": null}));
    let numbers: Vec<_> = batches.iter().map(|batch| batch["n"].as_u64()).collect();
    assert_eq!(numbers, (1..=batches.len() as u64).map(Some).collect::<Vec<_>>());
    assert!(spool_files(state.path()).is_empty());
}

#[test]
fn both_directions_are_read() {
    let state = tempfile::tempdir().expect("a folder");
    let daemon = Daemon::start(state.path(), "state");
    let mut child = wrap(state.path(), &[], &["cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("started");
    child.stdin.take().expect("piped").write_all(b"{\"must\":1}\n").expect("written");
    child.wait().expect("ended");
    let seen = seen(&daemon.whole().1);
    let mut ways: Vec<_> = seen.iter().filter_map(|value| value["direction"].as_str()).collect();
    ways.sort_unstable();
    assert_eq!(ways, ["from_agent", "to_agent"]);
}

#[test]
fn a_want_of_everything_reaches_the_decoder_before_the_first_line() {
    let state = tempfile::tempdir().expect("a folder");
    let daemon = Daemon::start(state.path(), "full");
    let mut child = wrap_sh(state.path(), &format!("{PROBE} burst 1000 10; read go"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("started");
    wait_for("every line", || (seen(&daemon.batches()).len() == 1000).then_some(()));
    drop(child.stdin.take());
    child.wait().expect("ended");
}

#[test]
fn without_a_daemon_everything_is_in_the_spool_at_the_end() {
    let state = tempfile::tempdir().expect("a folder");
    run(wrap(state.path(), &[], &[PROBE, "burst", "1000", "10"]));
    let files = spool_files(state.path());
    let (header, _) = files.first().expect("a file");
    assert_eq!(header.role, Role::Wrap);
    assert!(header.instance.is_some() && header.child.is_some());
    let seen = seen(&spooled_batches(state.path()));
    assert_eq!(musts(&seen), (1..=100).map(|number| number * 10).collect::<Vec<_>>());
    assert_eq!(seen.last().expect("an end")["exit"]["code"], 0);
}

#[test]
fn each_draft_has_an_id_of_its_own() {
    let state = tempfile::tempdir().expect("a folder");
    run(wrap(state.path(), &[], &[PROBE, "burst", "2000", "2"]));
    let batches = spooled_batches(state.path());
    let ids: Vec<_> = batches
        .iter()
        .flat_map(|batch| batch["drafts"].as_array().expect("drafts"))
        .map(|draft| draft["id"].as_str().expect("an id").to_owned())
        .collect();
    let unique: std::collections::HashSet<_> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len());
}

#[test]
fn a_hung_daemon_is_passed_by_and_gets_all_when_it_wakes() {
    let state = tempfile::tempdir().expect("a folder");
    let listener = daemon::hung(state.path());
    let script = "echo '{\"must\":1}'; read go; echo '{\"must\":2}'; read go";
    let mut child = wrap_sh(state.path(), script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut input = child.stdin.take().expect("piped");
    let mut output = BufReader::new(child.stdout.take().expect("piped")).lines();
    output.next().expect("a line").expect("text");
    wait_for("spooling", || (!spooled_batches(state.path()).is_empty()).then_some(()));
    let daemon = Daemon::answer(listener, "state");
    // It finds in its socket what the spool has as well, and hears of news directly again.
    wait_for("the first line", || (musts(&seen(&daemon.batches())) == [1]).then_some(()));
    input.write_all(b"{\"must\":10}\n").expect("written");
    output.next().expect("a line").expect("text");
    wait_for("the second line", || musts(&seen(&daemon.batches())).contains(&2).then_some(()));
    drop(input);
    child.wait().expect("ended");
    let (_, mut all) = daemon.whole();
    all.extend(spooled_batches(state.path()));
    all.sort_by_key(|batch| batch["n"].as_u64());
    all.dedup();
    let numbers: Vec<_> = all.iter().map(|batch| batch["n"].as_u64()).collect();
    assert_eq!(numbers, (1..=all.len() as u64).map(Some).collect::<Vec<_>>());
    assert_eq!(seen(&all).last().expect("an end")["exit"]["code"], 1);
}

#[test]
fn a_daemon_that_comes_later_is_found() {
    let state = tempfile::tempdir().expect("a folder");
    let script = "echo '{\"must\":1}'; read go; echo '{\"must\":2}'";
    let mut child = wrap_sh(state.path(), script)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("started");
    wait_for("spooling", || (!spooled_batches(state.path()).is_empty()).then_some(()));
    let daemon = Daemon::start(state.path(), "state");
    let mut input = child.stdin.take().expect("piped");
    input.write_all(b"{\"must\":3}\n").expect("written");
    child.wait().expect("ended");
    wait_for("every line", || {
        let mut all = spooled_batches(state.path());
        // Whether it was found in time for the last lines depends on the pause between attempts.
        all.extend(daemon.batches());
        let mut numbers = musts(&seen(&all));
        numbers.sort_unstable();
        numbers.dedup();
        (numbers == [1, 2, 3]).then_some(())
    });
}

/// All batches, once the last one lies in the spool: it may come after the exit.
fn spooled_to_the_end(state: &std::path::Path) -> Option<Vec<serde_json::Value>> {
    let batches = spooled_batches(state);
    seen(&batches).last()?.get("exit")?;
    Some(batches)
}

#[test]
fn a_burst_with_a_slow_decoder_loses_no_line_that_carries_state() {
    let state = tempfile::tempdir().expect("a folder");
    run(wrap(state.path(), &["--slow"], &[PROBE, "burst", "100000", "50"]));
    let batches = wait_for("the last word", || spooled_to_the_end(state.path()));
    let seen = seen(&batches);
    assert!(musts(&seen).into_iter().eq((1..=2000).map(|number| number * 50)));
    let gaps: u64 = seen.iter().filter_map(|value| value["gap"].as_u64()).sum();
    let counts = batches.iter().rev().find_map(|batch| batch.get("counts")).expect("counts");
    assert_eq!(counts["shed"].as_u64(), Some(gaps), "what is left out is counted");
    assert!(gaps > 0);
}

#[test]
fn a_burst_of_nothing_but_state_is_kept_whole() {
    let state = tempfile::tempdir().expect("a folder");
    run(wrap(state.path(), &[], &[PROBE, "burst", "100000", "1"]));
    let batches = wait_for("the last word", || spooled_to_the_end(state.path()));
    assert!(musts(&seen(&batches)).into_iter().eq(1..=100_000));
}

#[test]
fn a_line_over_the_limit_is_a_gap_and_the_lines_after_it_are_whole() {
    let state = tempfile::tempdir().expect("a folder");
    let bytes = (9 << 20).to_string();
    run(wrap(state.path(), &[], &[PROBE, "long", &bytes]));
    let batches = spooled_batches(state.path());
    let seen = seen(&batches);
    assert_eq!(musts(&seen), [1, 2, 3]);
    assert_eq!(seen[1], json!({"gap": 1, "too_long": true}));
    let counts = batches.iter().find_map(|batch| batch.get("counts")).expect("counts");
    assert_eq!(counts["too_long"], 1);
}

#[test]
fn a_decoder_that_panics_is_replaced_and_hears_of_a_gap() {
    let state = tempfile::tempdir().expect("a folder");
    run(wrap_sh(state.path(), "printf '{\"must\":1}\\npanic\\n{\"must\":2}\\n'"));
    let batches = spooled_batches(state.path());
    let seen = seen(&batches);
    assert_eq!(musts(&seen), [1, 2]);
    assert_eq!(seen[1], json!({"gap": 1, "too_long": false}));
    assert_eq!(batches[0]["counts"]["panics"], 1);
}

#[test]
fn the_first_lines_tell_the_agent_if_nobody_else_does() {
    let state = tempfile::tempdir().expect("a folder");
    run(wrap(
        state.path(),
        &["--choose"],
        &["sh", "-c", "echo '{\"must\":1}'; echo '{\"hello\":1}'; echo '{\"must\":2}'"],
    ));
    let seen = seen(&spooled_batches(state.path()));
    assert_eq!(musts(&seen), [1, 2], "lines before the agent was known are not lost");

    let state = tempfile::tempdir().expect("a folder");
    run(wrap(state.path(), &["--choose"], &["seq", "100000"]));
    assert!(spool_files(state.path()).is_empty(), "nobody's stream is left alone");
}

#[test]
fn a_full_disk_leaves_nothing_half_written_and_the_agent_alone() {
    let (output, left) = on_a_full_disk(|state| {
        wrap(state, &[], &[PROBE, "burst", "20000", "2"])
            .stdin(Stdio::null())
            .output()
            .expect("output")
    });
    assert!(output.status.success());
    assert!(output.stderr.is_empty());
    assert_eq!(left, 0);
}
