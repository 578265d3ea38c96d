//! `ls`: every session, those that want somebody first.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use jiff::Timestamp;
use linelamp_core::event::Status;
use linelamp_core::state::SessionState;

use crate::args::{Format, ListArgs};
use crate::client::Client;
use crate::daemon::protocol::{Request, Response};
use crate::output::session::{SessionJson, urgency};
use crate::output::table;
use crate::paths::Paths;

/// How long an ended session stays in the list without `--all`.
const RECENT: Duration = Duration::from_secs(15 * 60);

/// Lists sessions.
pub(crate) fn run(args: &ListArgs) -> Result<ExitCode> {
    let (mut sessions, warning) = sessions()?;
    let now = Timestamp::now();
    if !args.all {
        sessions.retain(|state| is_current(state, now));
    }
    sessions.sort_by_key(|state| (urgency(state), state.since, state.session.clone()));
    if let Some(warning) = warning {
        writeln!(std::io::stderr(), "warning: {warning}")?;
    }
    let mut out = std::io::stdout().lock();
    match args.format {
        Format::Table if sessions.is_empty() => writeln!(out, "no sessions")?,
        Format::Table => {
            write!(out, "{}", table::sessions(&sessions, now, color(&out)))?;
        }
        Format::Json => {
            let list: Vec<SessionJson<'_>> = sessions.iter().map(SessionJson::from).collect();
            serde_json::to_writer(&mut out, &list)?;
            writeln!(out)?;
        }
        Format::Ndjson => {
            for state in &sessions {
                serde_json::to_writer(&mut out, &SessionJson::from(state))?;
                writeln!(out)?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Asks the daemon for all sessions, and for what it has to say about itself.
pub(crate) fn sessions() -> Result<(Vec<SessionState>, Option<String>)> {
    let paths = Paths::find()?;
    match Client::connect(&paths.state)?.ask(&Request::Sessions)? {
        Response::Sessions { sessions, warning } => Ok((sessions, warning)),
        other => anyhow::bail!("the daemon gave another answer than asked for: {other:?}"),
    }
}

/// Whether colours are wanted on this output.
pub(crate) fn color(out: &impl std::io::IsTerminal) -> bool {
    out.is_terminal() && crate::env::no_color().is_none()
}

fn is_current(state: &SessionState, now: Timestamp) -> bool {
    if state.is_ghost() {
        return false;
    }
    state.status != Status::Ended || now.duration_since(state.since).unsigned_abs() < RECENT
}
