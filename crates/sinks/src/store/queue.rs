//! Between the bus, which must not wait, and the thread that writes.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use linelamp_core::journal::Entry;

use super::command::Settle;

/// About what an entry takes beside its events.
const ENTRY_BYTES: usize = 256;
/// An entry is not taken to be larger, whatever it says of itself.
const MOST_BYTES: usize = 1 << 30;
/// About what the evidence of one session takes.
const RECORD_BYTES: usize = 1_024;

/// How many entries the writer takes at once, so that it looks up from a long queue now and then.
const TAKE: usize = 4_096;

/// What entries take in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Load {
    /// Their events; an entry without any counts as one, for it waits like the others.
    pub(super) events: usize,
    /// About their bytes. Counted as they came in, also where less of them is kept.
    pub(super) bytes: usize,
}

impl Load {
    /// What one entry takes.
    pub(super) fn of(entry: &Entry) -> Self {
        let fixed = ENTRY_BYTES + entry.sessions.len() * RECORD_BYTES;
        let weights = entry.events.iter().map(|event| event.weight());
        let bytes = weights.fold(fixed, usize::saturating_add).min(MOST_BYTES);
        Self { events: entry.events.len().max(1), bytes }
    }

    /// Both together.
    pub(super) fn and(self, other: Self) -> Self {
        Self { events: self.events + other.events, bytes: self.bytes + other.bytes }
    }

    fn without(self, other: Self) -> Self {
        Self {
            events: self.events.saturating_sub(other.events),
            bytes: self.bytes.saturating_sub(other.bytes),
        }
    }
}

#[derive(Debug)]
pub(super) struct Queue {
    inner: Mutex<Inner>,
    work: Condvar,
    progress: Condvar,
    limit: Load,
}

#[derive(Debug, Default)]
struct Inner {
    entries: VecDeque<Entry>,
    settles: Vec<Settle>,
    /// What is queued or in the writer's hands.
    waiting: Load,
    /// Entries ever queued, and of these the ones committed, in the same order.
    queued: u64,
    committed: u64,
    stop: bool,
    ended: bool,
}

/// What the writer got.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) entries: VecDeque<Entry>,
    pub(super) settles: Vec<Settle>,
    pub(super) stop: bool,
}

impl Queue {
    /// While less than `limit` waits another entry is taken, whatever its size: so the limit is passed
    /// by one entry at most, and no entry is too large for ever.
    pub(super) fn new(limit: Load) -> Self {
        Self { inner: Mutex::default(), work: Condvar::new(), progress: Condvar::new(), limit }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing is left half-done under this lock, so a panic elsewhere does not spoil it.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues an entry, or gives it back if too much waits or nobody will write it.
    pub(super) fn push(&self, entry: Entry) -> Result<(), Entry> {
        let mut inner = self.lock();
        if inner.stop || inner.ended || self.has_enough(inner.waiting) {
            return Err(entry);
        }
        inner.waiting = inner.waiting.and(Load::of(&entry));
        inner.queued += 1;
        inner.entries.push_back(entry);
        self.work.notify_one();
        Ok(())
    }

    /// Queues a command; it is dropped, and its caller told so, if nobody will do it.
    pub(super) fn settle(&self, settle: Settle) {
        let mut inner = self.lock();
        if !inner.ended {
            inner.settles.push(settle);
            self.work.notify_one();
        }
    }

    /// What waits to be written.
    pub(super) fn waiting(&self) -> Load {
        self.lock().waiting
    }

    /// True if no entry is taken any more; those not committed may have been dropped.
    pub(super) fn is_closed(&self) -> bool {
        let inner = self.lock();
        inner.stop || inner.ended
    }

    /// True if an entry would be given back for want of room.
    pub(super) fn is_full(&self) -> bool {
        self.has_enough(self.waiting())
    }

    fn has_enough(&self, waiting: Load) -> bool {
        waiting.events >= self.limit.events || waiting.bytes >= self.limit.bytes
    }

    /// Waits for work, but only until `until`.
    pub(super) fn take(&self, until: Instant) -> Work {
        let mut inner = self.lock();
        while inner.entries.is_empty() && inner.settles.is_empty() && !inner.stop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            inner = self.work.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let count = inner.entries.len().min(TAKE);
        Work {
            entries: inner.entries.drain(..count).collect(),
            settles: std::mem::take(&mut inner.settles),
            stop: inner.stop && inner.entries.is_empty(),
        }
    }

    /// The oldest `entries` entries, which took `load` in all, are committed.
    pub(super) fn committed(&self, entries: u64, load: Load) {
        let mut inner = self.lock();
        inner.committed += entries;
        inner.waiting = inner.waiting.without(load);
        self.progress.notify_all();
    }

    /// Waits until everything queued up to now is committed. False if that took too long.
    pub(super) fn flush(&self, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        let mut inner = self.lock();
        let target = inner.queued;
        while inner.committed < target {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || inner.ended {
                return false;
            }
            inner =
                self.progress.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// The writer is to finish what is queued and end. Nothing more is taken.
    pub(super) fn stop(&self) {
        self.lock().stop = true;
        self.work.notify_one();
    }

    /// The writer has ended; nobody need wait any more.
    pub(super) fn end(&self) {
        let mut inner = self.lock();
        inner.ended = true;
        inner.entries.clear();
        inner.settles.clear();
        self.progress.notify_all();
    }
}
