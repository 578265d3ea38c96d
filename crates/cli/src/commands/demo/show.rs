//! What the demo shows: the table or the lines while it runs, then the sum of it.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use jiff::Timestamp;
use linelamp_core::event::Event;
use linelamp_core::id::SessionKey;

use super::receiver::Received;
use crate::client::Client;
use crate::commands::watch::change;
use crate::daemon::protocol::{Request, Response};
use crate::output::table;
use crate::paths::Paths;

/// The running display.
#[derive(Debug)]
pub(super) struct Show {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Result<()>>,
}

impl Show {
    /// Begins to follow the daemon. On a terminal the table is drawn anew at each change.
    pub(super) fn start(paths: &Paths, live: bool) -> Result<Self> {
        let mut client = Client::connect(&paths.state)?;
        let first = client.ask(&Request::Watch)?;
        client.patient(Some(Duration::from_millis(100)))?;
        let over = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&over);
        let thread = std::thread::spawn(move || follow(client, first, live, &stop));
        Ok(Self { over, thread })
    }

    /// Stops following.
    pub(super) fn end(self) -> Result<()> {
        self.over.store(true, Ordering::Relaxed);
        match self.thread.join() {
            Ok(result) => result,
            Err(_) => bail!("the display has panicked"),
        }
    }
}

fn follow(mut client: Client, first: Response, live: bool, over: &AtomicBool) -> Result<()> {
    let mut out = std::io::stdout();
    let mut folders: HashMap<SessionKey, String> = HashMap::new();
    let mut drawn = 0;
    let mut answer = Some(first);
    while !over.load(Ordering::Relaxed) {
        match answer.take() {
            Some(Response::Sessions { sessions, .. }) => {
                for state in &sessions {
                    if let Some(cwd) = &state.cwd {
                        folders.insert(state.session.clone(), cwd.clone());
                    }
                }
                if live {
                    let color = crate::env::no_color().is_none();
                    let text = table::sessions(&sessions, Timestamp::now(), color);
                    if drawn > 0 {
                        write!(out, "\x1b[{drawn}A\x1b[J")?;
                    }
                    write!(out, "{text}")?;
                    out.flush()?;
                    drawn = text.lines().count();
                }
            }
            Some(Response::Event { event }) if !live => {
                let event = Event::from_json(&event.to_string())
                    .context("the daemon's event is unreadable")?;
                change(&mut out, &event, &folders)?;
                out.flush()?;
            }
            _ => {}
        }
        answer = client.poll()?;
    }
    Ok(())
}

/// What each sink got.
pub(super) fn summary(out: &mut impl Write, paths: &Paths, received: &Received) -> Result<()> {
    use linelamp_sinks::store::{EventQuery, Reader};
    let mut stored = 0_usize;
    Reader::open(&paths.database())?.events(&EventQuery::default(), |_| {
        stored += 1;
        std::ops::ControlFlow::Continue(())
    })?;
    let file = std::fs::read_to_string(paths.state.join("events.jsonl")).unwrap_or_default();
    writeln!(out)?;
    writeln!(out, "what each sink got:")?;
    writeln!(out, "  store    {stored} events in a SQLite file (`linelamp history` reads it)")?;
    writeln!(out, "  file     {} lines of JSON", file.lines().count())?;
    writeln!(
        out,
        "  webhook  {} POSTs, {} of them signed: states, requests and ends of turns only, as its filter says",
        received.count, received.signed
    )?;
    let desktop = if crate::env::has_session_bus() {
        "notifications for what wants a human"
    } else {
        "off: there is no session bus here"
    };
    writeln!(out, "  desktop  {desktop}")?;
    writeln!(
        out,
        "prompts, replies, tool input and output went nowhere: content is sent on request only"
    )?;
    Ok(())
}

/// How to do it for real.
pub(super) fn next_steps(out: &mut impl Write) -> Result<()> {
    writeln!(out)?;
    writeln!(out, "everything the demo started is gone. To do it for real:")?;
    writeln!(out, "  linelamp up              start the daemon")?;
    writeln!(out, "  linelamp hooks install   let Claude Code report to it")?;
    writeln!(out, "  linelamp ls              who needs you?")?;
    writeln!(out, "  linelamp watch           the same, as it changes")?;
    Ok(())
}
