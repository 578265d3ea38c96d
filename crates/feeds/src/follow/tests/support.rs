//! An agent whose files hold `{"say":"…"}`, a store in memory, a system that says what it is told to, and a
//! folder with sessions in it.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use linelamp_core::digest::Digester;
use linelamp_core::driver::{
    Decoded, Decoder, DecoderOptions, Driver, Raw, Reading, SessionFile, Source,
};
use linelamp_core::event::{Body, ModeChanged, Scope};
use linelamp_core::journal::{Cursor, Entry, Input, Journal, Position};
use linelamp_core::sink::{BoxError, BoxFuture};
use linelamp_core::{AgentName, Draft, EventId, SessionKey, Timestamp};
use serde_json::Value;

use super::super::catalog::{Catalog, Look, marks};
use super::super::followed::{Means, Now};
use super::super::root::Root;
use super::super::stats::{TranscriptCounts, TranscriptStats};
use super::super::watch::{Backend, Ears, Make, Refusal};
use crate::ingest::Ledger;

pub(super) const AGENT: &str = "scribe";

/// Locks what a failed test may have left.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What decoders were given, in order: `SESSION/SCOPE TEXT`, with `past`, `gap` or `gone` in front.
pub(super) type Told = Arc<Mutex<Vec<String>>>;

/// The agent of these tests. Its files stand where Claude Code's do.
#[derive(Clone, Debug, Default)]
pub(super) struct Scribe {
    pub(super) told: Told,
    /// The files decoders were made for.
    pub(super) files: Arc<Mutex<Vec<SessionFile>>>,
}

#[derive(Debug)]
struct ScribeDecoder {
    told: Told,
    key: SessionKey,
    name: String,
}

impl Driver for Scribe {
    fn agent(&self) -> AgentName {
        AGENT.into()
    }

    fn is_program(&self, name: &str) -> bool {
        name == AGENT
    }

    fn decoder(&self, source: Source, options: DecoderOptions) -> Option<Box<dyn Decoder>> {
        let (session, name) = match (source, options.file, options.process) {
            (Source::Transcript, Some(file), _) => {
                lock(&self.files).push(file.clone());
                let scope = match &file.scope {
                    Scope::Main => "main",
                    Scope::Child(scope) => scope.as_str(),
                };
                (file.session.clone(), format!("{}/{scope}", file.session))
            }
            (Source::Status, _, process) => {
                let pid = process.map_or(0, |process| process.pid);
                (pid.to_string().into(), pid.to_string())
            }
            (Source::Transcript, None, _) => ("none".into(), String::new()),
            _ => return None,
        };
        let key = SessionKey { agent: AGENT.into(), id: session };
        Some(Box::new(ScribeDecoder { told: Arc::clone(&self.told), key, name }))
    }

    fn session_folder(&self, config: &Path) -> Option<PathBuf> {
        Some(config.join("projects"))
    }

    fn session_file(&self, path: &Path) -> Option<SessionFile> {
        let parts: Vec<&str> = path.iter().map(OsStr::to_str).collect::<Option<_>>()?;
        let (session, scope) = match parts[..] {
            [_, name] => (name.strip_suffix(".jsonl")?, Scope::Main),
            [_, session, "subagents", name] => {
                (session, Scope::Child(name.strip_suffix(".jsonl")?.into()))
            }
            _ => return None,
        };
        Some(SessionFile { session: session.into(), scope, born: None })
    }

    fn status_folder(&self, config: &Path) -> Option<PathBuf> {
        Some(config.join("sessions"))
    }

    fn status_file(&self, name: &OsStr) -> Option<u32> {
        name.to_str()?.strip_suffix(".json")?.parse().ok()
    }
}

impl Decoder for ScribeDecoder {
    fn push(&mut self, raw: Raw<'_>, at: Timestamp, out: &mut Vec<Draft>) -> Decoded {
        let (before, bytes) = match raw {
            Raw::Record { bytes, is_past: true } => ("past ", bytes),
            Raw::Report { bytes: b"" } => ("gone ", &b"{}"[..]),
            Raw::Record { bytes, .. } | Raw::Report { bytes } => ("", bytes),
            Raw::Gap { .. } => ("gap ", &b"{}"[..]),
            _ => return Decoded::Malformed,
        };
        let Ok(Value::Object(fields)) = serde_json::from_slice(bytes) else {
            return Decoded::Malformed;
        };
        let text = fields.get("say").and_then(Value::as_str).unwrap_or("");
        assert_ne!(text, "panic", "as the line asked for");
        let line = format!("{before}{} {text}", self.name);
        lock(&self.told).push(line.trim_end().to_owned());
        let mode = ModeChanged { mode: line.trim_end().to_owned(), from: None };
        let own = fields.get("at").and_then(Value::as_i64);
        let at = own.and_then(|second| Timestamp::from_second(second).ok()).unwrap_or(at);
        out.push(Draft::new(self.key.clone(), at, mode));
        Decoded::Understood
    }
}

