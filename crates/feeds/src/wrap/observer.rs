//! The thread that decodes and reports. Whatever happens here, the agent does not know.
//!
//! It takes blocks from the tap, runs the decoder, numbers what comes out, and sends it or leaves it in
//! the spool. A decoder that panics is replaced by a fresh one, which hears of a gap; after a few
//! panics nothing is looked at any more. At the end everything is acknowledged or spooled by the deadline:
//! detail not yet decoded is left out, and if lines that carry state are left even so, the observer goes
//! on in a copy of the process while the process itself ends in time.

use std::hash::{BuildHasher as _, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use linelamp_core::digest::Digester;
use linelamp_core::driver::{Decoded, Decoder, DecoderOptions, Driver, Keep, Raw, Reading, Source};
use linelamp_core::process::ProcessRef;
use linelamp_core::{Draft, EventId, Timestamp};

use super::batch::{Builder, Counts, hello};
use super::ledger::Ledger;
use super::link::Link;
use super::options::Chooser;
#[cfg(unix)]
use super::signal::{leave_copy, live_at_most};
use super::tap::{Block, Finish, Item, Taken, Tap};
use crate::spool::{Header, Role};
use crate::{process, socket, spool};

/// So long the first lines wait for the daemon's word on how much it wants.
const GREETING: Duration = Duration::from_millis(250);
/// So long at the end an acknowledgement is waited for before what is left goes to the spool.
const LAST_WAIT: Duration = Duration::from_millis(100);
/// Kept of the deadline for spooling.
const RESERVE: Duration = Duration::from_millis(60);
/// A copy that goes on after the process has ended lives no longer than this.
#[cfg(unix)]
const COPY_SECONDS: u32 = 60;
/// So many of the first lines may go by until the agent must be known.
const UNKNOWN_LINES: u64 = 64;
/// A decoder that panicked more often is not replaced.
const PANICS: u64 = 3;
/// In the position of a draft, beside the two directions: a gap, and the end.
const GAP: u8 = 0x10;
/// See [`GAP`].
const END: u8 = 0x11;
/// A sleep is never longer: a safety net, not a schedule.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);

/// What the observer is made from.
pub(super) struct Observer {
    /// The state folder.
    pub(super) state: PathBuf,
    /// Names the agent if the caller did not.
    pub(super) chooser: Option<Chooser>,
    /// Makes digests of tool input.
    pub(super) digester: Box<dyn FnOnce() -> Digester + Send>,
    /// The program's arguments.
    pub(super) arguments: Vec<String>,
}

impl Observer {
    /// Runs until the tap is finished. Panics end here.
    pub(super) fn run(self, tap: &Arc<Tap>) {
        let own = std::process::id();
        catch_unwind(AssertUnwindSafe(|| self.observe(tap))).ok();
        #[cfg(unix)]
        if std::process::id() != own {
            leave_copy();
        }
        tap.close();
    }

    fn observe(mut self, tap: &Arc<Tap>) {
        let started_at = Timestamp::now();
        let child = *tap.child.wait();
        let Some((driver, held)) = self.choose(tap) else { return };
        let mut session = Session::open(self, driver, child, started_at, tap);
        for block in held {
            session.take(&block);
            if session.has_left {
                return;
            }
        }
        loop {
            match tap.take() {
                Taken::Block(block) => session.take(&block),
                Taken::Finish(finish) => return session.finish(finish),
                Taken::Nothing => session.sleep(),
            }
            if session.has_left {
                return;
            }
            session.serve(Instant::now());
        }
    }

    /// Finds out whose stream it is; gives the blocks seen meanwhile.
    fn choose(&mut self, tap: &Tap) -> Option<(Arc<dyn Driver>, Vec<Block>)> {
        if let Some(driver) = tap.driver() {
            return Some((Arc::clone(driver), Vec::new()));
        }
        let mut chooser = self.chooser.take()?;
        let mut held = Vec::new();
        let mut lines = 0;
        loop {
            match tap.take() {
                Taken::Block(block) => {
                    let found = lines_of(&block).find_map(|line| {
                        lines += 1;
                        chooser(block.direction, line)
                    });
                    held.push(block);
                    if let Some(driver) = found {
                        tap.set_driver(Some(Arc::clone(&driver)));
                        return Some((driver, held));
                    }
                    if lines > UNKNOWN_LINES {
                        return None;
                    }
                }
                Taken::Finish(_) => return None,
                Taken::Nothing => tap.sleep(LONGEST_SLEEP, None, false),
            }
        }
    }
}

/// The observer once it knows the agent.
struct Session<'a> {
    tap: &'a Arc<Tap>,
    driver: Arc<dyn Driver>,
    options: DecoderOptions,
    decoder: Option<Box<dyn Decoder>>,
    child: ProcessRef,
    instance: String,
    header: Header,
    state: PathBuf,
    ledger: Ledger,
    link: Link,
    builder: Builder,
    counts: Counts,
    drafts: Vec<Draft>,
    /// Lines left out for lack of time since the last one decoded.
    skipped: u64,
    /// Gaps so far.
    gaps: u64,
    /// This is the copy that goes on after the process has ended.
    is_copy: bool,
    /// A copy goes on in our place.
    has_left: bool,
}

