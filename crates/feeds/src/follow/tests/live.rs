//! The feed as it runs: a bus, a store, and what the system itself says.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use linelamp_core::Trust;
use linelamp_core::bus::{Bus, Rate};
use linelamp_core::digest::Digester;
use linelamp_core::driver::{Driver, Reading};
use linelamp_core::feed::{Feed, FeedContext, FeedError};
use linelamp_core::journal::Journal;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::super::{AgentFolders, TranscriptFeed, TranscriptOptions, TranscriptStats};
use super::support::{Keeper, Scribe, lock, say};
use crate::ingest::Ledger;

/// Longest wait for something that must happen.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, wait).await.is_ok(), "{what} did not happen");
}

/// A running feed.
struct Running {
    scribe: Scribe,
    stats: Arc<TranscriptStats>,
    cancel: CancellationToken,
    feed: JoinHandle<Result<(), FeedError>>,
    _bus: Bus,
}

impl Running {
    fn start(folders: &[&Path], keeper: &Arc<Keeper>) -> Self {
        let bus = Bus::builder()
            .feed_rate(Rate { per_second: 1e9, burst: 1e9 })
            .journal(Arc::clone(keeper) as Arc<dyn Journal>)
            .build();
        let (scribe, stats) = (Scribe::default(), Arc::<TranscriptStats>::default());
        let agents = vec![AgentFolders {
            driver: Arc::new(scribe.clone()) as Arc<dyn Driver>,
            config: folders.iter().map(|folder| folder.to_path_buf()).collect(),
        }];
        let feed = TranscriptFeed::new(TranscriptOptions {
            agents,
            reading: Reading::State,
            digester: Digester::new(&[1; 32]),
            ledger: Some(Arc::clone(keeper) as Arc<dyn Ledger>),
            stats: Arc::clone(&stats),
        });
        let cancel = CancellationToken::new();
        let publisher = bus.publisher("transcript", Trust::Inferred);
        let context = FeedContext { publisher, cancel: cancel.clone() };
        let feed = tokio::spawn(Box::new(feed).run(context));
        Self { scribe, stats, cancel, feed, _bus: bus }
    }

    fn has(&self, line: &str) -> bool {
        lock(&self.scribe.told).iter().any(|told| told == line)
    }

    async fn told(&self, line: &str) {
        until(line, || self.has(line)).await;
    }

    async fn stop(self) {
        self.cancel.cancel();
        let ended = tokio::time::timeout(PATIENCE, self.feed).await.expect("it ends");
        ended.expect("no panic").expect("no error");
    }
}

fn session(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join("projects/p").join(name);
    std::fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
    path
}

fn append(path: &Path, text: &str) {
    let mut file = OpenOptions::new().create(true).append(true).open(path).expect("a file");
    file.write_all(text.as_bytes()).expect("written");
}

#[tokio::test]
async fn what_is_appended_is_published_without_waiting_for_a_look() {
    let folder = tempfile::tempdir().expect("a folder");
    let keeper = Arc::new(Keeper::default());
    let path = session(folder.path(), "a.jsonl");
    append(&path, &say("before"));
    let running = Running::start(&[folder.path()], &keeper);
    running.told("past a/main before").await;
    until("watching", || running.stats.counts().watched == 2).await;
    append(&path, &say("one"));
    running.told("a/main one").await;
    append(&session(folder.path(), "a/subagents/agent-1.jsonl"), &say("child"));
    running.told("a/agent-1 child").await;
    until("commit", || keeper.modes().len() >= 2).await;
    running.stop().await;
}

#[tokio::test]
async fn several_accounts_are_followed_each_folder_once() {
    let (one, two) = (tempfile::tempdir().expect("one"), tempfile::tempdir().expect("two"));
    let link = two.path().join("link");
    std::os::unix::fs::symlink(one.path(), &link).expect("a link");
    append(&session(one.path(), "a.jsonl"), &say("of one"));
    append(&session(two.path(), "b.jsonl"), &say("of two"));
    let keeper = Arc::new(Keeper::default());
    let running = Running::start(&[one.path(), two.path(), one.path(), &link], &keeper);
    running.told("past a/main of one").await;
    running.told("past b/main of two").await;
    append(&session(two.path(), "b.jsonl"), &say("more"));
    running.told("b/main more").await;
    assert_eq!(lock(&running.scribe.told).len(), 3, "each once");
    running.stop().await;
}

