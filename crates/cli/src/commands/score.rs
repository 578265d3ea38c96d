//! `score`: how often replays tell what the agent itself told, for each set of feeds.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use linelamp_feeds::replay::{FeedSet, Recording, Score, UnknownFeed, score};
use serde_json::json;

use crate::agents;
use crate::args::{Format, ScoreArgs};
use crate::exit::{Failure, USAGE};

/// What is compared where nothing is asked for: a host's view, and what is known of sessions that nobody launched.
const SETS: [&str; 5] =
    ["stream", "hooks", "transcript", "hooks,transcript", "hooks,transcript,status"];

/// Scores every recording with every set.
pub(crate) fn run(args: &ScoreArgs) -> Result<ExitCode> {
    let sets =
        if args.feeds.is_empty() { SETS.map(str::to_owned).to_vec() } else { args.feeds.clone() };
    let sets: Vec<FeedSet> = sets
        .iter()
        .map(|set| {
            set.parse().map_err(|error: UnknownFeed| Failure::new(USAGE, error.to_string()).into())
        })
        .collect::<Result<_>>()?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut documents = Vec::new();
    for set in sets {
        let of_each = args
            .dirs
            .iter()
            .map(|dir| Ok((dir.clone(), score_of(dir, set)?)))
            .collect::<Result<Vec<_>>>()?;
        let mut all = Score::default();
        for (_, score) in &of_each {
            all.add(score);
        }
        match args.format {
            Format::Table => table(&mut out, set, &all, &of_each, args.verbose)?,
            Format::Ndjson => writeln!(out, "{}", document(set, &all, &of_each))?,
            Format::Json => documents.push(document(set, &all, &of_each)),
        }
    }
    if args.format == Format::Json {
        writeln!(out, "{}", serde_json::to_string_pretty(&documents)?)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn score_of(dir: &Path, feeds: FeedSet) -> Result<Score> {
    let recording = Recording::open(dir)?;
    let driver =
        agents::by_name("claude-code").context("the driver of Claude Code is not built in")?;
    // What the folder does not hold is silent.
    let feeds = feeds.iter().filter(|feed| recording.feeds().contains(*feed)).collect();
    Ok(score(recording, &driver, feeds))
}

fn table(
    out: &mut impl Write,
    set: FeedSet,
    all: &Score,
    of_each: &[(PathBuf, Score)],
    verbose: bool,
) -> Result<()> {
    writeln!(
        out,
        "{:<26} {:>7}   {} of {} samples right   false waiting {}   false idle {}",
        set.to_string(),
        percent(all),
        all.right,
        all.samples,
        all.false_waiting,
        all.false_idle
    )?;
    for (dir, score) in of_each.iter().filter(|_| verbose) {
        for wrong in &score.wrong {
            writeln!(
                out,
                "  {}  {:>7} ms  {}  {} instead of {}",
                dir.display(),
                wrong.ms,
                wrong.session,
                wrong.told,
                wrong.truth
            )?;
        }
    }
    Ok(())
}

fn percent(score: &Score) -> String {
    if score.samples == 0 {
        return "-".to_owned();
    }
    format!("{:.2} %", 100.0 * f64::from(score.right) / f64::from(score.samples))
}

fn document(set: FeedSet, all: &Score, of_each: &[(PathBuf, Score)]) -> serde_json::Value {
    json!({
        "feeds": set.to_string(),
        "samples": all.samples,
        "right": all.right,
        "false_waiting": all.false_waiting,
        "false_idle": all.false_idle,
        "recordings": of_each.iter().map(|(dir, score)| json!({
            "dir": dir, "samples": score.samples, "right": score.right, "wrong": score.wrong,
        })).collect::<Vec<_>>(),
    })
}
