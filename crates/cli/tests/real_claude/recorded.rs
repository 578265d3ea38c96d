//! `linelamp record` around the real CLI: what it keeps is whole, and `score` can judge it.

use std::fs;

use serde_json::Value;

use crate::answer::{Answer, Gate};
use crate::install;
use crate::piped::Piped;
use crate::sandbox::{ONE_SHOT, Sandbox};
use crate::wait;

#[test]
fn recorded_session_holds_all_feeds_and_scores_itself() {
    let Some(claude) = install::claude() else { return };
    let sandbox = Sandbox::new(claude);
    let gate = Gate::new();
    let slow = Answer::text("None at all.").held_by(&gate);
    sandbox.api.script("list the files", [Answer::bash("ls"), slow]);

    let mut command = sandbox.linelamp(&["record", "recording", "--", "claude"]);
    command.args(ONE_SHOT).args(["--permission-mode", "bypassPermissions", "list the files"]);
    let run = Piped::spawn_silent(command);
    gate.wait_reached();
    // Long enough that the true state can be sampled.
    let recording = sandbox.project().join("recording");
    wait::until("three seconds of work", || {
        let timeline = fs::read_to_string(recording.join("timeline.ndjson")).unwrap_or_default();
        let busy = timeline.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let last = busy.filter(|line| line["src"] == "sessions").filter_map(|it| it["ms"].as_u64());
        let since = last.max().ok_or("no status yet")?;
        let written = fs::metadata(recording.join("meta.json")).and_then(|it| it.modified());
        let age = written.ok().and_then(|at| at.elapsed().ok()).map_or(0, |age| age.as_millis());
        if age > u128::from(since) + 3_000 { Ok(()) } else { Err(format!("{since}, {age}")) }
    });
    gate.open();
    let finished = run.finish();
    assert_eq!(finished.status.code(), Some(0), "{finished:?}");

    let project = sandbox.project();
    let json = |arguments: &[&str]| -> Value {
        let output = sandbox.linelamp(arguments).current_dir(&project).output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    for feeds in ["stream", "hooks", "transcript", "status"] {
        let score = json(&["score", "recording", "--feeds", feeds, "--format", "ndjson"]);
        let samples = score["samples"].as_u64().expect("a count");
        assert!(samples >= 1, "{feeds}: {score}");
        assert_eq!(score["right"], samples, "{feeds}: {score}");
    }
    let stats = json(&["replay", "recording", "--stats", "--format", "ndjson"]);
    assert_eq!((&stats["native"], &stats["malformed"]), (&0.into(), &0.into()), "{stats}");
}
