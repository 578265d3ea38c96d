//! The wrapper's connection to the daemon. Every call on it returns at once.
//!
//! It is made again with growing pauses for as long as the agent runs. Sending pauses when the daemon
//! has let batches wait so long that they went to the spool, and goes on with its next word.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use linelamp_core::driver::Reading;

use super::batch::{KEEPALIVE, KEEPALIVE_LINE, Reply};
use super::ledger::Ledger;
use crate::socket::{Connection, Progress, connect};
use crate::spool::FORMAT;

/// First pause after a failed attempt; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// See [`FIRST_PAUSE`].
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// A daemon's line longer than this is none.
const LONGEST_REPLY: usize = 64 << 10;

/// See the module's words.
#[derive(Debug)]
pub(super) struct Link {
    folder: PathBuf,
    hello: Vec<u8>,
    connection: Option<Connection>,
    retry_at: Instant,
    pause: Duration,
    /// The daemon has said its first line on this connection.
    greeted: bool,
    /// Nothing new is sent until the daemon says a word.
    paused: bool,
    /// Our own lines that are no batches.
    front: Vec<u8>,
    input: Vec<u8>,
    spoke_at: Instant,
    want: Reading,
}

impl Link {
    /// A link that says `hello` first; not connected yet.
    pub(super) fn new(folder: PathBuf, hello: Vec<u8>, now: Instant) -> Self {
        Self {
            folder,
            hello,
            connection: None,
            retry_at: now,
            pause: FIRST_PAUSE,
            greeted: false,
            paused: false,
            front: Vec::new(),
            input: Vec::new(),
            spoke_at: now,
            want: Reading::State,
        }
    }

    /// How much the daemon wants; state, as long as it has not said anything else.
    pub(super) fn want(&self) -> Reading {
        self.want
    }

    /// The daemon has answered on this connection.
    pub(super) fn is_greeted(&self) -> bool {
        self.greeted
    }

    /// There is a connection, answered or not.
    pub(super) fn is_connected(&self) -> bool {
        self.connection.is_some()
    }

    /// The daemon is there but lets us wait.
    pub(super) fn is_paused(&self) -> bool {
        self.paused
    }

    /// What waited went to the spool.
    pub(super) fn pause(&mut self) {
        self.paused = self.connection.is_some();
    }

    /// For sleeping: the connection, and whether room in it matters.
    pub(super) fn interest(&self, ledger: &Ledger) -> (Option<&Connection>, bool) {
        (self.connection.as_ref(), !self.outgoing(ledger).is_empty())
    }

    /// When there is something to do even if nothing happens.
    pub(super) fn due_at(&self) -> Instant {
        if self.connection.is_some() { self.spoke_at + KEEPALIVE } else { self.retry_at }
    }

    /// Does everything that can be done without waiting.
    pub(super) fn serve(&mut self, ledger: &mut Ledger, now: Instant) {
        self.reconnect(now);
        self.receive(ledger, now);
        if self.connection.is_some() && now >= self.spoke_at + KEEPALIVE && self.front.is_empty() {
            self.front.extend_from_slice(KEEPALIVE_LINE);
            self.spoke_at = now;
        }
        self.send(ledger, now);
    }

    fn reconnect(&mut self, now: Instant) {
        if self.connection.is_some() || now < self.retry_at {
            return;
        }
        match connect(&self.folder, "events.sock") {
            Ok(connection) => {
                self.connection = Some(connection);
                self.front.clone_from(&self.hello);
                self.spoke_at = now;
            }
            Err(_) => self.fail(now),
        }
    }

    fn fail(&mut self, now: Instant) {
        self.retry_at = now + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    fn disconnect(&mut self, ledger: &mut Ledger, now: Instant) {
        self.connection = None;
        self.greeted = false;
        self.paused = false;
        self.front.clear();
        self.input.clear();
        ledger.disconnected();
        self.fail(now);
    }

    fn receive(&mut self, ledger: &mut Ledger, now: Instant) {
        let mut buffer = [0; 4096];
        loop {
            let Some(connection) = &self.connection else { return };
            match connection.receive(&mut buffer) {
                Progress::Bytes(length) => {
                    self.input.extend_from_slice(buffer.get(..length).unwrap_or_default());
                    if !self.read_lines(ledger) || self.input.len() > LONGEST_REPLY {
                        return self.disconnect(ledger, now);
                    }
                }
                Progress::Later => return,
                Progress::Gone => return self.disconnect(ledger, now),
            }
        }
    }

    /// False if the other side does not speak as we do.
    fn read_lines(&mut self, ledger: &mut Ledger) -> bool {
        while let Some(end) = memchr::memchr(b'\n', &self.input) {
            let line: Vec<u8> = self.input.drain(..=end).collect();
            let Ok(reply) = serde_json::from_slice::<Reply>(&line) else { return false };
            if !self.greeted {
                if reply.linelamp != Some(FORMAT) {
                    return false;
                }
                self.greeted = true;
                self.pause = FIRST_PAUSE;
                self.want = reply.want.unwrap_or_default();
            }
            if let Some(number) = reply.committed {
                ledger.acknowledged(number);
            }
            self.paused = false;
        }
        true
    }

    /// What may go out now: never anything in the middle of a batch.
    fn outgoing<'a>(&'a self, ledger: &'a Ledger) -> &'a [u8] {
        if !self.front.is_empty() && ledger.at_boundary() {
            &self.front
        } else if self.paused {
            ledger.owed()
        } else {
            ledger.to_send()
        }
    }

    fn send(&mut self, ledger: &mut Ledger, now: Instant) {
        loop {
            let Some(connection) = &self.connection else { return };
            let bytes = self.outgoing(ledger);
            if bytes.is_empty() {
                return;
            }
            match connection.send(bytes) {
                Progress::Bytes(length) => {
                    self.spoke_at = now;
                    if !self.front.is_empty() && ledger.at_boundary() {
                        self.front.drain(..length);
                    } else {
                        ledger.sent(length);
                    }
                }
                Progress::Later => return,
                Progress::Gone => return self.disconnect(ledger, now),
            }
        }
    }
}
