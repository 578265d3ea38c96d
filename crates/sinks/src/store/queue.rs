//! Between the bus, which must not wait, and the thread that writes.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use linelamp_core::journal::Entry;

use super::command::Settle;

/// How many entries the writer takes at once, so that it looks up from a long queue now and then.
const TAKE: usize = 4_096;

#[derive(Debug)]
pub(super) struct Queue {
    inner: Mutex<Inner>,
    work: Condvar,
    progress: Condvar,
    limit: usize,
}

#[derive(Debug, Default)]
struct Inner {
    entries: VecDeque<Entry>,
    settles: Vec<Settle>,
    /// Events queued or in the writer's hands.
    waiting: usize,
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
    /// `limit` events may wait; see [`Queue::push`].
    pub(super) fn new(limit: usize) -> Self {
        Self { inner: Mutex::default(), work: Condvar::new(), progress: Condvar::new(), limit }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing is left half-done under this lock, so a panic elsewhere does not spoil it.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues an entry, or gives it back if too many events wait or nobody will write it.
    pub(super) fn push(&self, entry: Entry) -> Result<(), Entry> {
        let mut inner = self.lock();
        if inner.stop || inner.ended || inner.waiting + entry.events.len() > self.limit {
            return Err(entry);
        }
        inner.waiting += entry.events.len();
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

    /// Events that wait to be written.
    pub(super) fn waiting(&self) -> usize {
        self.lock().waiting
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

    /// The oldest `entries` entries, with `events` events in all, are committed.
    pub(super) fn committed(&self, entries: u64, events: usize) {
        let mut inner = self.lock();
        inner.committed += entries;
        inner.waiting = inner.waiting.saturating_sub(events);
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
