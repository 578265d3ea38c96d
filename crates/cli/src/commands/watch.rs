//! `watch`: sessions as they change.
//!
//! On a terminal the table is drawn anew at each change. Elsewhere one line is printed per session at first and
//! then one per change of state. `json` and `ndjson` print an object a line: first `{"session":…}` for each
//! session, then every event, at the metadata level.

use std::collections::HashMap;
use std::io::{IsTerminal as _, Write};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use jiff::Timestamp;
use linelamp_core::event::{Body, Event};
use linelamp_core::id::SessionKey;
use linelamp_core::state::SessionState;

use crate::args::{Format, WatchArgs};
use crate::client::Client;
use crate::daemon::protocol::{Request, Response};
use crate::exit::{Failure, NO_DAEMON};
use crate::output::session::SessionJson;
use crate::output::table::{self, printable, short};
use crate::paths::Paths;

/// Follows sessions until the daemon ends or the user has enough.
pub(crate) fn run(args: &WatchArgs) -> Result<ExitCode> {
    let paths = Paths::find()?;
    let mut client = Client::connect(&paths.state)?;
    let mut folders: HashMap<SessionKey, String> = HashMap::new();
    let mut out = std::io::stdout().lock();
    let live = args.format == Format::Table && out.is_terminal();
    let mut first = true;
    let mut response = Some(client.ask(&Request::Watch)?);
    client.patient(None)?;
    while let Some(answer) = response {
        match answer {
            Response::Sessions { sessions, .. } => {
                show_sessions(&mut out, &sessions, args.format, live, first, &mut folders)?;
                first = false;
            }
            Response::Event { event } => {
                let text = event.to_string();
                let event =
                    Event::from_json(&text).context("the daemon sent an unreadable event")?;
                match args.format {
                    Format::Table if !live => change(&mut out, &event, &folders)?,
                    Format::Table => {}
                    Format::Json | Format::Ndjson => writeln!(out, "{text}")?,
                }
            }
            _ => {}
        }
        out.flush()?;
        response = client.next()?;
    }
    Err(Failure::new(NO_DAEMON, "the daemon ended").into())
}

fn show_sessions(
    out: &mut impl Write,
    sessions: &[SessionState],
    format: Format,
    live: bool,
    first: bool,
    folders: &mut HashMap<SessionKey, String>,
) -> Result<()> {
    for state in sessions {
        if let Some(cwd) = &state.cwd {
            folders.insert(state.session.clone(), cwd.clone());
        }
    }
    let table = |color| {
        let real: Vec<SessionState> =
            sessions.iter().filter(|state| !state.is_ghost()).cloned().collect();
        table::sessions(&real, Timestamp::now(), color)
    };
    match format {
        Format::Table if live => {
            write!(out, "\x1b[H\x1b[J{}", table(crate::env::no_color().is_none()))?;
        }
        // What comes after the first list is told by the events.
        _ if !first => {}
        Format::Table => write!(out, "{}", table(false))?,
        Format::Json | Format::Ndjson => {
            for state in sessions {
                let session = serde_json::json!({ "session": SessionJson::from(state) });
                writeln!(out, "{session}")?;
            }
        }
    }
    Ok(())
}

/// One line for one change of state; other events print nothing.
pub(crate) fn change(
    out: &mut impl Write,
    event: &Event,
    folders: &HashMap<SessionKey, String>,
) -> Result<()> {
    let Body::StatusChanged(data) = &event.body else { return Ok(()) };
    let waiting_for =
        data.waiting_for.map_or_else(String::new, |waiting_for| format!(" ({waiting_for})"));
    let background = if data.background > 0 {
        format!(", {} in background", data.background)
    } else {
        String::new()
    };
    let folder =
        folders.get(&event.session).map_or_else(String::new, |cwd| format!("  {}", printable(cwd)));
    writeln!(
        out,
        "{}  {:<11}  {}  {}{waiting_for}{background}{folder}",
        event.at.strftime("%H:%M:%S"),
        printable(event.session.agent.as_str()),
        short(event.session.id.as_str()),
        data.to,
    )?;
    Ok(())
}