impl<'a> Session<'a> {
    fn open(
        made_from: Observer,
        driver: Arc<dyn Driver>,
        child: ProcessRef,
        started_at: Timestamp,
        tap: &'a Arc<Tap>,
    ) -> Self {
        let instance = random_name();
        let mut header = Header::new(Role::Wrap, driver.agent(), started_at);
        header.boot_id = process::boot_id();
        header.boottime_ns = process::boottime_ns();
        header.instance = Some(instance.clone());
        header.child = Some(child);
        let hello = hello(&instance, &header.agent, child);
        let link = Link::new(made_from.state.join("run"), hello, Instant::now());
        let mut session = Self {
            tap,
            options: DecoderOptions {
                process: Some(child),
                arguments: made_from.arguments,
                ..DecoderOptions::new(Reading::State, (made_from.digester)())
            },
            decoder: None,
            driver,
            child,
            instance,
            header,
            state: made_from.state,
            ledger: Ledger::default(),
            link,
            builder: Builder::default(),
            counts: Counts::default(),
            drafts: Vec::new(),
            skipped: 0,
            gaps: 0,
            is_copy: false,
            has_left: false,
        };
        session.await_greeting();
        session.options.reading = session.link.want();
        tap.set_full(session.options.reading == Reading::Full);
        session.renew_decoder();
        session
    }

    /// The first lines wait in the tap meanwhile; nobody else waits.
    fn await_greeting(&mut self) {
        let until = Instant::now() + GREETING;
        loop {
            let now = Instant::now();
            self.link.serve(&mut self.ledger, now);
            let ends = now >= until || self.tap.deadline().is_some();
            if ends || !self.link.is_connected() || self.link.is_greeted() {
                return;
            }
            let (connection, sending) = self.link.interest(&self.ledger);
            self.tap.bell.wait(until - now, connection, sending);
        }
    }

    fn renew_decoder(&mut self) {
        let made = catch_unwind(AssertUnwindSafe(|| {
            self.driver.decoder(Source::Stream, self.options.clone())
        }));
        self.decoder = made.ok().flatten();
    }

    /// Decodes one block and numbers what it says.
    fn take(&mut self, block: &Block) {
        let mut bytes = block.bytes.as_slice();
        for item in &block.items {
            match *item {
                Item::Line { length, number, keep } => {
                    let (line, rest) = bytes.split_at(length.min(bytes.len()));
                    bytes = rest;
                    if self.is_late(keep) {
                        self.tap.shed.fetch_add(1, Ordering::Relaxed);
                        self.skipped += 1;
                        continue;
                    }
                    if self.has_left {
                        return;
                    }
                    self.tell_skipped(block.at);
                    let raw = Raw::Line { direction: block.direction, bytes: line };
                    self.decode(raw, block.at, block.direction as u8, number);
                }
                Item::Gap { lines, too_long } => {
                    self.counts.too_long += u64::from(too_long);
                    self.tell_gap(lines, too_long, block.at);
                }
            }
            if self.builder.is_full() {
                self.close_batch();
                self.serve(Instant::now());
            }
        }
        self.close_batch();
    }