/// One line of the agent.
pub(super) fn say(text: &str) -> String {
    format!("{{\"say\":\"{text}\"}}\n")
}

/// A store in memory.
#[derive(Debug, Default)]
pub(super) struct Keeper {
    kept: Mutex<Kept>,
    is_full: AtomicBool,
    /// So many asks fail first.
    pub(super) broken: AtomicU32,
}

#[derive(Debug, Default)]
struct Kept {
    cursors: HashMap<String, String>,
    ids: Vec<EventId>,
    modes: Vec<String>,
}

impl Keeper {
    /// Entries are refused from now on, or taken again.
    pub(super) fn set_full(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::SeqCst);
    }

    /// What was committed, in order; each event once.
    pub(super) fn modes(&self) -> Vec<String> {
        lock(&self.kept).modes.clone()
    }

    /// How many cursors there are.
    pub(super) fn cursors(&self) -> usize {
        lock(&self.kept).cursors.len()
    }
}

impl Journal for Keeper {
    fn append(&self, entry: Entry) {
        if self.is_full.load(Ordering::SeqCst) {
            return;
        }
        let mut kept = lock(&self.kept);
        if let Some(Input::Cursor(cursor)) = &entry.input {
            kept.cursors.insert(cursor.source.to_string(), cursor.value.to_string());
        }
        for event in &entry.events {
            if let Body::ModeChanged(mode) = &event.body
                && !kept.ids.contains(&event.id)
            {
                kept.ids.push(event.id);
                kept.modes.push(mode.mode.clone());
            }
        }
        drop(kept);
        if let Some(committed) = entry.committed {
            (committed.0)();
        }
    }
}

impl Ledger for Keeper {
    fn known<'a>(&'a self, _: &'a [Position]) -> BoxFuture<'a, Result<Vec<bool>, BoxError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn cursors(&self, prefix: &str) -> BoxFuture<'_, Result<Vec<Cursor>, BoxError>> {
        let is_broken = self.broken.load(Ordering::SeqCst) > 0;
        if is_broken {
            self.broken.fetch_sub(1, Ordering::SeqCst);
            return Box::pin(std::future::ready(Err("store is broken".into())));
        }
        let kept = lock(&self.kept);
        let found = kept.cursors.iter().filter(|(source, _)| source.starts_with(prefix));
        let found = found.map(|(source, value)| Cursor::new(&**source, &**value)).collect();
        Box::pin(std::future::ready(Ok(found)))
    }

    fn has_room(&self) -> bool {
        !self.is_full.load(Ordering::SeqCst)
    }
}

/// Makes the refusal for a request.
pub(super) type Refuse = fn() -> Refusal;

/// A system that tells nothing by itself and refuses what it is told to refuse.
#[derive(Clone, Debug, Default)]
pub(super) struct Quiet {
    /// The answer to every request, if it is no.
    pub(super) refuses: Arc<Mutex<Option<Refuse>>>,
    pub(super) watched: Arc<Mutex<Vec<PathBuf>>>,
}

impl Quiet {
    pub(super) fn make(&self) -> Make {
        let quiet = self.clone();
        Box::new(move |_: &Arc<Ears>| Ok(Box::new(quiet.clone()) as Box<dyn Backend>))
    }
}

impl Backend for Quiet {
    fn watch(&mut self, folder: &Path) -> Result<(), Refusal> {
        if let Some(refuse) = *lock(&self.refuses) {
            return Err(refuse());
        }
        lock(&self.watched).push(folder.to_owned());
        Ok(())
    }

    fn forget(&mut self, folder: &Path) {
        lock(&self.watched).retain(|watched| watched != folder);
    }
}

/// A configuration folder with sessions, and a catalog of it whose clock only the test moves.
pub(super) struct Scene {
    folder: tempfile::TempDir,
    pub(super) scribe: Scribe,
    pub(super) quiet: Quiet,
    pub(super) stats: Arc<TranscriptStats>,
    pub(super) catalog: Catalog,
    pub(super) now: Now,
    cursors: HashMap<String, Cursor>,
}

