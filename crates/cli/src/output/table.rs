//! The table of sessions for people.
//!
//! Cells come from agents and folders, so control characters are never printed as they are.

use std::fmt::Write as _;

use jiff::Timestamp;
use linelamp_core::event::{Status, TurnOutcome};
use linelamp_core::state::SessionState;

use super::session::urgency;
use super::time::age;

const HEADER: [&str; 6] = ["STATE", "FOR", "AGENT", "SESSION", "FOLDER", "DETAIL"];

/// All sessions, the ones that want somebody first. With `color`, states are coloured.
pub(crate) fn sessions(states: &[SessionState], now: Timestamp, color: bool) -> String {
    let mut order: Vec<&SessionState> = states.iter().collect();
    order.sort_by_key(|state| (urgency(state), state.since, state.session.clone()));
    let rows: Vec<[String; 6]> = order
        .iter()
        .map(|state| {
            [
                state.status.to_string(),
                age(state.since, now),
                printable(state.session.agent.as_str()),
                short(state.session.id.as_str()),
                folder(state.cwd.as_deref()),
                detail(state),
            ]
        })
        .collect();
    let widths: Vec<usize> = (0..HEADER.len())
        .map(|column| {
            rows.iter()
                .map(|row| row[column].chars().count())
                .chain([HEADER[column].len()])
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    line(&mut text, &HEADER.map(str::to_owned), &widths, None);
    for (row, state) in rows.iter().zip(&order) {
        line(&mut text, row, &widths, color.then(|| paint(state.status)));
    }
    text
}

fn line(text: &mut String, cells: &[String; 6], widths: &[usize], paint: Option<&str>) {
    let mut row = String::new();
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let padded = format!("{cell:<width$}");
        match paint {
            Some(code) if column == 0 => {
                write!(row, "\x1b[{code}m{padded}\x1b[0m  ").expect("a String takes everything");
            }
            _ => write!(row, "{padded}  ").expect("a String takes everything"),
        }
    }
    text.push_str(row.trim_end());
    text.push('\n');
}

fn paint(status: Status) -> &'static str {
    match status {
        Status::WaitingForPermission | Status::WaitingForInput => "1;33",
        Status::Working | Status::Starting => "36",
        Status::Idle => "32",
        Status::Stale | Status::Ended | Status::Unknown => "2",
    }
}

fn detail(state: &SessionState) -> String {
    let mut parts: Vec<String> = Vec::new();
    if let Some(request) = state.open.first() {
        let tool = request.tool.as_ref().map(|tool| format!(" {}", printable(tool.as_str())));
        parts.push(format!("{}{}", request.waiting_for, tool.unwrap_or_default()));
        if state.open.len() > 1 {
            parts.push(format!("+{} more", state.open.len() - 1));
        }
    } else if let Some(waiting_for) = state.waiting_for {
        parts.push(waiting_for.to_string());
    }
    parts.extend(state.activity.map(|activity| activity.to_string()));
    if state.background > 0 {
        parts.push(format!("{} in background", state.background));
    }
    if matches!(state.status, Status::Idle | Status::Ended)
        && let Some(outcome) = state.outcome.filter(|outcome| *outcome != TurnOutcome::Completed)
    {
        let error = state.error.map(|error| format!(" ({error})")).unwrap_or_default();
        parts.push(format!("last turn {outcome}{error}"));
    }
    parts.join(", ")
}

/// The first eight characters of an id, enough to name a session.
pub(crate) fn short(id: &str) -> String {
    printable(id).chars().take(8).collect()
}

fn folder(cwd: Option<&str>) -> String {
    let name = cwd.map(|path| path.trim_end_matches('/').rsplit('/').next().unwrap_or(path));
    printable(name.unwrap_or("-"))
}

/// The text with everything replaced that could move the cursor or hide text.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
