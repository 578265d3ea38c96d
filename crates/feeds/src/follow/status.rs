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
use linelamp_core::driver::{DecoderOptions, Driver, Source};
use linelamp_core::feed::{Feed, FeedContext, FeedError};
use linelamp_core::sink::{BoxError, BoxFuture};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};

use super::board::{Board, Desk};
use super::feed::is_same;
use super::followed::Now;
use super::options::{AgentFolders, StatusOptions};
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
            let desks = desks(&self.options);
            let StatusOptions { reading, digester, stats, .. } = self.options;
            let board = Board::new(desks, reading, digester, stats, self.make);
            let ears = Arc::clone(board.ears());
            let mut watcher = Watcher {
                publisher,
                ears,
                board: Some(Box::new(board)),
                due: HashMap::new(),
                needs_polling: true,
            };
            tokio::select! {
                () = cancel.cancelled() => Ok(()),
                ended = watcher.run() => match ended {
                    Ok(()) | Err(Stop::Closed) => Ok(()),
                    Err(Stop::Failed(error)) => Err(FeedError(error)),
                },
            }
        })
    }
}

/// The folders of status files, each once, of agents that have readable ones.
fn desks(options: &StatusOptions) -> Vec<Desk> {
    let mut desks: Vec<Desk> = Vec::new();
    for AgentFolders { driver, config } in &options.agents {
        let decoder_options = DecoderOptions::new(options.reading, options.digester.clone());
        if driver.decoder(Source::Status, decoder_options).is_none() {
            continue;
        }
        for path in config.iter().filter_map(|config| driver.status_folder(config)) {
            let is_known = desks.iter().any(|desk| is_same(&desk.path, &path));
            if !is_known {
                desks.push(Desk { driver: Arc::<dyn Driver>::clone(driver), path });
            }
        }
    }
    desks
}

/// Why the feed ends.
#[derive(Debug)]
enum Stop {
    /// The bus takes nothing any more.
    Closed,
    /// Something is broken that trying again would not mend.
    Failed(BoxError),
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
    /// Away while a thread for blocking work has it.
    board: Option<Box<Board>>,
    due: HashMap<PathBuf, Due>,
    needs_polling: bool,
}

impl Watcher {
    async fn run(&mut self) -> Result<(), Stop> {
        for path in self.on_disk(Board::look).await? {
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
                    let found = self.on_disk(move |board, now| board.hear(heard, now)).await?;
                    self.plan(found);
                }
                _ = poll.tick() => {
                    round += 1;
                    let is_all = self.needs_polling || round % ALL_EVERY == 0;
                    let found = self.on_disk(move |board, now| {
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
        let seen = self.on_disk(move |board, now| board.read(&file, now)).await?;
        if seen.is_leaving || (seen.is_partial && !was_partial) {
            let at = Instant::now() + AGAIN;
            self.due.entry(path).or_insert(Due { at, was_partial: seen.is_partial });
        }
        if !seen.drafts.is_empty() {
            self.publisher.publish_all(None, seen.drafts, None).map_err(|_| Stop::Closed)?;
        }
        Ok(())
    }

    /// Works on the board where blocking is no matter.
    async fn on_disk<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Board, Now) -> T + Send + 'static,
    ) -> Result<T, Stop> {
        let mut board = self.board.take().expect("it is back after each step");
        let done = tokio::task::spawn_blocking(move || {
            let done = work(&mut board, Now::read());
            (board, done)
        });
        let (board, done) = done.await.map_err(|error| Stop::Failed(error.into()))?;
        self.needs_polling = board.needs_polling();
        self.board = Some(board);
        Ok(done)
    }
}
