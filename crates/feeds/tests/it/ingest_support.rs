//! A store and an agent of the tests' making, and a daemon built around the feeds of intake.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use linelamp_core::bus::{Bus, Rate};
use linelamp_core::digest::Digester;
use linelamp_core::driver::{Decoded, Decoder, DecoderOptions, Driver, Raw, Reading, Source};
use linelamp_core::event::ModeChanged;
use linelamp_core::feed::{Feed, FeedContext, FeedError};
use linelamp_core::journal::{Cursor, Entry, Input, Journal, Position};
use linelamp_core::sink::{BoxError, BoxFuture};
use linelamp_core::{AgentName, Draft, SessionKey, Timestamp, Trust};
use linelamp_feeds::ingest::{
    Intake, IntakeCounts, Ledger, Pokes, SpoolFeed, SpoolHandle, SpoolOptions, WrapperFeed,
    WrapperOptions,
};
use linelamp_feeds::spool::{self, Header, Role};
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The agent of these tests.
pub(crate) const AGENT: &str = "test-agent";

/// Longest wait for something that must happen.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until `is_so`.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, wait).await.is_ok(), "{what} did not happen");
}

/// What a test's agent writes: `{"session":…,"mode":…}`; `panic` fails the decoder, `nothing` means nothing.
#[derive(Debug, Default)]
pub(crate) struct TestDriver {
    /// How often a decoder was asked.
    pub(crate) asked: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct TestDecoder(Arc<AtomicUsize>);

impl Driver for TestDriver {
    fn agent(&self) -> AgentName {
        AGENT.into()
    }

    fn is_program(&self, name: &str) -> bool {
        name == AGENT
    }

    fn decoder(&self, source: Source, _: DecoderOptions) -> Option<Box<dyn Decoder>> {
        (source == Source::Hook)
            .then(|| Box::new(TestDecoder(Arc::clone(&self.asked))) as Box<dyn Decoder>)
    }
}

impl Decoder for TestDecoder {
    fn push(&mut self, raw: Raw<'_>, at: Timestamp, out: &mut Vec<Draft>) -> Decoded {
        self.0.fetch_add(1, Ordering::Relaxed);
        let Raw::Hook { payload, .. } = raw else { return Decoded::Malformed };
        let Ok(Value::Object(fields)) = serde_json::from_slice(payload) else {
            return Decoded::Malformed;
        };
        let word = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or("none").to_owned();
        let mode = word("mode");
        assert_ne!(mode, "panic", "as the payload asked for");
        if mode == "nothing" {
            return Decoded::Ignored;
        }
        let session = SessionKey::new(AGENT, word("session"));
        out.push(Draft::new(session, at, ModeChanged { mode, from: None }));
        Decoded::Understood
    }
}

/// A store in memory that commits when it is told to, or at once.
#[derive(Debug, Default)]
pub(crate) struct Store {
    waits: AtomicBool,
    broken: AtomicBool,
    full: AtomicBool,
    state: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    waiting: Vec<Entry>,
    committed: Vec<Position>,
    known: HashSet<Position>,
    twice: Vec<Position>,
}

impl Store {
    /// Entries wait for [`Self::commit`] from now on.
    pub(crate) fn wait(&self) {
        self.waits.store(true, Ordering::Relaxed);
    }

    /// It cannot say what it has, or it can again.
    pub(crate) fn set_broken(&self, broken: bool) {
        self.broken.store(broken, Ordering::Relaxed);
    }

    /// It takes no entry, or it does again.
    pub(crate) fn set_full(&self, full: bool) {
        self.full.store(full, Ordering::Relaxed);
    }

    /// Commits what waits.
    pub(crate) fn commit(&self) {
        let waiting = std::mem::take(&mut self.kept().waiting);
        for entry in waiting {
            self.write(entry);
        }
    }

    /// Positions handed over and not committed.
    pub(crate) fn waiting(&self) -> Vec<String> {
        let kept = self.kept();
        kept.waiting
            .iter()
            .filter_map(|entry| Some(text(entry.input.as_ref()?.position()?)))
            .collect()
    }

    /// Positions committed, in order.
    pub(crate) fn committed(&self) -> Vec<String> {
        self.kept().committed.iter().map(text).collect()
    }

    /// Positions that were published although they were known.
    pub(crate) fn twice(&self) -> Vec<String> {
        self.kept().twice.iter().map(text).collect()
    }