    /// The decoder hears of lines that were left out for lack of time.
    fn tell_skipped(&mut self, at: Timestamp) {
        let lines = std::mem::take(&mut self.skipped);
        if lines > 0 {
            self.tell_gap(lines, false, at);
        }
    }

    fn tell_gap(&mut self, lines: u64, too_long: bool, at: Timestamp) {
        self.gaps += 1;
        self.decode(Raw::Gap { lines, too_long }, at, GAP, self.gaps);
    }

    /// True if there is no time for a line. With the end in sight detail goes first; for lines that carry
    /// state time is made by going on in a copy, where there is no hurry.
    fn is_late(&mut self, keep: Keep) -> bool {
        let Some(deadline) = self.tap.deadline().filter(|_| !self.is_copy) else { return false };
        let left = deadline.saturating_duration_since(Instant::now());
        match keep {
            Keep::May => left < LAST_WAIT + RESERVE,
            Keep::Must => left < RESERVE && !self.split_off(),
        }
    }

    /// Makes the copy. From here on this process has nothing more to say, and the copy says it all.
    #[cfg(unix)]
    fn split_off(&mut self) -> bool {
        if self.has_left {
            return true;
        }
        match self.tap.split_off() {
            Ok(true) => {
                live_at_most(COPY_SECONDS);
                close_standard_streams();
                self.is_copy = true;
                true
            }
            Ok(false) => {
                self.has_left = true;
                true
            }
            Err(_) => false,
        }
    }

    #[cfg(windows)]
    fn split_off(&mut self) -> bool {
        false
    }

    fn decode(&mut self, raw: Raw<'_>, at: Timestamp, place: u8, number: u64) {
        let Some(decoder) = &mut self.decoder else { return };
        let drafts = &mut self.drafts;
        let outcome = catch_unwind(AssertUnwindSafe(|| decoder.push(raw, at, drafts)));
        match outcome {
            Ok(Decoded::Understood) => self.counts.understood += 1,
            Ok(Decoded::Ignored) => self.counts.ignored += 1,
            Ok(Decoded::Native) => self.counts.native += 1,
            Ok(Decoded::Malformed) => self.counts.malformed += 1,
            Err(_) => self.recover(at),
        }
        self.number_drafts(at, place, number);
    }

    fn recover(&mut self, at: Timestamp) {
        self.counts.panics += 1;
        self.drafts.clear();
        self.decoder = None;
        if self.counts.panics > PANICS {
            return;
        }
        self.renew_decoder();
        if let Some(decoder) = &mut self.decoder {
            let gap = Raw::Gap { lines: 1, too_long: false };
            let drafts = &mut self.drafts;
            if catch_unwind(AssertUnwindSafe(|| decoder.push(gap, at, drafts))).is_err() {
                self.drafts.clear();
                self.decoder = None;
            }
        }
    }

    /// Gives each draft its id, from the place of the line, and puts it into the batch.
    fn number_drafts(&mut self, at: Timestamp, place: u8, number: u64) {
        if self.drafts.is_empty() {
            return;
        }
        let mut position = self.instance.clone().into_bytes();
        position.push(place);
        position.extend_from_slice(&number.to_be_bytes());
        for (index, mut draft) in (0..).zip(self.drafts.drain(..)) {
            draft.id.get_or_insert_with(|| EventId::derive(at, &position, index));
            draft.process.get_or_insert(self.child);
            self.builder.add(&draft);
        }
    }

