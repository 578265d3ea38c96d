//! What has been heard of sessions and of hooks, with or without a daemon.
//!
//! Asks the running daemon; without one it reads the store beside it, and the spool. What none of them knows
//! is left unknown.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use linelamp_core::event::Status;
use linelamp_core::process::ProcessRef;
use linelamp_core::state::SessionState;
use linelamp_feeds::process;
use linelamp_feeds::spool::{FOLDER, is_spool_name};
use linelamp_sinks::store::{EventQuery, Reader, SessionQuery};

use crate::client::Client;
use crate::daemon::protocol::{Request, Response};
use crate::paths::Paths;

/// The feed of hook calls.
const FEED: &str = "hooks";

/// How many of the newest events are looked through for one of a hook.
const NEWEST: usize = 5_000;

/// What is known.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// There is a daemon that answers.
    pub(super) is_running: bool,
    /// The sessions of the agent that have not ended; none if neither daemon nor store can be asked.
    pub(super) sessions: Option<Vec<SessionState>>,
    /// The newest event that a hook brought.
    pub(super) last_hook: LastHook,
    /// How many calls told the running daemon only what another feed had told it before. They are heard, though
    /// they make no event.
    pub(super) confirmed: u64,
    /// Calls that wait for a daemon to take them in.
    pub(super) waiting: usize,
}

/// The newest event that a hook brought, among the newest events of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum LastHook {
    /// There is no store to ask, or the daemon does not get to write what it has.
    #[default]
    Unknown,
    /// The store has none.
    Never,
    /// It was taken in then.
    At(Timestamp),
}

impl Heard {
    /// Asks everywhere.
    pub(super) fn ask(agent: &str) -> Self {
        let Ok(paths) = Paths::find() else { return Self::default() };
        let database = paths.database();
        let reader = database.exists().then(|| Reader::open(&database).ok()).flatten();
        let told = from_daemon(&paths.state);
        let is_running = told.is_some();
        let mut sessions =
            told.or_else(|| reader.as_ref()?.sessions(&SessionQuery::default()).ok());
        if let Some(sessions) = &mut sessions {
            sessions.retain(|state| {
                state.status != Status::Ended && state.session.agent.as_str() == agent
            });
        }
        // The sessions may be known by events that are not in the store yet.
        let is_settled = !is_running || settle(&paths.state);
        let reader = reader.as_ref().filter(|_| is_settled);
        let last_hook = reader.map_or(LastHook::Unknown, |reader| last_hook(reader, agent));
        let confirmed = confirmed(&paths.state).unwrap_or(0);
        Self { is_running, sessions, last_hook, confirmed, waiting: waiting(&paths.state) }
    }
}

fn from_daemon(state: &Path) -> Option<Vec<SessionState>> {
    match Client::connect(state).ok()?.ask(&Request::Sessions).ok()? {
        Response::Sessions { sessions, .. } => Some(sessions),
        _ => None,
    }
}

/// True once everything the daemon has taken in is in the store.
fn settle(state: &Path) -> bool {
    let answer = Client::connect(state).and_then(|mut client| client.ask(&Request::Settle));
    matches!(answer, Ok(Response::Ok))
}

fn confirmed(state: &Path) -> Option<u64> {
    match Client::connect(state).ok()?.ask(&Request::Health).ok()? {
        Response::Health { counters } => counters["feeds"][FEED]["confirmed"].as_u64(),
        _ => None,
    }
}

fn last_hook(reader: &Reader, agent: &str) -> LastHook {
    let query = EventQuery { newest: Some(NEWEST), ..EventQuery::default() };
    let mut last = None;
    let read = reader.events(&query, |stored| {
        // Only those that a look at the text does not rule out are read in full.
        if stored.json.contains(FEED)
            && let Ok(event) = stored.event()
            && event.origin.feed.as_str() == FEED
            && event.session.agent.as_str() == agent
        {
            last = last.max(Some(event.observed_at));
        }
        ControlFlow::Continue(())
    });
    match (read, last) {
        (Err(_), _) => LastHook::Unknown,
        (Ok(()), None) => LastHook::Never,
        (Ok(()), Some(at)) => LastHook::At(at),
    }
}

fn waiting(state: &Path) -> usize {
    let entries = std::fs::read_dir(state.join(FOLDER)).into_iter().flatten();
    entries.filter_map(Result::ok).filter(|entry| is_spool_name(&entry.file_name())).count()
}

/// Whether a session's process was started before `at`; none if that is not known, or too close to tell.
pub(super) fn started_before(session: &SessionState, at: Timestamp) -> Option<bool> {
    let process = session.process?;
    let start = process.start?;
    // Another process may have its number by now, and another machine has its own numbers.
    if process::reference(process.pid) != (ProcessRef { pid: process.pid, start: Some(start) }) {
        return None;
    }
    let now = Timestamp::now();
    if tick(start + 1, now)? < at {
        Some(true)
    } else if tick(start, now)? >= at {
        Some(false)
    } else {
        None
    }
}

/// When the system's clock ticked for the `count`th time since boot.
fn tick(count: u64, now: Timestamp) -> Option<Timestamp> {
    let since_boot = Duration::from_nanos(process::boottime_ns()?);
    let a_second = rustix::param::clock_ticks_per_second();
    let ticked = Duration::from_millis(count.checked_mul(1_000)?.checked_div(a_second)?);
    // The process may be as young as this tick.
    now.checked_sub(since_boot.saturating_sub(ticked)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_was_started_a_moment_ago() {
        let now = Timestamp::now();
        let start = process::reference(std::process::id()).start.expect("there is /proc");
        let started = tick(start, now).expect("a time");
        let age = now.duration_since(started);
        assert!(age.as_secs() >= -1 && age.as_secs() < 3_600, "{age:?}");
    }
}
