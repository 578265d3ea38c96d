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

/// How long a session that ended, or of which no process is known and nothing is heard, stays in the list without
/// `--all`.
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
    let is_recent = |at: Timestamp| now.duration_since(at).unsigned_abs() < RECENT;
    match state.status {
        _ if state.is_ghost() => false,
        Status::Ended => is_recent(state.since),
        // A session file that lies there does not say that anybody still works on it.
        Status::Idle | Status::Stale if state.process.is_none() => is_recent(state.last_seen),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use linelamp_core::SessionKey;
    use linelamp_core::draft::Draft;
    use linelamp_core::event::{Origin, Trust, TurnEnded, TurnOrigin, TurnOutcome, TurnStarted};
    use linelamp_core::process::ProcessRef;
    use linelamp_core::state::Resolver;

    use super::*;

    #[test]
    fn a_session_that_nobody_knows_to_live_leaves_the_list_after_a_while() {
        let minutes =
            |minutes: i64| Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_mins(minutes);
        let origin = |trust| Origin { feed: "f".into(), trust, pid: None, host: "h".into() };
        for (process, is_over, after, expected) in [
            (None, true, 10, true),
            (None, true, 20, false),
            (Some(ProcessRef { pid: 7, start: Some(1) }), true, 20, true),
            (None, false, 5, true),
        ] {
            let mut resolver = Resolver::default();
            let key = SessionKey::new("claude-code", "s");
            let began =
                TurnStarted { turn: "t".into(), origin: TurnOrigin::Human, synthetic: false };
            let mut drafts = vec![Draft::new(key.clone(), minutes(0), began)];
            if is_over {
                let ended = TurnEnded::new("t".into(), TurnOutcome::Completed);
                drafts.push(Draft::new(key, minutes(0), ended));
            }
            for draft in drafts {
                let draft = Draft { process, ..draft };
                resolver.accept(draft, &origin(Trust::Inferred), minutes(0), &mut Vec::new());
            }
            resolver.tick(minutes(after), &mut Vec::new());
            let state = resolver.snapshot().remove(0);
            assert_eq!(
                is_current(&state, minutes(after)),
                expected,
                "{process:?} {after} {state:?}"
            );
        }
    }
}
