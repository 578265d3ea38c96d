//! What the bus keeps of one feed: its name and weight, its tokens, its counters.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use super::publisher::PublishError;
use super::rate::{Bucket, Rate};
use super::stats::FeedStats;
use crate::event::{Origin, Trust};
use crate::id::FeedName;
use crate::process::ProcessRef;
use crate::state::Answer;

/// One feed, as its publishers share it.
#[derive(Debug)]
pub(super) struct FeedState {
    origin: Origin,
    bucket: Mutex<Bucket>,
    published: AtomicU64,
    confirmed: AtomicU64,
    invalid: AtomicU64,
    over_rate: AtomicU64,
}

impl FeedState {
    pub(super) fn new(name: FeedName, trust: Trust, host: Arc<str>, rate: Rate) -> Self {
        Self {
            origin: Origin { feed: name, trust, pid: None, host },
            bucket: Mutex::new(Bucket::new(rate)),
            published: AtomicU64::new(0),
            confirmed: AtomicU64::new(0),
            invalid: AtomicU64::new(0),
            over_rate: AtomicU64::new(0),
        }
    }

    pub(super) fn name(&self) -> &FeedName {
        &self.origin.feed
    }

    pub(super) fn trust(&self) -> Trust {
        self.origin.trust
    }

    /// Where a draft about `process` comes from.
    pub(super) fn origin(&self, process: Option<ProcessRef>) -> Cow<'_, Origin> {
        match process {
            None => Cow::Borrowed(&self.origin),
            Some(process) => Cow::Owned(Origin { pid: Some(process.pid), ..self.origin.clone() }),
        }
    }

    /// Whether a draft may pass now; what is essential always may.
    pub(super) fn admit(&self, now: Timestamp, essential: bool) -> bool {
        let mut bucket = self.bucket();
        if essential {
            bucket.take_if_any(now);
            return true;
        }
        let admitted = bucket.take(now);
        if !admitted {
            self.over_rate.fetch_add(1, Ordering::Relaxed);
        }
        admitted
    }

    /// Counts a draft of a batch, which is never cut.
    pub(super) fn charge(&self, now: Timestamp) {
        self.bucket().owe(now);
    }

    /// How long the feed should wait before it takes its next input.
    pub(super) fn pause(&self, now: Timestamp) -> Duration {
        self.bucket().wait(now)
    }

    pub(super) fn accepted(&self, answer: Answer) {
        let counter = match answer {
            Answer::New(_) => &self.published,
            Answer::Confirms(_) => &self.confirmed,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a bad draft, and logs the first, second, fourth, eighth, …
    pub(super) fn refuse(&self, problem: &'static str) -> PublishError {
        let count = self.invalid.fetch_add(1, Ordering::Relaxed) + 1;
        if count.is_power_of_two() {
            tracing::warn!(feed = %self.origin.feed, count, "invalid draft: {problem}");
        }
        PublishError::Invalid(problem.to_owned())
    }

    pub(super) fn stats(&self) -> FeedStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        FeedStats {
            feed: self.origin.feed.clone(),
            published: read(&self.published),
            confirmed: read(&self.confirmed),
            invalid: read(&self.invalid),
            over_rate: read(&self.over_rate),
        }
    }

    fn bucket(&self) -> MutexGuard<'_, Bucket> {
        self.bucket.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
