//! `history`: what was, read from the store, with or without a daemon.

use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use linelamp_core::id::Seq;
use linelamp_core::{Body, Event, SessionKey};
use linelamp_sinks::store::{EventQuery, Reader, StoredEvent};

use crate::args::{Format, HistoryArgs};
use crate::exit::{FAILED, Failure, NO_SESSION};
use crate::output::table::{printable, short};
use crate::paths::Paths;

/// Prints past events, oldest first.
pub(crate) fn run(args: &HistoryArgs) -> Result<ExitCode> {
    let path = Paths::find()?.database();
    match path.try_exists() {
        Ok(true) => {}
        Ok(false) => {
            return Err(Failure::new(FAILED, "there is no history")
                .hint("a daemon with a store writes it: `linelamp up`, and no sinks.store.enabled = false")
                .into());
        }
        Err(error) => {
            return Err(error).with_context(|| format!("cannot look at {}", path.display()));
        }
    }
    let reader = Reader::open(&path)?;
    let query = EventQuery {
        session: args.id.as_deref().map(|id| find(&reader, id)).transpose()?,
        kinds: args.kind.clone(),
        after: Seq(args.after),
        newest: (args.limit > 0).then_some(args.limit),
        ..EventQuery::default()
    };
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut failed = None;
    let mut first = true;
    if args.format == Format::Json {
        write!(out, "[")?;
    }
    reader.events(&query, |stored| match print(&mut out, args.format, &stored, &mut first) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    if args.format == Format::Json {
        writeln!(out, "]")?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn find(reader: &Reader, id: &str) -> Result<SessionKey> {
    let mut found = reader.find(id)?;
    match found.len() {
        1 => found.pop().context("one session was found"),
        0 => Err(Failure::new(NO_SESSION, format!("no session begins with `{id}`"))
            .hint("`linelamp ls --all` lists all of them")
            .into()),
        _ => {
            let exact = found.iter().position(|key| key.id.as_str() == id);
            if let Some(exact) = exact {
                return Ok(found.swap_remove(exact));
            }
            let ids: Vec<String> = found.iter().take(5).map(ToString::to_string).collect();
            Err(Failure::new(NO_SESSION, format!("several sessions begin with `{id}`"))
                .hint(format!("give more of the id: {}", ids.join(", ")))
                .into())
        }
    }
}

fn print(
    out: &mut impl Write,
    format: Format,
    stored: &StoredEvent,
    first: &mut bool,
) -> Result<()> {
    match format {
        Format::Ndjson => writeln!(out, "{}", stored.json)?,
        Format::Json => {
            let comma = if std::mem::take(first) { "" } else { ",\n" };
            write!(out, "{comma}{}", stored.json)?;
        }
        Format::Table => {
            let event = stored.event()?;
            writeln!(
                out,
                "{}  {:<11}  {:<8}  {:<20}  {}",
                event.at.strftime("%Y-%m-%d %H:%M:%S"),
                printable(event.session.agent.as_str()),
                short(event.session.id.as_str()),
                event.body.kind(),
                summary(&event)
            )?;
        }
    }
    Ok(())
}

/// The one thing of an event's data that people look for. Never content.
fn summary(event: &Event) -> String {
    let mut words: Vec<String> = Vec::new();
    match &event.body {
        Body::StatusChanged(data) => {
            words.push(data.to.to_string());
            words.extend(data.waiting_for.map(|waiting_for| format!("({waiting_for})")));
        }
        Body::SessionStarted(data) => {
            words.push(data.source.to_string());
            words.extend(data.cwd.clone());
        }
        Body::SessionEnded(data) => {
            words.push(data.reason.to_string());
            words.extend(data.exit_code.map(|code| format!("exit {code}")));
            words.extend(data.signal.map(|signal| format!("signal {signal}")));
        }
        Body::TurnEnded(data) => {
            words.push(data.outcome.to_string());
            words.extend(data.error.map(|error| format!("({error})")));
            words.extend(data.cost_usd.map(|cost| format!("${cost:.4}")));
        }
        Body::ToolStarted(data) => words.push(data.tool.to_string()),
        Body::ToolEnded(data) => {
            words.extend(data.tool.as_ref().map(ToString::to_string));
            words.push(data.outcome.to_string());
        }
        Body::PermissionRequested(data) => {
            words.push(data.waiting_for.to_string());
            words.extend(data.tool.as_ref().map(ToString::to_string));
        }
        Body::PermissionResolved(data) => words.push(data.decision.to_string()),
        Body::ApiRetry(data) => words.push(format!("{} attempt {}", data.error, data.attempt)),
        Body::ApiFailed(data) => words.push(data.error.to_string()),
        Body::ModeChanged(data) => words.push(data.mode.clone()),
        _ => {}
    }
    if !event.scope.is_main() {
        words.push(format!("[{}]", event.scope));
    }
    printable(&words.join(" "))
}
