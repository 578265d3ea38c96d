//! What running processes say of themselves.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Duration;

use linelamp_core::digest::Digester;
use linelamp_core::driver::{Driver, Reading};

use super::super::board::Board;
use super::super::followed::Now;
use super::super::root::Root;
use super::super::stats::StatusStats;
use super::support::{Quiet, Scribe, lock};

/// A board over one folder, and a process that does nothing.
struct Scene {
    folder: tempfile::TempDir,
    scribe: Scribe,
    stats: Arc<StatusStats>,
    board: Board,
    child: Child,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (scribe, stats) = (Scribe::default(), Arc::<StatusStats>::default());
        let driver: Arc<dyn Driver> = Arc::new(scribe.clone());
        let root = Root { driver, path: folder.path().to_owned() };
        let digester = Digester::new(&[1; 32]);
        let counted = Arc::clone(&stats);
        let make = Quiet::default().make();
        let board = Board::new(vec![root], Reading::State, digester, counted, make);
        let child = Command::new("sleep").arg("600").spawn().expect("a process");
        Self { folder, scribe, stats, board, child }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(format!("{}.json", self.child.id()))
    }

    fn write(&self, text: &str) {
        std::fs::write(self.path(), text).expect("written");
    }

    fn read(&mut self, path: &Path) -> (Vec<String>, bool) {
        let seen = self.board.read(path, Now::read());
        let told = std::mem::take(&mut *lock(&self.scribe.told));
        let pid = self.child.id().to_string();
        (told.into_iter().map(|line| line.replace(&pid, "PID")).collect(), seen.is_partial)
    }

    fn kill(&mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("waited");
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.kill();
    }
}

#[test]
fn a_file_that_is_half_written_is_read_again_and_the_same_content_is_told_once() {
    let mut scene = Scene::new();
    let path = scene.path();
    scene.write("");
    assert_eq!(scene.read(&path), (vec![], true));
    scene.write("{\"say\":\"bu");
    assert_eq!(scene.read(&path), (vec![], true));
    scene.write("{\"say\":\"busy\"}");
    assert_eq!(scene.read(&path), (vec!["PID busy".to_owned()], false));
    scene.write("{\"say\":\"busy\"}");
    assert_eq!(scene.read(&path), (vec![], false));
    scene.write("{\"say\":\"idle\"}");
    assert_eq!(scene.read(&path), (vec!["PID idle".to_owned()], false));
}

#[test]
fn a_file_that_is_gone_says_so_once_its_process_is_gone_as_well() {
    let mut scene = Scene::new();
    let path = scene.path();
    scene.write("{\"say\":\"busy\"}");
    scene.read(&path);
    std::fs::remove_file(&path).expect("removed");
    let seen = scene.board.read(&path, Now::read());
    assert!(seen.is_leaving && seen.drafts.is_empty(), "it may be written anew");
    scene.write("{\"say\":\"idle\"}");
    assert_eq!(scene.read(&path).0, ["PID idle"]);
    std::fs::remove_file(&path).expect("removed");
    scene.read(&path);
    scene.kill();
    assert_eq!(scene.read(&path).0, ["gone PID"]);
    assert_eq!(scene.read(&path).0, [""; 0]);
}

