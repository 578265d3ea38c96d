//! Feeds that run beside a bus: started, contained and stopped together.

use std::fmt;

use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::guard::contain_future;
use super::publisher::Publisher;
use crate::feed::{Feed, FeedContext};
use crate::id::FeedName;

/// Running feeds. A feed that fails or panics ends alone; it is logged and not started again, which is
/// for the host to decide.
#[derive(Default)]
pub struct FeedSet {
    cancel: CancellationToken,
    running: Vec<(FeedName, JoinHandle<()>)>,
}

impl FeedSet {
    /// No feeds yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a feed on the current runtime.
    pub fn spawn(&mut self, feed: Box<dyn Feed>, publisher: Publisher) {
        let name = publisher.feed().clone();
        let context = FeedContext { publisher, cancel: self.cancel.child_token() };
        let log = name.clone();
        let task = tokio::spawn(async move {
            match contain_future(move || feed.run(context)).await {
                Ok(Ok(())) => tracing::debug!(feed = %log, "feed ended"),
                Ok(Err(error)) => tracing::warn!(feed = %log, "{error}"),
                Err(panic) => tracing::error!(feed = %log, "feed {panic}"),
            }
        });
        self.running.push((name, task));
    }

    /// Tells every feed to stop, waits for them until `deadline` or until `skip` is cancelled, and aborts
    /// the rest. Gives the names of those.
    pub async fn stop(mut self, deadline: Instant, skip: &CancellationToken) -> Vec<FeedName> {
        self.cancel.cancel();
        let mut unfinished = Vec::new();
        for (name, mut task) in std::mem::take(&mut self.running) {
            let done = tokio::select! {
                // A feed that is done counts as done, however late it is asked.
                biased;
                _ = &mut task => true,
                () = skip.cancelled() => false,
                () = tokio::time::sleep_until(deadline) => false,
            };
            if !done {
                task.abort();
                unfinished.push(name);
            }
        }
        unfinished
    }
}

impl Drop for FeedSet {
    fn drop(&mut self) {
        self.cancel.cancel();
        for (_, task) in &self.running {
            task.abort();
        }
    }
}

impl fmt::Debug for FeedSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.running.iter().map(|(name, _)| name)).finish()
    }
}