#[tokio::test]
async fn two_processes_that_append_to_one_file_lose_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let keeper = Arc::new(Keeper::default());
    let path = session(folder.path(), "a.jsonl");
    append(&path, &say("before"));
    let running = Running::start(&[folder.path()], &keeper);
    running.told("past a/main before").await;
    let writers: Vec<_> = ["x", "y"]
        .into_iter()
        .map(|name| {
            let script = format!(
                "i=0; while [ $i -lt 300 ]; do printf '{{\"say\":\"{name}%d\"}}\\n' $i >> \"$0\"; i=$((i+1)); done"
            );
            std::process::Command::new("sh").arg("-c").arg(script).arg(&path).spawn()
        })
        .collect();
    for writer in writers {
        writer.expect("a shell").wait().expect("it ends");
    }
    let is_all = || ["x", "y"].iter().all(|name| running.has(&format!("a/main {name}299")));
    until("both ends", is_all).await;
    let told = lock(&running.scribe.told).clone();
    assert_eq!(told.len(), 601, "each line once");
    for name in ["x", "y"] {
        let of_one: Vec<_> = told.iter().filter(|line| line.contains(name)).cloned().collect();
        let expected: Vec<_> = (0..300).map(|number| format!("a/main {name}{number}")).collect();
        assert_eq!(of_one, expected, "in order");
    }
    running.stop().await;
}

#[tokio::test]
async fn a_restart_tells_what_happened_meanwhile_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let keeper = Arc::new(Keeper::default());
    let path = session(folder.path(), "a.jsonl");
    append(&path, &say("before"));
    let running = Running::start(&[folder.path()], &keeper);
    running.told("past a/main before").await;
    append(&path, &say("one"));
    until("one is committed", || keeper.modes().contains(&"a/main one".to_owned())).await;
    running.stop().await;
    append(&path, &say("two"));
    keeper.broken.store(3, Ordering::SeqCst);
    let running = Running::start(&[folder.path()], &keeper);
    running.told("a/main two").await;
    running.stop().await;
    let running = Running::start(&[folder.path()], &keeper);
    append(&path, &say("three"));
    until("three", || keeper.modes().contains(&"a/main three".to_owned())).await;
    let modes: Vec<_> = keeper.modes().into_iter().filter(|mode| !mode.contains("past")).collect();
    assert_eq!(modes, ["a/main one", "a/main two", "a/main three"]);
    let told = lock(&running.scribe.told).clone();
    let before = ["past a/main before", "past a/main one", "past a/main two"];
    assert_eq!(told, [&before[..], &["a/main three"]].concat(), "it knows what it is about");
    assert_eq!(keeper.cursors(), 1);
    running.stop().await;
}

#[tokio::test]
async fn what_the_store_had_no_room_for_is_read_again_and_stored_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let keeper = Arc::new(Keeper::default());
    let path = session(folder.path(), "a.jsonl");
    append(&path, &say("before"));
    let running = Running::start(&[folder.path()], &keeper);
    running.told("past a/main before").await;
    until("first commit", || keeper.cursors() == 1).await;
    keeper.set_full(true);
    append(&path, &say("one"));
    // While it is full nothing is read at all; it may have become full just after somebody asked.
    tokio::time::sleep(Duration::from_millis(50)).await;
    append(&path, &say("two"));
    keeper.set_full(false);
    until("both are stored", || {
        keeper.modes().iter().filter(|mode| !mode.contains("past")).count() == 2
    })
    .await;
    let modes: Vec<_> = keeper.modes().into_iter().filter(|mode| !mode.contains("past")).collect();
    assert_eq!(modes, ["a/main one", "a/main two"]);
    running.stop().await;
}

#[tokio::test]
async fn a_folder_that_is_not_there_yet_is_waited_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let keeper = Arc::new(Keeper::default());
    let config = folder.path().join("later");
    let running = Running::start(&[&config], &keeper);
    until("a look", || running.stats.counts().polling == 1).await;
    append(&session(&config, "a.jsonl"), &say("one"));
    running.told("a/main one").await;
    running.stop().await;
}
