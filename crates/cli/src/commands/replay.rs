//! `replay`: a recording once more, and what linelamp makes of it.

use std::io::{BufWriter, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result};
use linelamp_core::driver::{Driver, Reading};
use linelamp_core::event::Event;
use linelamp_feeds::replay::{
    FeedSet, Recording, Replay, ReplayOptions, ReplayStats, StateChange, UnknownFeed,
};

use crate::agents;
use crate::args::{Format, ReplayArgs};
use crate::client::Client;
use crate::exit::{Failure, USAGE};
use crate::paths::Paths;
use crate::stage::{Stage, wait_until};

/// Plays one recording.
pub(crate) fn run(args: &ReplayArgs) -> Result<ExitCode> {
    let recording = Recording::open(&args.dir)?;
    let feeds = feeds(&args.feeds, recording.feeds())?;
    if args.to_daemon {
        Client::connect(&Paths::find()?.state)?;
        let stage = Stage {
            folder: args.dir.clone(),
            feeds,
            // Hooks and stream are told by different processes: without their true distance in time
            // nobody could know what came first.
            speed: args.speed.or(Some(1.0)),
            stream: args.dir.join("stdout.ndjson").exists(),
            environment: Vec::new(),
        };
        stage.play()?;
        return Ok(ExitCode::SUCCESS);
    }
    // Events are shown with their content, and a recording holds what its owner chose to keep.
    let reading = if args.events || args.stats { Reading::Full } else { Reading::State };
    let options = ReplayOptions { feeds, reading, ..ReplayOptions::default() };
    let mut replay = Replay::new(recording, driver()?, options);
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut printer = Printer { args, first: true };
    let start = Instant::now();
    printer.begin(&mut out)?;
    let mut events = Vec::new();
    while let Some(ms) = replay.next_ms() {
        if args.speed.is_some() {
            out.flush()?;
            wait_until(start, ms, args.speed);
        }
        replay.advance(&mut events);
        for event in events.drain(..) {
            printer.event(&mut out, &replay, &event)?;
        }
    }
    printer.end(&mut out, &replay)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn driver() -> Result<Arc<dyn Driver>> {
    agents::by_name("claude-code").context("the driver of Claude Code is not built in")
}

/// The feeds the user named, or all that the recording holds.
fn feeds(names: &[String], all: FeedSet) -> Result<FeedSet> {
    if names.is_empty() {
        return Ok(all);
    }
    names
        .join(",")
        .parse()
        .map_err(|error: UnknownFeed| Failure::new(USAGE, error.to_string()).into())
}

struct Printer<'a> {
    args: &'a ReplayArgs,
    first: bool,
}

impl Printer<'_> {
    fn begin(&mut self, out: &mut impl Write) -> Result<()> {
        if self.args.format == Format::Json && !self.args.stats {
            write!(out, "[")?;
        }
        Ok(())
    }

    fn event(&mut self, out: &mut impl Write, replay: &Replay, event: &Event) -> Result<()> {
        if self.args.stats {
            return Ok(());
        }
        if self.args.events {
            return match self.args.format {
                Format::Table => Ok(writeln!(
                    out,
                    "{:>6}  {:<22}  {}  {}",
                    event.seq,
                    event.body.kind(),
                    event.session.id,
                    event.scope
                )?),
                Format::Json | Format::Ndjson => self.item(out, &event.to_json()),
            };
        }
        let Some(change) = replay.state_change(event) else { return Ok(()) };
        match self.args.format {
            Format::Table => Ok(writeln!(out, "{}", line(&change))?),
            Format::Json | Format::Ndjson => self.item(out, &serde_json::to_string(&change)?),
        }
    }

    fn item(&mut self, out: &mut impl Write, json: &str) -> Result<()> {
        if self.args.format == Format::Json && !std::mem::take(&mut self.first) {
            writeln!(out, ",")?;
        }
        write!(out, "{json}")?;
        if self.args.format == Format::Ndjson {
            writeln!(out)?;
        }
        Ok(())
    }

    fn end(&mut self, out: &mut impl Write, replay: &Replay) -> Result<()> {
        if self.args.stats {
            return stats(out, replay.stats(), self.args.format);
        }
        if self.args.format == Format::Json {
            writeln!(out, "]")?;
        }
        Ok(())
    }
}

fn line(change: &StateChange) -> String {
    let waiting_for =
        change.waiting_for.map_or_else(String::new, |waiting_for| format!(" ({waiting_for})"));
    format!(
        "{:>8} ms  {}  {}{waiting_for}  because {}",
        change.ms,
        change.session,
        change.state,
        change.because.join(", ")
    )
}

fn stats(out: &mut impl Write, stats: ReplayStats, format: Format) -> Result<()> {
    match format {
        Format::Table => {
            let rows = [
                ("lines", stats.lines),
                ("understood", stats.understood),
                ("ignored", stats.ignored),
                ("native", stats.native),
                ("malformed", stats.malformed),
                ("events", stats.events),
            ];
            for (name, count) in rows {
                writeln!(out, "{name:<10}  {count:>8}")?;
            }
        }
        Format::Json | Format::Ndjson => writeln!(out, "{}", serde_json::to_string(&stats)?)?,
    }
    Ok(())
}
