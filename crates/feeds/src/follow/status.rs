//! The status feed: each change of a status file, soon after it.
//!
//! A file is read a moment after it changed, and once more if it was not whole then. One that is gone is looked for
//! until its process is gone as well: only then the session has ended in order. A process that was killed cannot
//! take its file away; its file is dropped in silence, as whoever looks at processes tells of it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use linelamp_core::bus::Publisher;
use linelamp_core::driver::{DecoderOptions, Source};
use linelamp_core::feed::{Feed, FeedContext, FeedError};
use linelamp_core::sink::BoxFuture;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};

use super::board::Board;
use super::disk::{OnDisk, Stop};
use super::options::StatusOptions;
use super::root::roots;
use super::watch::{Ears, Make, system};

/// A change is read this long after it began: a file is written in several steps.
const SETTLE: Duration = Duration::from_millis(20);
/// A file that was not whole is read again after this.
const AGAIN: Duration = Duration::from_millis(100);
/// How often processes are looked at, and folders that no system tells about.
const POLL: Duration = Duration::from_secs(2);
/// All folders are looked at once in so many polls.
const ALL_EVERY: u32 = 5;

/// Follows the status files of agents.
pub struct StatusFeed {
    options: StatusOptions,
    make: Make,
}

impl StatusFeed {
    /// A feed that has not begun.
    pub fn new(options: StatusOptions) -> Self {
        Self { options, make: system() }
    }
}

impl std::fmt::Debug for StatusFeed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("StatusFeed").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Feed for StatusFeed {
    fn run(self: Box<Self>, context: FeedContext) -> BoxFuture<'static, Result<(), FeedError>> {
        Box::pin(async move {
            let FeedContext { publisher, cancel } = context;
            let StatusOptions { agents, reading, digester, stats } = self.options;
            let decoding = DecoderOptions::new(reading, digester.clone());
            let roots = roots(&agents, Source::Status, &decoding, |driver, config| {
                driver.status_folder(config)
            });
            let board = Board::new(roots, reading, digester, stats, self.make);
            let ears = Arc::clone(board.ears());
            let mut watcher =
                Watcher { publisher, ears, board: OnDisk::new(board), due: HashMap::new() };
            tokio::select! {
                () = cancel.cancelled() => Ok(()),
                ended = watcher.run() => Stop::told(ended),
            }
        })
    }
}

/// When a file is to be read, and whether it was found half written before.
#[derive(Clone, Copy, Debug)]
struct Due {
    at: Instant,
    was_partial: bool,
}

struct Watcher {
    publisher: Publisher,
    ears: Arc<Ears>,
    board: OnDisk<Board>,
    due: HashMap<PathBuf, Due>,
}

impl Watcher {
    async fn run(&mut self) -> Result<(), Stop> {
        for path in self.board.step(Board::look).await? {
            self.read(path, false).await?;
        }
        let mut poll = interval_at(Instant::now() + POLL, POLL);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut round = 0;
        let ears = Arc::clone(&self.ears);
        loop {
            let next = self.due.values().map(|due| due.at).min();
            tokio::select! {
                () = ears.wait() => {
                    let heard = ears.take();
                    let found = self.board.step(move |board, now| board.hear(heard, now)).await?;
                    self.plan(found);
                }
                _ = poll.tick() => {
                    round += 1;
                    let is_all = self.board.get().needs_polling() || round % ALL_EVERY == 0;
                    let found = self.board.step(move |board, now| {
                        let mut found = board.widows();
                        if is_all {
                            found.extend(board.look(now));
                        }
                        found
                    });
                    let found = found.await?;
                    self.plan(found);
                }
                () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {
                    let now = Instant::now();
                    let due: Vec<_> =
                        self.due.extract_if(|_, due| due.at <= now).collect();
                    for (path, due) in due {
                        self.read(path, due.was_partial).await?;
                    }
                }
            }
        }
    }

    fn plan(&mut self, paths: Vec<PathBuf>) {
        let at = Instant::now() + SETTLE;
        for path in paths {
            self.due.entry(path).or_insert(Due { at, was_partial: false });
        }
    }

    async fn read(&mut self, path: PathBuf, was_partial: bool) -> Result<(), Stop> {
        self.publisher.ready().await;
        let file = path.clone();
        let seen = self.board.step(move |board, now| board.read(&file, now)).await?;
        if seen.is_leaving || (seen.is_partial && !was_partial) {
            let at = Instant::now() + AGAIN;
            self.due.entry(path).or_insert(Due { at, was_partial: seen.is_partial });
        }
        if !seen.drafts.is_empty() {
            self.publisher.publish_all(None, seen.drafts, None)?;
        }
        Ok(())
    }
}
