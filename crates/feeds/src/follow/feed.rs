//! The transcript feed: what the catalog says is to be read, read and published.
//!
//! Files are read on the runtime's threads for blocking work, one step at a time; between two steps the feed
//! waits until the bus and the store take more. What one step read is published in one piece together with
//! the place that was reached, so that after a restart each line is taken exactly once.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use linelamp_core::bus::Publisher;
use linelamp_core::driver::{DecoderOptions, Source};
use linelamp_core::feed::{Feed, FeedContext, FeedError};
use linelamp_core::journal::Committed;
use linelamp_core::sink::BoxFuture;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};

use super::catalog::{Catalog, Look, marks};
use super::disk::{OnDisk, Stop};
use super::followed::{Batch, Means, Now, PREFIX, Place};
use super::mark::Mark;
use super::options::TranscriptOptions;
use super::root::roots;
use super::watch::{Ears, Make, system};
use crate::ingest::Ledger;

/// How often what nobody tells about is looked at.
const POLL: Duration = Duration::from_secs(2);
/// How often what is likely to change is looked at, although the system would tell.
const RECONCILE: Duration = Duration::from_secs(10);
/// How often everything is looked at; where the system refuses to tell, at every [`RECONCILE`].
const ALL_EVERY: Duration = Duration::from_secs(60);
/// After a look the feed rests so many times as long as it took: looking takes a third of a percent of a core at most.
const REST: u32 = 300;
/// It never rests longer than this.
const LONGEST_REST: Duration = Duration::from_secs(60);
/// How long to wait before a store is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(200);

/// Follows the session files of agents.
pub struct TranscriptFeed {
    options: TranscriptOptions,
    make: Make,
}

impl TranscriptFeed {
    /// A feed that has not begun.
    pub fn new(options: TranscriptOptions) -> Self {
        Self::with_backend(options, system())
    }

    pub(super) fn with_backend(options: TranscriptOptions, make: Make) -> Self {
        Self { options, make }
    }
}

impl std::fmt::Debug for TranscriptFeed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("TranscriptFeed")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Feed for TranscriptFeed {
    fn run(self: Box<Self>, context: FeedContext) -> BoxFuture<'static, Result<(), FeedError>> {
        Box::pin(async move {
            let FeedContext { publisher, cancel } = context;
            let TranscriptOptions { agents, reading, digester, ledger, stats } = self.options;
            let decoding = DecoderOptions::new(reading, digester.clone());
            let roots = roots(&agents, Source::Transcript, &decoding, |driver, config| {
                driver.session_folder(config)
            });
            let means = Means { reading, digester, stats, buffer: Vec::new() };
            let catalog = Catalog::new(roots, means, self.make, Now::read());
            let ears = Arc::clone(catalog.ears());
            let (back, refused) = mpsc::unbounded_channel();
            let mut follower = Follower {
                publisher,
                ledger,
                ears,
                catalog: OnDisk::new(catalog),
                back,
                refused,
                due: VecDeque::new(),
                rests_until: Instant::now(),
                next_all: Instant::now() + ALL_EVERY,
            };
            tokio::select! {
                () = cancel.cancelled() => Ok(()),
                ended = follower.run() => Stop::told(ended),
            }
        })
    }
}

/// A batch that the store did not take: the file and the place before it.
type Refused = (PathBuf, Place);

struct Follower {
    publisher: Publisher,
    ledger: Option<Arc<dyn Ledger>>,
    ears: Arc<Ears>,
    catalog: OnDisk<Catalog>,
    back: mpsc::UnboundedSender<Refused>,
    refused: mpsc::UnboundedReceiver<Refused>,
    /// Files that wait since the start; whatever changes now goes before them.
    due: VecDeque<PathBuf>,
    /// No look before this.
    rests_until: Instant,
    /// When everything is to be looked at again.
    next_all: Instant,
}