    fn write(&self, entry: Entry) {
        let mut kept = self.kept();
        if let Some(Input::Position(position)) = entry.input {
            if !kept.known.insert(position.clone()) {
                kept.twice.push(position.clone());
            }
            kept.committed.push(position);
        }
        drop(kept);
        if let Some(committed) = entry.committed {
            (committed.0)();
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn text(position: &Position) -> String {
    position.0.to_string()
}

/// Hands entries to the store's own thread, as a real one does.
#[derive(Debug)]
struct StoreJournal {
    store: Arc<Store>,
    queue: std::sync::mpsc::Sender<Entry>,
}

impl StoreJournal {
    fn start(store: &Arc<Store>) -> Self {
        let (queue, entries) = std::sync::mpsc::channel();
        let writer = Arc::clone(store);
        std::thread::spawn(move || entries.into_iter().for_each(|entry| writer.write(entry)));
        Self { store: Arc::clone(store), queue }
    }
}

impl Journal for StoreJournal {
    fn append(&self, entry: Entry) {
        if self.store.full.load(Ordering::Relaxed) {
            drop(entry);
        } else if self.store.waits.load(Ordering::Relaxed) {
            self.store.kept().waiting.push(entry);
        } else {
            self.queue.send(entry).expect("the store's thread lives");
        }
    }
}

impl Ledger for Store {
    fn known<'a>(
        &'a self,
        positions: &'a [Position],
    ) -> BoxFuture<'a, Result<Vec<bool>, BoxError>> {
        Box::pin(async move {
            if self.broken.load(Ordering::Relaxed) {
                return Err("store is broken".into());
            }
            let kept = self.kept();
            Ok(positions.iter().map(|position| kept.known.contains(position)).collect())
        })
    }

    fn cursors(&self, _: &str) -> BoxFuture<'_, Result<Vec<Cursor>, BoxError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

/// A state folder with the daemon's feeds on it.
pub(crate) struct Daemon {
    pub(crate) state: PathBuf,
    pub(crate) intake: Intake,
    pub(crate) asked: Arc<AtomicUsize>,
    handle: SpoolHandle,
    cancel: CancellationToken,
    feeds: Vec<JoinHandle<Result<(), FeedError>>>,
    _bus: Bus,
}

impl Daemon {
    /// Starts both feeds; without a store nothing is durable.
    pub(crate) fn start(state: &Path, store: Option<&Arc<Store>>) -> Self {
        let rate = Rate { per_second: 1e9, burst: 1e9 };
        let mut bus = Bus::builder().feed_rate(rate);
        if let Some(store) = store {
            bus = bus.journal(Arc::new(StoreJournal::start(store)));
        }
        let bus = bus.build();
        let ledger = store.map(|store| Arc::clone(store) as Arc<dyn Ledger>);
        let intake = Intake::new(ledger);
        let run = state.join("run");
        std::fs::create_dir_all(&run).expect("a folder");
        for socket in ["poke.sock", "events.sock"] {
            std::fs::remove_file(run.join(socket)).ok();
        }
        let pokes =
            std::os::unix::net::UnixDatagram::bind(run.join("poke.sock")).expect("a socket");
        let driver = TestDriver::default();
        let asked = Arc::clone(&driver.asked);
        let (spool, handle) = SpoolFeed::new(SpoolOptions {
            state: state.to_owned(),
            drivers: vec![Arc::new(driver)],
            reading: Reading::State,
            digester: Digester::new(&[1; 32]),
            wrappers: bus.publisher("wrap", Trust::Authoritative),
            intake: intake.clone(),
            pokes: Pokes::over(pokes).expect("a socket"),
        });
        let wrappers = WrapperFeed::new(WrapperOptions {
            listener: std::os::unix::net::UnixListener::bind(run.join("events.sock"))
                .expect("a socket"),
            want: Reading::State,
            intake: intake.clone(),
        });
        let cancel = CancellationToken::new();
        let run = |feed: Box<dyn Feed>, name: &str, trust| {
            let publisher = bus.publisher(name, trust);
            tokio::spawn(feed.run(FeedContext { publisher, cancel: cancel.clone() }))
        };
        let feeds = vec![
            run(Box::new(spool), "hooks", Trust::Reported),
            run(Box::new(wrappers), "wrap", Trust::Authoritative),
        ];
        Self { state: state.to_owned(), intake, asked, handle, cancel, feeds, _bus: bus }
    }

    /// Everything in the spool is taken in and durable.
    pub(crate) async fn settle(&self) {
        let settled = tokio::time::timeout(PATIENCE, self.handle.settle()).await;
        assert_eq!(settled.ok(), Some(true), "the spool did not settle");
    }

    /// A question for later.
    pub(crate) fn handle(&self) -> SpoolHandle {
        self.handle.clone()
    }

    pub(crate) fn counts(&self) -> IntakeCounts {
        self.intake.stats().counts()
    }

    /// Ends both feeds in good order.
    pub(crate) async fn stop(self) {
        self.cancel.cancel();
        for feed in self.feeds {
            feed.await.expect("no panic").expect("no error");
        }
    }
}

/// Writes a hook call's file as the client does; gives its name.
pub(crate) fn hook(state: &Path, second: i64, payload: &str) -> String {
    let at = Timestamp::from_second(1_700_000_000 + second).expect("a time");
    let mut header = Header::new(Role::Hook, AGENT.into(), at);
    header.bytes = Some(payload.len() as u64);
    spool::write(state, &header, payload.as_bytes()).expect("written")
}

/// A payload of the test's agent.
pub(crate) fn payload(session: &str, mode: &str) -> String {
    serde_json::json!({ "session": session, "mode": mode }).to_string()
}

/// Writes a wrapper's file.
pub(crate) fn wrapped(state: &Path, second: i64, instance: &str, body: &str) -> String {
    let at = Timestamp::from_second(1_700_000_000 + second).expect("a time");
    let mut header = Header::new(Role::Wrap, AGENT.into(), at);
    header.instance = Some(instance.to_owned());
    header.bytes = Some(body.len() as u64);
    spool::write(state, &header, body.as_bytes()).expect("written")
}

/// A wrapper's line with one draft.
pub(crate) fn batch(number: u64) -> String {
    let mode = ModeChanged { mode: format!("mode {number}"), from: None };
    let session = SessionKey::new(AGENT, "wrapped");
    let draft = Draft::new(session, Timestamp::from_second(1_700_000_000).expect("a time"), mode);
    format!("{{\"n\":{number},\"drafts\":[{}]}}\n", draft.to_json())
}

/// The names in the spool, without those of temporary files.
pub(crate) fn names(state: &Path) -> Vec<String> {
    folder(&state.join(spool::FOLDER), |name| !name.starts_with('.') && name != "bad")
}

/// The names in `spool/bad`.
pub(crate) fn bad(state: &Path) -> Vec<String> {
    folder(&state.join(spool::FOLDER).join("bad"), |_| true)
}

fn folder(path: &Path, which: impl Fn(&str) -> bool) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
    let mut names: Vec<_> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| which(name))
        .collect();
    names.sort_unstable();
    names
}
