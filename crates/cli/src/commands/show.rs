//! `show`: everything known of one session.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use jiff::Timestamp;
use linelamp_core::state::SessionState;

use crate::args::{Format, ShowArgs};
use crate::exit::{Failure, NO_SESSION};
use crate::output::session::SessionJson;
use crate::output::table::printable;
use crate::output::time::age;

/// Shows one session.
pub(crate) fn run(args: &ShowArgs) -> Result<ExitCode> {
    let (sessions, _) = super::list::sessions()?;
    let state = find(&sessions, &args.id)?;
    let mut out = std::io::stdout().lock();
    match args.format {
        Format::Table => write!(out, "{}", page(state, Timestamp::now()))?,
        Format::Json | Format::Ndjson => {
            serde_json::to_writer(&mut out, &SessionJson::from(state))?;
            writeln!(out)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The one session whose id is, or begins with, `id`; `AGENT:ID` works as well.
pub(crate) fn find<'a>(sessions: &'a [SessionState], id: &str) -> Result<&'a SessionState> {
    let exact =
        |state: &&SessionState| state.session.id.as_str() == id || state.session.to_string() == id;
    if let Some(state) = sessions.iter().find(exact) {
        return Ok(state);
    }
    let matches: Vec<&SessionState> = sessions
        .iter()
        .filter(|state| {
            state.session.id.as_str().starts_with(id) || state.session.to_string().starts_with(id)
        })
        .collect();
    match matches[..] {
        [one] => Ok(one),
        [] => Err(Failure::new(NO_SESSION, format!("no session begins with `{id}`"))
            .hint("`linelamp ls --all` lists all of them")
            .into()),
        _ => {
            let ids: Vec<&str> = matches.iter().map(|state| state.session.id.as_str()).collect();
            Err(Failure::new(NO_SESSION, format!("several sessions begin with `{id}`"))
                .hint(format!("give more of the id: {}", ids.join(", ")))
                .into())
        }
    }
}

fn page(state: &SessionState, now: Timestamp) -> String {
    let mut rows: Vec<(&str, String)> = vec![
        ("session", state.session.id.to_string()),
        ("agent", state.session.agent.to_string()),
        ("state", format!("{} for {}", state.status, age(state.since, now))),
    ];
    let mut row = |name, value: Option<String>| {
        if let Some(value) = value {
            rows.push((name, value));
        }
    };
    row("waits for", state.waiting_for.map(|waiting_for| waiting_for.to_string()));
    row("background", (state.background > 0).then(|| state.background.to_string()));
    row("last turn", state.outcome.map(|outcome| outcome.to_string()));
    row("error", state.error.map(|error| error.to_string()));
    row("folder", state.cwd.clone());
    row("branch", state.branch.clone());
    row("model", state.model.clone());
    row("mode", state.permission_mode.clone());
    row("version", state.version.clone());
    row("pid", state.process.map(|process| process.pid.to_string()));
    row("host", Some(state.host.to_string()).filter(|host| !host.is_empty()));
    row("cost", state.cost_usd.map(|cost| format!("${cost:.4}")));
    row("parent", state.parent.as_ref().map(|link| format!("{} ({})", link.id, link.how)));
    for request in &state.open {
        let tool = request.tool.as_ref().map_or_else(String::new, |tool| format!(" {tool}"));
        let scope = if request.scope.is_main() {
            String::new()
        } else {
            format!(", subagent {}", request.scope)
        };
        let since = age(request.since, now);
        row("open", Some(format!("{}{tool}{scope}, {since}", request.waiting_for)));
    }
    let children: Vec<&str> =
        state.children.iter().map(linelamp_core::id::ScopeId::as_str).collect();
    row("subagents", (!children.is_empty()).then(|| children.join(", ")));
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines: Vec<String> = rows
        .iter()
        .map(|(name, value)| format!("{name:<width$}  {}\n", printable(value)))
        .collect();
    lines.concat()
}
