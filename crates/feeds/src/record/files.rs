//! What the agent writes about itself while it is recorded: the status file of its process, and the session files
//! of the sessions that file names. Nobody else's sessions are looked into.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use linelamp_core::digest::Digester;
use linelamp_core::driver::{DecoderOptions, Driver, Raw, Reading, Source};
use linelamp_core::id::NativeId;
use linelamp_core::process::ProcessRef;
use linelamp_core::{Draft, Timestamp};

use super::folder::Folder;
use super::run::LOOK_EVERY;

/// New session files are looked for once in so many rounds.
const SEARCH_EVERY: u32 = 10;
/// Session files lie no deeper than this below their folder.
const DEEPEST: u32 = 4;

/// Where an agent writes about itself.
#[derive(Clone, Debug)]
pub struct AgentFiles {
    /// Knows what is in the files.
    pub driver: Arc<dyn Driver>,
    /// The agent's configuration folder.
    pub config: PathBuf,
}

/// Watches until the program is over and everything was taken.
pub(super) fn watch(
    folder: &Folder,
    files: &AgentFiles,
    process: ProcessRef,
    is_over: &AtomicBool,
) {
    let mut watch = Watch {
        folder,
        driver: &*files.driver,
        status: files.driver.status_folder(&files.config),
        root: files.driver.session_folder(&files.config),
        process,
        last: None,
        sessions: BTreeSet::new(),
        tails: BTreeMap::new(),
    };
    for round in 0_u32.. {
        let was_over = is_over.load(Ordering::Acquire);
        watch.status();
        if was_over || round % SEARCH_EVERY == 0 {
            watch.search();
        }
        watch.tails();
        if was_over {
            return;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

struct Watch<'a> {
    folder: &'a Folder,
    driver: &'a dyn Driver,
    status: Option<PathBuf>,
    root: Option<PathBuf>,
    process: ProcessRef,
    /// The status file's name and what it held last.
    last: Option<(String, Vec<u8>)>,
    sessions: BTreeSet<NativeId>,
    /// Session files by their path below the session folder, and how far each was read.
    tails: BTreeMap<String, u64>,
}

impl Watch<'_> {
    fn status(&mut self) {
        let Some(status) = &self.status else { return };
        let entries = std::fs::read_dir(status).into_iter().flatten().flatten();
        let own = entries
            .filter(|entry| self.driver.status_file(&entry.file_name()) == Some(self.process.pid))
            .find_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())));
        let Some((name, path)) = own else {
            if let Some((name, _)) = self.last.take() {
                self.folder.report(&name, None);
            }
            return;
        };
        let Ok(bytes) = std::fs::read(path) else { return };
        let is_whole = serde_json::from_slice::<serde::de::IgnoredAny>(&bytes).is_ok();
        if !is_whole || self.last.as_ref().is_some_and(|(_, last)| *last == bytes) {
            return;
        }
        self.folder.report(&name, Some(&bytes));
        self.sessions.extend(self.session(&bytes));
        self.last = Some((name, bytes));
    }

    /// The session that a status file names.
    fn session(&self, bytes: &[u8]) -> Option<NativeId> {
        // No digest leaves this function.
        let options = DecoderOptions::new(Reading::State, Digester::new(&[0; 32]));
        let mut decoder = self.driver.decoder(Source::Status, options)?;
        let mut drafts: Vec<Draft> = Vec::new();
        decoder.push(Raw::Report { bytes }, Timestamp::now(), &mut drafts);
        decoder.session()
    }

    fn search(&mut self) {
        if let (Some(root), false) = (self.root.clone(), self.sessions.is_empty()) {
            self.search_in(&root, &root, DEEPEST);
        }
    }

    fn search_in(&mut self, root: &Path, folder: &Path, depth: u32) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && depth > 1 {
                self.search_in(root, &path, depth - 1);
                continue;
            }
            let Ok(below) = path.strip_prefix(root) else { continue };
            let file = self.driver.session_file(below);
            if file.is_some_and(|file| self.sessions.contains(&file.session))
                && let Some(name) = below.to_str()
            {
                self.tails.entry(name.to_owned()).or_default();
            }
        }
    }

    /// Takes the whole lines that were added.
    fn tails(&mut self) {
        let Some(root) = &self.root else { return };
        for (name, read) in &mut self.tails {
            let Ok(more) = read_from(&root.join(name.as_str()), *read) else { continue };
            for line in more.split_inclusive(|byte| *byte == b'\n') {
                if let Some(whole) = line.strip_suffix(b"\n") {
                    self.folder.record(name, whole);
                    *read += line.len() as u64;
                }
            }
        }
    }
}

fn read_from(path: &Path, from: u64) -> std::io::Result<Vec<u8>> {
    let mut file = std::fs::File::open(path)?;
    let mut more = Vec::new();
    if file.metadata()?.len() > from {
        file.seek(SeekFrom::Start(from))?;
        file.read_to_end(&mut more)?;
    }
    Ok(more)
}
