//! Going down in order: announce, feeds, bus, lanes, what else the host runs. No step can hang.

use std::fmt;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::feed_set::FeedSet;
use super::handle::Bus;
use super::publisher::Publisher;
use crate::draft::Draft;
use crate::id::{FeedName, SinkName};
use crate::sink::BoxFuture;

/// What going down is to do, and how long it may take.
pub struct Drain {
    budget: Duration,
    skip: CancellationToken,
    announce: Vec<(Publisher, Draft)>,
    feeds: Option<FeedSet>,
    last: Vec<(String, BoxFuture<'static, ()>)>,
}

impl Drain {
    /// Everything within `budget`.
    pub fn new(budget: Duration) -> Self {
        Self {
            budget,
            skip: CancellationToken::new(),
            announce: Vec::new(),
            feeds: None,
            last: Vec::new(),
        }
    }

    /// When cancelled (a second signal), whatever is not done is left undone.
    #[must_use]
    pub fn skip(mut self, skip: CancellationToken) -> Self {
        self.skip = skip;
        self
    }

    /// Published before anything is stopped: how the agent ended.
    #[must_use]
    pub fn announce(mut self, publisher: &Publisher, draft: Draft) -> Self {
        self.announce.push((publisher.clone(), draft));
        self
    }

    /// Stopped first, within a fifth of the budget.
    #[must_use]
    pub fn feeds(mut self, feeds: FeedSet) -> Self {
        self.feeds = Some(feeds);
        self
    }

    /// Done last, all such steps at once, when every lane is done: stopping plugins, closing the store.
    #[must_use]
    pub fn then(mut self, name: impl Into<String>, step: BoxFuture<'static, ()>) -> Self {
        self.last.push((name.into(), step));
        self
    }
}

impl From<Duration> for Drain {
    fn from(budget: Duration) -> Self {
        Self::new(budget)
    }
}

impl fmt::Debug for Drain {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Drain")
            .field("budget", &self.budget)
            .field("feeds", &self.feeds)
            .finish_non_exhaustive()
    }
}

/// How going down went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrainReport {
    /// Feeds that did not stop in time and were aborted.
    pub feeds: Vec<FeedName>,
    /// Sinks that did not finish in time.
    pub sinks: Vec<Unfinished>,
    /// Last steps that did not finish in time.
    pub steps: Vec<String>,
    /// True if the rest was skipped on demand.
    pub skipped: bool,
    /// How long it took.
    pub took: Duration,
}

impl DrainReport {
    /// True if everything finished.
    pub fn is_clean(&self) -> bool {
        self.feeds.is_empty() && self.sinks.is_empty() && self.steps.is_empty() && !self.skipped
    }
}

/// A sink that did not finish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// Which.
    pub sink: SinkName,
    /// Events it did not get.
    pub pending: u64,
    /// How long the oldest of them has been known.
    pub age: Option<Duration>,
}

pub(super) async fn run(bus: &Bus, drain: Drain) -> DrainReport {
    let Drain { budget, skip, announce, feeds, last } = drain;
    let start = Instant::now();
    let end = start + budget;
    let mut report = DrainReport::default();
    for (publisher, draft) in announce {
        if let Err(error) = publisher.publish(draft) {
            tracing::warn!(feed = %publisher.feed(), "end was not announced: {error}");
        }
    }
    if let Some(feeds) = feeds {
        report.feeds = feeds.stop(start + budget / 5, &skip).await;
    }
    bus.close();
    let lanes_end = if last.is_empty() { end } else { end - budget / 10 };
    report.sinks = bus.finish_lanes(lanes_end, &skip).await;
    report.steps = finish_steps(last, end, &skip).await;
    report.skipped = skip.is_cancelled();
    report.took = start.elapsed();
    for sink in &report.sinks {
        tracing::warn!(sink = %sink.sink, pending = sink.pending, age = ?sink.age, "not finished");
    }
    report
}

/// Joins tasks until `end`; those that are not done are aborted, and the answer is false.
pub(super) async fn join(
    tasks: Vec<JoinHandle<()>>,
    end: Instant,
    skip: &CancellationToken,
) -> bool {
    let mut all = true;
    for mut task in tasks {
        let done = tokio::select! {
            // What is done counts as done, however late it is asked.
            biased;
            _ = &mut task => true,
            () = skip.cancelled() => false,
            () = tokio::time::sleep_until(end) => false,
        };
        if !done {
            task.abort();
        }
        all &= done;
    }
    all
}

/// Runs all steps at once; gives the names of those that were cut short.
async fn finish_steps(
    steps: Vec<(String, BoxFuture<'static, ()>)>,
    end: Instant,
    skip: &CancellationToken,
) -> Vec<String> {
    let tasks: Vec<_> = steps.into_iter().map(|(name, step)| (name, tokio::spawn(step))).collect();
    let mut unfinished = Vec::new();
    for (name, mut task) in tasks {
        tokio::select! {
            biased;
            ended = &mut task => {
                if let Err(error) = ended {
                    tracing::warn!(step = name, "step failed: {error}");
                }
            }
            () = skip.cancelled() => {
                task.abort();
                unfinished.push(name);
            }
            () = tokio::time::sleep_until(end) => {
                task.abort();
                unfinished.push(name);
            }
        }
    }
    unfinished
}