impl Follower {
    async fn run(&mut self) -> Result<(), Stop> {
        let marks = self.remembered().await;
        self.due = self.catalog.step(move |catalog, now| catalog.begin(marks, now)).await?.into();
        let now = Instant::now();
        let mut poll = interval_at(now + POLL, POLL);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut reconcile = interval_at(now + RECONCILE, RECONCILE);
        reconcile.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let ears = Arc::clone(&self.ears);
        loop {
            let found = tokio::select! {
                biased;
                () = ears.wait() => {
                    let heard = ears.take();
                    self.catalog.step(move |catalog, now| catalog.hear(heard, now)).await?
                }
                Some((path, place)) = self.refused.recv() => {
                    let again = path.clone();
                    self.catalog.step(move |catalog, _| catalog.go_back(&path, place)).await?;
                    vec![again]
                }
                _ = poll.tick() => {
                    if !self.catalog.get().needs_polling() {
                        continue;
                    }
                    self.look(Look::Unwatched).await?
                }
                _ = reconcile.tick() => {
                    let is_all = self.catalog.get().is_refused() || Instant::now() >= self.next_all;
                    let which = if is_all { Look::All } else { Look::Lively };
                    self.tidy().await?;
                    self.look(which).await?
                }
                () = std::future::ready(()), if !self.due.is_empty() => Vec::new(),
            };
            self.take_all(found).await?;
            // One at a time, so that what happens now need not wait for what happened.
            if let Some(path) = self.due.pop_front() {
                self.take_all(vec![path]).await?;
            }
        }
    }

    /// How far earlier daemons read. Nothing is read before that is known: it would be told again.
    async fn remembered(&mut self) -> HashMap<PathBuf, Mark> {
        let Some(ledger) = &self.ledger else { return HashMap::new() };
        let mut has_warned = false;
        loop {
            match ledger.cursors(PREFIX).await {
                Ok(cursors) => return marks(&cursors),
                Err(error) if !has_warned => {
                    tracing::warn!(%error, "store cannot say how far session files were read");
                    has_warned = true;
                }
                Err(_) => {}
            }
            sleep(ASK_AGAIN).await;
        }
    }

    /// Looks, unless it is too soon for that.
    async fn look(&mut self, which: Look) -> Result<Vec<PathBuf>, Stop> {
        let began = Instant::now();
        if began < self.rests_until {
            return Ok(Vec::new());
        }
        let found = self.catalog.step(move |catalog, now| catalog.look(which, now)).await?;
        let ended = Instant::now();
        if which == Look::All {
            self.next_all = ended + ALL_EVERY;
        }
        self.rests_until = ended + (ended - began).saturating_mul(REST).min(LONGEST_REST);
        Ok(found)
    }

    /// Reads on in files, in a session's own before those of its subagents.
    async fn take_all(&mut self, mut files: Vec<PathBuf>) -> Result<(), Stop> {
        files.sort();
        files.dedup();
        let catalog = self.catalog.get();
        files.sort_by_key(|path| catalog.is_child(path));
        for path in files {
            self.ready().await;
            let file = path.clone();
            let batch = self.catalog.step(move |catalog, now| catalog.read(&file, now)).await?;
            // Whoever has much to say takes turns with the others.
            if batch.more {
                self.due.push_front(path.clone());
            }
            self.publish(path, batch)?;
        }
        if self.catalog.get().has_many_open() {
            self.tidy().await?;
        }
        Ok(())
    }

    /// Waits until the bus takes more, and the store.
    async fn ready(&mut self) {
        self.publisher.ready().await;
        while self.ledger.as_ref().is_some_and(|ledger| !ledger.has_room()) {
            sleep(ASK_AGAIN).await;
        }
    }

    fn publish(&self, path: PathBuf, batch: Batch) -> Result<(), Stop> {
        let Batch { drafts, cursor, before, .. } = batch;
        if drafts.is_empty() && cursor.is_none() {
            return Ok(());
        }
        let hold =
            before.map(|place| Hold { refused: Some((path, place)), back: self.back.clone() });
        let committed = hold.map(|hold| Committed(Box::new(move || hold.let_go())));
        self.publisher.publish_all(cursor.map(Into::into), drafts, committed)?;
        Ok(())
    }

    async fn tidy(&mut self) -> Result<(), Stop> {
        for batch in self.catalog.step(Catalog::tidy).await? {
            self.ready().await;
            self.publish(PathBuf::new(), batch)?;
        }
        Ok(())
    }
}

/// A published batch. A store that has no room drops it: then it is read again.
struct Hold {
    refused: Option<Refused>,
    back: mpsc::UnboundedSender<Refused>,
}

impl Hold {
    fn let_go(mut self) {
        self.refused = None;
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(refused) = self.refused.take() {
            // At the end nobody listens, and the next start reads on from the cursor.
            self.back.send(refused).ok();
        }
    }
}