impl Scene {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(folder.path().join("projects/p")).expect("a folder");
        let (scribe, quiet) = (Scribe::default(), Quiet::default());
        let (stats, now) = (Arc::<TranscriptStats>::default(), Now::read());
        let catalog = catalog(folder.path(), &scribe, &quiet, &stats, now);
        Self { folder, scribe, quiet, stats, catalog, now, cursors: HashMap::new() }
    }

    /// Another daemon on the same folder, which knows the cursors of the one before.
    pub(super) fn restart(&mut self) {
        self.now = Now::read();
        self.stats = Arc::default();
        let (scribe, quiet) = (&self.scribe, &self.quiet);
        self.catalog = catalog(self.folder.path(), scribe, quiet, &self.stats, self.now);
    }

    /// The path of a file or folder below the session folder.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("projects").join(name)
    }

    pub(super) fn append(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
        let mut file = OpenOptions::new().create(true).append(true).open(path).expect("a file");
        file.write_all(text.as_ref()).expect("written");
    }

    /// Makes a file look as if it had been changed last so long ago.
    pub(super) fn age(&self, name: &str, age: Duration) {
        let file = OpenOptions::new().write(true).open(self.path(name)).expect("a file");
        file.set_modified(std::time::SystemTime::now() - age).expect("a time");
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.now.wall += time;
        self.now.instant += time;
    }

    /// Begins and reads everything there is to read; gives what decoders said of it.
    pub(super) fn begin(&mut self) -> Vec<String> {
        let cursors: Vec<Cursor> = self.cursors.values().cloned().collect();
        let found = self.catalog.begin(marks(&cursors), self.now);
        self.read(found)
    }

    /// Looks and reads.
    pub(super) fn look(&mut self, which: Look) -> Vec<String> {
        let found = self.catalog.look(which, self.now);
        self.read(found)
    }

    /// Hears of these paths and reads.
    pub(super) fn hear(&mut self, changed: &[&str], gone: &[&str]) -> Vec<String> {
        let ears = Arc::clone(self.catalog.ears());
        ears.hear(gone.iter().map(|name| self.path(name)), true);
        ears.hear(changed.iter().map(|name| self.path(name)), false);
        let found = self.catalog.hear(ears.take(), self.now);
        self.read(found)
    }

    pub(super) fn read(&mut self, mut found: Vec<PathBuf>) -> Vec<String> {
        found.sort();
        found.dedup();
        let mut said = Vec::new();
        while let Some(path) = found.pop() {
            let batch = self.catalog.read(&path, self.now);
            said.extend(batch.drafts.into_iter().map(|draft| match draft.body {
                Body::ModeChanged(mode) => mode.mode,
                other => panic!("{} is not of these tests", other.kind()),
            }));
            if let Some(cursor) = batch.cursor {
                self.cursors.insert(cursor.source.to_string(), cursor);
            }
            if batch.more {
                found.push(path);
            }
        }
        said
    }

    pub(super) fn counts(&self) -> TranscriptCounts {
        self.stats.counts()
    }
}

fn catalog(
    config: &Path,
    scribe: &Scribe,
    quiet: &Quiet,
    stats: &Arc<TranscriptStats>,
    now: Now,
) -> Catalog {
    let driver: Arc<dyn Driver> = Arc::new(scribe.clone());
    let path = driver.session_folder(config).expect("it has one");
    let means = Means {
        reading: Reading::State,
        digester: Digester::new(&[1; 32]),
        stats: Arc::clone(stats),
        buffer: Vec::new(),
    };
    Catalog::new(vec![Root { driver, path }], means, quiet.make(), now)
}

/// What is logged at level WARN while `work` runs on this thread.
pub(super) fn warnings(work: impl FnOnce()) -> Vec<String> {
    let found = Arc::new(Mutex::new(Vec::new()));
    tracing::subscriber::with_default(Warnings(Arc::clone(&found)), work);
    std::mem::take(&mut *lock(&found))
}

struct Warnings(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Warnings {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() == tracing::Level::WARN
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::Id {
        tracing::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::Id, _: &tracing::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        struct Text(String);
        impl tracing::field::Visit for Text {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                write!(self.0, "{field}={value:?} ").expect("a String");
            }
        }
        let mut text = Text(String::new());
        event.record(&mut text);
        lock(&self.0).push(text.0);
    }

    fn enter(&self, _: &tracing::Id) {}

    fn exit(&self, _: &tracing::Id) {}
}
