//! `hooks status`: what is installed, whether it can work, and whether it does.
//!
//! «Installed» alone would be a promise: a session that was started before hears nothing of new hooks, and a
//! program that is gone says nothing. So all that is said as well, and what cannot be known is called unknown.

use std::io::{StdoutLock, Write as _};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use jiff::Timestamp;
use linelamp_core::state::SessionState;
use linelamp_drivers::claude_code::settings::{Level, Status, hook_command, program_of};

use super::agent;
use super::files::{Target, explain, targets};
use super::heard::{Heard, LastHook, started_before};
use super::installed::{Since, since};
use super::program::{self, Found};
use crate::args::hooks::StatusArgs;
use crate::exit::FAILED;
use crate::output::table::{printable, short};
use crate::output::time::age;

/// Shows.
pub(super) fn run(args: &StatusArgs) -> Result<ExitCode> {
    let events = agent::events(args.agent_version.as_deref())?;
    let command = hook_command(&program::stable()?, &args.files.agent).map_err(explain)?;
    let mut seen = Vec::new();
    let mut refused = None;
    for target in targets(&args.files, &Level::ALL)? {
        let is_asked_for =
            !args.files.level.is_empty() || target.level.is_none_or(|l| l == Level::User);
        if is_asked_for || target.file.path().exists() {
            match look(target, &command, &events) {
                Ok(found) => seen.push(found),
                // The others are told all the same.
                Err(error) => drop(refused.get_or_insert(error)),
            }
        }
    }
    let switch = seen.iter().find(|seen| seen.status.disabled).map(|seen| seen.path().to_owned());
    let now = Timestamp::now();
    let heard = Heard::ask(&args.files.agent);
    let mut out = std::io::stdout().lock();
    for seen in &seen {
        print(&mut out, seen, switch.as_deref())?;
        if seen.status.is_installed() {
            print_earlier(&mut out, seen, &heard, now)?;
        }
    }
    let installed: Vec<&Seen> = seen.iter().filter(|seen| seen.status.is_installed()).collect();
    let is_heard = installed.is_empty() || print_heard(&mut out, &installed, &heard, now)?;
    if let Some(error) = refused {
        return Err(error);
    }
    let works = !installed.is_empty()
        && switch.is_none()
        && is_heard
        && installed.iter().all(|seen| seen.works());
    Ok(if works { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

/// A settings file as it was found.
struct Seen {
    target: Target,
    status: Status,
    since: Since,
    /// Commands of ours that do not lead to this program, and what they lead to.
    stale: Vec<(String, Found)>,
}

impl Seen {
    fn path(&self) -> &Path {
        self.target.file.path()
    }

    fn works(&self) -> bool {
        self.status.is_complete() && self.status.unread.is_none() && self.stale.is_empty()
    }

    /// True if the sessions of this folder read the file.
    fn is_read_by(&self, session: &SessionState) -> bool {
        match &self.target.project {
            None => true,
            Some(project) => {
                session.cwd.as_ref().is_some_and(|cwd| Path::new(cwd).starts_with(project))
            }
        }
    }
}

fn look(target: Target, command: &str, events: &[&str]) -> Result<Seen> {
    let mut status = target.file.status(command, events).map_err(explain)?;
    let mut commands: Vec<String> = Vec::new();
    for (_, command) in &status.outdated {
        if !commands.contains(command) {
            commands.push(command.clone());
        }
    }
    let mut stale = Vec::new();
    for command in commands {
        match program_of(&command).map(|program| program::find(&program)).transpose()? {
            // Another path to this program is as good.
            Some(Found::Own) => {
                let other = target.file.status(&command, events).map_err(explain)?;
                if other.current.len() > status.current.len() {
                    status = other;
                }
            }
            Some(found) => stale.push((command, found)),
            None => {}
        }
    }
    let since = since(target.file.path());
    Ok(Seen { target, status, since, stale })
}

fn print(out: &mut StdoutLock<'_>, seen: &Seen, switch: Option<&Path>) -> Result<()> {
    let status = &seen.status;
    let level = seen.target.level.map(|level| format!(" ({})", level.as_str()));
    writeln!(out, "{}{}", seen.path().display(), level.unwrap_or_default())?;
    let word = if !status.is_installed() {
        "not installed"
    } else if status.unread.is_some() {
        "installed, but the agent ignores this file"
    } else if switch.is_some() {
        "installed, but switched off"
    } else if !seen.stale.is_empty() {
        "stale path; `linelamp hooks install` mends it"
    } else if !status.outdated.is_empty() {
        "outdated; `linelamp hooks install` mends it"
    } else if !status.missing.is_empty() {
        "incomplete; `linelamp hooks install` mends it"
    } else {
        "installed"
    };
    writeln!(out, "  {word}")?;
    if let Some(path) = switch.filter(|_| status.is_installed() || status.disabled) {
        writeln!(out, "  switched off by `disableAllHooks` in {}", path.display())?;
    }
    if let Some((line, column)) = status.unread {
        writeln!(
            out,
            "  line {line}, column {column}: a comment, or a comma before a bracket, which the agent does not read"
        )?;
    }
    for (command, found) in &seen.stale {
        let what = match found {
            Found::Nothing => "no such program",
            Found::Own | Found::Other => "another program than this one",
        };
        writeln!(out, "  {what}: {}", printable(command))?;
    }
    if !status.current.is_empty() {
        writeln!(out, "  events: {}", list(&status.current))?;
    }
    if status.is_installed() && !status.missing.is_empty() {
        writeln!(out, "  missing: {}", list(&status.missing))?;
    }
    for (command, events) in by_command(&status.outdated) {
        writeln!(out, "  outdated: {}: {}", printable(command), list(&events))?;
    }
    if status.others > 0 {
        writeln!(out, "  hooks of others: {}", status.others)?;
    }
    Ok(())
}

/// Sessions that cannot report, as they were started before the hooks were there.
fn print_earlier(
    out: &mut StdoutLock<'_>,
    seen: &Seen,
    heard: &Heard,
    now: Timestamp,
) -> Result<()> {
    match seen.since {
        Since::Then(at) => writeln!(out, "  since {} ({} ago)", time(at), age(at, now))?,
        Since::Before(at) => {
            writeln!(out, "  since {} or earlier, when the file was last changed", time(at))?;
        }
        Since::Unknown => writeln!(out, "  since when is unknown")?,
    }
    let (Some(sessions), Since::Then(at) | Since::Before(at)) = (&heard.sessions, seen.since)
    else {
        return Ok(());
    };
    let word = match seen.since {
        Since::Then(_) => "started before install, will not report until started again",
        Since::Before(_) | Since::Unknown => {
            "started before the file was last changed, may not report"
        }
    };
    let mine: Vec<&SessionState> =
        sessions.iter().filter(|session| seen.is_read_by(session)).collect();
    let mut unknown = 0;
    for session in mine {
        match started_before(session, at) {
            Some(true) => writeln!(out, "  {}: {word}", short(session.session.id.as_str()))?,
            Some(false) => {}
            None => unknown += 1,
        }
    }
    if unknown > 0 {
        writeln!(out, "  sessions of which it is unknown when they were started: {unknown}")?;
    }
    Ok(())
}

/// When a hook was last heard. False if one should have been heard and was not.
fn print_heard(
    out: &mut StdoutLock<'_>,
    installed: &[&Seen],
    heard: &Heard,
    now: Timestamp,
) -> Result<bool> {
    if heard.waiting > 0 {
        writeln!(out, "reports that wait for the daemon: {}", heard.waiting)?;
    }
    let last = match heard.last_hook {
        LastHook::Unknown => {
            writeln!(out, "last hook event: unknown, as there is no store that tells")?;
            return Ok(true);
        }
        LastHook::Never => {
            writeln!(out, "last hook event: none in the store")?;
            None
        }
        LastHook::At(at) => {
            writeln!(out, "last hook event: {} ({} ago)", time(at), age(at, now))?;
            Some(at)
        }
    };
    if heard.confirmed > 0 {
        let count = heard.confirmed;
        writeln!(out, "  and {count} since the daemon started that told nothing new")?;
    }
    // What waits, or told nothing new, was heard all the same; of when it was nothing is known.
    if heard.confirmed > 0 || (heard.waiting > 0 && !heard.is_running) {
        return Ok(true);
    }
    let sessions = heard.sessions.as_deref().unwrap_or_default();
    let mut is_quiet = false;
    for seen in installed {
        let Since::Then(at) = seen.since else { continue };
        if last.is_some_and(|last| last >= at) {
            continue;
        }
        is_quiet = true;
        let later = sessions.iter().filter(|session| seen.is_read_by(session));
        let later = later.filter(|s| started_before(s, at) == Some(false)).count();
        if later > 0 {
            writeln!(
                out,
                "not firing: no hook event since install, though sessions that run were started after it: {later}"
            )?;
            return Ok(false);
        }
    }
    if is_quiet {
        writeln!(
            out,
            "no hook event since install; one comes when a session is started or goes on"
        )?;
    }
    Ok(true)
}

fn list(names: &[String]) -> String {
    printable(&names.join(", "))
}

fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

/// Each command once, with its events, each event once.
fn by_command(outdated: &[(String, String)]) -> Vec<(&str, Vec<String>)> {
    let mut grouped: Vec<(&str, Vec<String>)> = Vec::new();
    for (event, command) in outdated {
        let index = grouped.iter().position(|(known, _)| known == command).unwrap_or_else(|| {
            grouped.push((command, Vec::new()));
            grouped.len() - 1
        });
        let events = &mut grouped[index].1;
        if !events.contains(event) {
            events.push(event.clone());
        }
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_listed_once_for_each_command() {
        let pair = |event: &str, command: &str| (event.to_owned(), command.to_owned());
        let outdated =
            [pair("Stop", "a"), pair("Stop", "b"), pair("Stop", "a"), pair("Setup", "a")];
        let grouped = by_command(&outdated);
        assert_eq!(
            grouped,
            [("a", vec!["Stop".to_owned(), "Setup".to_owned()]), ("b", vec!["Stop".to_owned()])]
        );
    }
}
