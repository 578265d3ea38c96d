//! The one thread that writes.
//!
//! Whatever was queued while a transaction ran goes into the next one, so under load a transaction
//! holds many entries and without load an entry waits for nobody. A failed transaction is tried again,
//! with the same entries first, until it succeeds or the store is closed.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use linelamp_core::Seq;
use linelamp_core::journal::Input;
use rusqlite::Connection;

use super::command::Settle;
use super::group::{self, Memory};
use super::handle::Shared;
use super::prepare::Prepared;
use super::queue::Load;
use super::retention;

/// Limits of one transaction; one entry is never split.
const GROUP_ENTRIES: usize = 1_024;
const GROUP_BYTES: usize = 8 << 20;

/// Pauses between attempts after a failure.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Between two looks at what is too old, and between two steps while there is something.
const UPKEEP: Duration = Duration::from_secs(60);
const UPKEEP_STEP: Duration = Duration::from_millis(50);

pub(super) struct Writer {
    shared: Arc<Shared>,
    connection: Connection,
    memory: Memory,
    waiting: VecDeque<Prepared>,
    settles: Vec<Settle>,
    pause: Option<(Duration, Instant)>,
    upkeep_at: Instant,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, connection: Connection, memory: Memory) -> Self {
        Self {
            shared,
            connection,
            memory,
            waiting: VecDeque::new(),
            settles: Vec::new(),
            pause: None,
            upkeep_at: Instant::now(),
        }
    }

    /// Runs until the store is closed.
    pub(super) fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        // Also if something below panics: whoever waits for a commit must learn that none will come.
        let _ended = Ended(&shared);
        loop {
            let work = shared.queue.take(self.wake_at());
            let durable = shared.durable();
            self.waiting.extend(
                work.entries
                    .into_iter()
                    .map(|entry| Prepared::new(entry, shared.options.detail, &durable)),
            );
            self.settles.extend(work.settles);
            let due = work.stop || self.pause.is_none_or(|(_, until)| until <= Instant::now());
            while due && self.has_work() && self.write() {}
            if work.stop {
                if !self.waiting.is_empty() {
                    tracing::error!(
                        entries = self.waiting.len(),
                        "store closed before everything was written; inputs are read again"
                    );
                }
                self.tidy();
                return;
            }
            self.upkeep();
        }
    }

    /// Moves the write-ahead log into the file, so that what is left behind is one file.
    fn tidy(&self) {
        let done = self.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
        if let Err(error) = done {
            tracing::debug!(%error, "the write-ahead log stays as it is");
        }
    }

    fn has_work(&self) -> bool {
        !self.waiting.is_empty() || !self.settles.is_empty()
    }

    fn wake_at(&self) -> Instant {
        match self.pause {
            Some((_, until)) if self.has_work() => until.min(self.upkeep_at),
            _ => self.upkeep_at,
        }
    }

    /// Writes one group. False if that failed.
    fn write(&mut self) -> bool {
        let count = self.group_size();
        self.shared.pulse().begin(Instant::now());
        let result = group::write(
            &mut self.connection,
            &mut self.memory,
            &self.waiting.make_contiguous()[..count],
            &self.settles,
            Timestamp::now().as_millisecond(),
        );
        match result {
            Ok(report) => {
                self.pause = None;
                let mut pulse = self.shared.pulse();
                pulse.collisions += report.collisions;
                let failure = pulse.succeed();
                drop(pulse);
                if let Some(error) = failure {
                    tracing::info!(%error, "the store can be written again");
                }
                if report.collisions > 0 {
                    tracing::error!(events = report.collisions, "order numbers were used twice");
                }
                self.finish(count);
                true
            }
            Err(error) => {
                let pause =
                    self.pause.map_or(FIRST_PAUSE, |(pause, _)| (pause * 2).min(LONGEST_PAUSE));
                self.pause = Some((pause, Instant::now() + pause));
                if self.shared.pulse().fail(error.to_string()) {
                    tracing::warn!(%error, "the store cannot be written, trying on");
                }
                false
            }
        }
    }

    fn group_size(&self) -> usize {
        let mut bytes = 0;
        self.waiting
            .iter()
            .take(GROUP_ENTRIES)
            .take_while(|entry| {
                let fits = bytes == 0 || bytes + entry.bytes() <= GROUP_BYTES;
                bytes += entry.bytes();
                fits
            })
            .count()
    }

    /// Tells everybody that the group is durable.
    fn finish(&mut self, count: usize) {
        let mut load = Load::default();
        let mut newest = Seq(0);
        let mut told = Vec::new();
        let mut known = self.shared.known();
        for entry in self.waiting.drain(..count) {
            load = load.and(entry.load);
            newest = newest.max(Seq(entry.next_seq.0.saturating_sub(1)));
            if let Some(Input::Position(position)) = entry.input {
                known.committed(position);
            }
            told.extend(entry.committed);
        }
        drop(known);
        for committed in told {
            if catch_unwind(AssertUnwindSafe(committed.0)).is_err() {
                tracing::error!("telling a feed that its input is durable has panicked");
            }
        }
        for settle in self.settles.drain(..) {
            // Nobody waits any more: the rows are gone all the same.
            drop(settle.done.send(Ok(())));
        }
        self.shared.committed.send_if_modified(|seq| {
            let newer = newest > *seq;
            *seq = newest.max(*seq);
            newer
        });
        self.shared.queue.committed(count as u64, load);
    }

    fn upkeep(&mut self) {
        let now = Instant::now();
        if now < self.upkeep_at || self.pause.is_some() {
            if self.pause.is_some() {
                self.upkeep_at = now + UPKEEP_STEP;
            }
            return;
        }
        let step = retention::step(
            &mut self.connection,
            &mut self.memory,
            &self.shared.options.retention,
            Timestamp::now(),
        );
        let pause = match step {
            Ok(step) => {
                if step.dropped > 0 {
                    self.shared.pulse().dropped += step.dropped;
                    tracing::warn!(
                        rows = step.dropped,
                        "undelivered rows of durable sinks dropped"
                    );
                }
                if step.more { UPKEEP_STEP } else { UPKEEP }
            }
            Err(error) => {
                tracing::warn!(%error, "the store's upkeep failed, trying on later");
                UPKEEP
            }
        };
        self.upkeep_at = now + pause;
    }
}

struct Ended<'a>(&'a Shared);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.pulse().end();
        self.0.queue.end();
    }
}
