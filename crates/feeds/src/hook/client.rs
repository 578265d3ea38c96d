//! The hook client: standard input to a spool file, as fast as a process can.
//!
//! The agent waits for this process, so it does the same few system calls whether the daemon is up, down
//! or hung, prints nothing and has no way to fail: an input that cannot be kept is lost in silence.

use std::io::{self, Read as _};
use std::path::Path;

use linelamp_core::Timestamp;

use crate::spool::{self, Dropped, Header, Reason, Role};
use crate::{process, socket};

/// A larger payload is not kept.
const LARGEST_PAYLOAD: u64 = 64 * 1024 * 1024;

/// How far up the chain of parents the agent is looked for.
const ANCESTORS: usize = 8;

/// The only environment values that are ever read; none of them is a secret.
const ENVIRONMENT: [&str; 5] =
    ["CLAUDE_PID", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CONFIG_DIR", "TMUX_PANE", "TERM_PROGRAM"];

/// Reads one payload from standard input to its end, leaves it in the spool of `state`, and pokes the
/// daemon. Returns when that is done or has failed; the caller exits 0 either way.
pub fn run(state: &Path, agent: &str) {
    let mut header = Header::new(Role::Hook, agent.into(), Timestamp::now());
    header.boottime_ns = process::boottime_ns();
    let mut payload = Vec::with_capacity(16 * 1024);
    if read_payload(&mut payload).is_err() {
        return;
    }
    if payload.len() as u64 > LARGEST_PAYLOAD {
        let dropped = Dropped { reason: Reason::TooLarge, files: 1, bytes: payload.len() as u64 };
        spool::count_dropped(state, dropped);
        return;
    }
    if payload.is_empty() {
        // No agent says nothing: there is nothing to keep.
        return;
    }
    header.boot_id = process::boot_id();
    header.bytes = Some(payload.len() as u64);
    header.ancestors = process::ancestors(ANCESTORS);
    header.env = ENVIRONMENT
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
        .collect();
    if spool::write(state, &header, &payload).is_ok() {
        socket::poke(&state.join("run"), "poke.sock");
    }
}

/// Reads to the end even where the rest is not kept: a writer must not find its pipe closed.
fn read_payload(payload: &mut Vec<u8>) -> io::Result<()> {
    let mut input = io::stdin().lock();
    input.by_ref().take(LARGEST_PAYLOAD + 1).read_to_end(payload)?;
    if payload.len() as u64 > LARGEST_PAYLOAD {
        io::copy(&mut input, &mut io::sink())?;
    }
    Ok(())
}