    fn close_batch(&mut self) {
        self.counts.shed = self.tap.shed.load(Ordering::Relaxed);
        self.counts.lost = self.tap.lost.load(Ordering::Relaxed);
        if let Some(line) = self.builder.close(self.ledger.next_number(), self.counts) {
            let lost = self.ledger.add(line, Instant::now());
            self.tap.lost.fetch_add(lost, Ordering::Relaxed);
        }
    }

    /// Sends, hears, and spools what has waited too long.
    fn serve(&mut self, now: Instant) {
        self.link.serve(&mut self.ledger, now);
        if self.ledger.spool_at().is_some_and(|time| time <= now) {
            self.spool(now);
        }
    }

    fn spool(&mut self, now: Instant) -> bool {
        let body = self.ledger.spool_body();
        self.header.bytes = Some(body.len() as u64);
        self.header.at = Timestamp::now();
        self.header.boottime_ns = process::boottime_ns();
        if spool::write(&self.state, &self.header, &body).is_err() {
            self.ledger.spool_failed(now);
            return false;
        }
        self.ledger.spooled();
        self.link.pause();
        socket::poke(&self.state.join("run"), "poke.sock");
        true
    }

    fn sleep(&mut self) {
        let now = Instant::now();
        let due =
            self.ledger.spool_at().map_or(self.link.due_at(), |at| at.min(self.link.due_at()));
        let timeout = due.saturating_duration_since(now).min(LONGEST_SLEEP);
        let (connection, sending) = self.link.interest(&self.ledger);
        self.tap.sleep(timeout, connection, sending);
    }

    /// The child is gone: the last word, then everything acknowledged or spooled.
    fn finish(mut self, finish: Finish) {
        self.say_last_word(finish);
        #[cfg(unix)]
        if self.is_copy {
            leave_copy();
        }
    }

    fn say_last_word(&mut self, finish: Finish) {
        self.tell_skipped(finish.at);
        self.decode(Raw::Exit(finish.exit), finish.at, END, 0);
        if let Some(decoder) = &mut self.decoder {
            let drafts = &mut self.drafts;
            if catch_unwind(AssertUnwindSafe(|| decoder.end(finish.at, drafts))).is_err() {
                self.drafts.clear();
            }
            self.number_drafts(finish.at, END, 1);
        }
        self.close_batch();
        let mut until = Instant::now() + LAST_WAIT;
        if !self.is_copy {
            until = finish.deadline.checked_sub(RESERVE).map_or(until, |last| until.min(last));
        }
        loop {
            let now = Instant::now();
            self.link.serve(&mut self.ledger, now);
            if self.ledger.is_empty() {
                return;
            }
            if now >= until || !self.link.is_connected() || self.link.is_paused() {
                break;
            }
            let (connection, sending) = self.link.interest(&self.ledger);
            self.tap.bell.wait(until - now, connection, sending);
        }
        self.spool(Instant::now());
    }
}

/// The host and the terminal must not wait for the copy.
#[cfg(unix)]
fn close_standard_streams() {
    use rustix::fs::{Mode, OFlags, open};
    if let Ok(nothing) = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) {
        rustix::stdio::dup2_stdin(&nothing).ok();
        rustix::stdio::dup2_stdout(&nothing).ok();
        rustix::stdio::dup2_stderr(&nothing).ok();
    }
}

fn lines_of(block: &Block) -> impl Iterator<Item = &[u8]> {
    let mut bytes = block.bytes.as_slice();
    block.items.iter().filter_map(move |item| match *item {
        Item::Line { length, .. } => {
            let (line, rest) = bytes.split_at(length.min(bytes.len()));
            bytes = rest;
            Some(line)
        }
        Item::Gap { .. } => None,
    })
}

/// 128 random bits in hexadecimal: the name of this wrapper among all.
fn random_name() -> String {
    // Each state is seeded by the system.
    let half = || RandomState::new().hash_one((Instant::now(), std::process::id()));
    format!("{:016x}{:016x}", half(), half())
}