#[test]
fn the_same_content_has_the_same_id() {
    let mut scene = Scene::new();
    let path = scene.path();
    let mut ids = Vec::new();
    for text in ["{\"say\":\"busy\"}", "{\"say\":\"idle\"}", "{\"say\":\"busy\"}"] {
        scene.write(text);
        let seen = scene.board.read(&path, Now::read());
        ids.push(seen.drafts[0].id.expect("an id"));
    }
    assert_eq!(ids[0], ids[2]);
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn the_file_of_a_process_that_was_killed_counts_no_more() {
    let mut scene = Scene::new();
    let path = scene.path();
    scene.write("{\"say\":\"busy\"}");
    assert_eq!(scene.board.look(Now::read()), std::slice::from_ref(&path));
    scene.read(&path);
    assert!(scene.board.widows().is_empty());
    scene.kill();
    assert_eq!(scene.board.widows(), std::slice::from_ref(&path));
    assert_eq!(scene.read(&path).0, [""; 0], "nobody took it away: it is no end in order");
    scene.write("{\"say\":\"left behind\"}");
    assert_eq!(scene.read(&path), (vec![], false));
    assert_eq!(scene.stats.counts().leftovers, 1);
    assert!(scene.board.look(Now::read()).is_empty(), "it is left aside");
}

#[test]
fn no_other_file_is_opened() {
    let mut scene = Scene::new();
    let pid = scene.child.id();
    // Reading from this one would never end.
    let pipe = scene.folder.path().join(format!("{pid}.key"));
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there").success());
    let link = scene.path();
    std::os::unix::fs::symlink(&pipe, &link).expect("a link");
    for path in [pipe, link, scene.folder.path().join("x.json"), PathBuf::from("/etc/1.json")] {
        assert_eq!(scene.read(&path), (vec![], false), "{}", path.display());
    }
}

#[test]
fn a_content_the_decoder_dies_of_costs_that_content_only() {
    let mut scene = Scene::new();
    let path = scene.path();
    scene.write("{\"say\":\"panic\"}");
    assert_eq!(scene.read(&path).0, [""; 0]);
    scene.write("{\"say\":\"busy\"}");
    assert_eq!(scene.read(&path).0, ["PID busy"]);
    assert_eq!(scene.stats.counts().panics, 1);
}

#[tokio::test]
async fn a_change_is_told_soon_and_the_feed_ends_at_once() {
    use linelamp_core::Trust;
    use linelamp_core::bus::Bus;
    use linelamp_core::feed::{Feed as _, FeedContext};
    use tokio_util::sync::CancellationToken;

    use super::super::{AgentFolders, StatusFeed, StatusOptions};
    use super::live::until;

    let config = tempfile::tempdir().expect("a folder");
    let folder = config.path().join("sessions");
    std::fs::create_dir(&folder).expect("a folder");
    let mut process = Command::new("sleep").arg("600").spawn().expect("a process");
    let path = folder.join(format!("{}.json", process.id()));
    std::fs::write(&path, "{\"say\":\"idle\"}").expect("written");
    let scribe = Scribe::default();
    let driver: Arc<dyn Driver> = Arc::new(scribe.clone());
    let feed = StatusFeed::new(StatusOptions {
        agents: vec![AgentFolders { driver, config: vec![config.path().to_owned()] }],
        reading: Reading::State,
        digester: Digester::new(&[1; 32]),
        stats: Arc::default(),
    });
    let (bus, cancel) = (Bus::builder().build(), CancellationToken::new());
    let publisher = bus.publisher("status", Trust::Reported);
    let context = FeedContext { publisher, cancel: cancel.clone() };
    let running = tokio::spawn(Box::new(feed).run(context));
    let has = |end: &str| lock(&scribe.told).last().is_some_and(|line| line.ends_with(end));
    until("what it says at the start", || has("idle")).await;
    std::fs::write(&path, "{\"say\":").expect("written");
    tokio::time::sleep(Duration::from_millis(40)).await;
    std::fs::write(&path, "{\"say\":\"busy\"}").expect("written");
    until("a change", || has("busy")).await;
    let other = folder.join("next");
    std::fs::write(&other, "{\"say\":\"waiting\"}").expect("written");
    std::fs::rename(&other, &path).expect("renamed");
    until("a replacement", || has("waiting")).await;
    std::fs::remove_file(&path).expect("removed");
    process.kill().expect("killed");
    process.wait().expect("waited");
    until("the end", || lock(&scribe.told).last().is_some_and(|line| line.starts_with("gone")))
        .await;
    cancel.cancel();
    running.await.expect("no panic").expect("no error");
}
