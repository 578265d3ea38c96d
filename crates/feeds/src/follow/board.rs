//! What running processes say of themselves: one small file each, replaced again and again.
//!
//! A file counts while the process it is named after runs. A file that is not whole is read once more; content
//! that was told already is not told again. Only files that the driver calls status files are ever looked at:
//! beside them lie others that hold secrets.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use linelamp_core::digest::Digester;
use linelamp_core::driver::{Decoded, Decoder, DecoderOptions, Driver, Raw, Reading, Source};
use linelamp_core::process::ProcessRef;
use linelamp_core::{Draft, Timestamp};

use super::followed::Now;
use super::mark::Fnv;
use super::naming::name;
use super::root::Root;
use super::stats::StatusStats;
use super::watch::{Ears, Heard, Make, Watch};
use crate::process;

/// A status file is a few hundred bytes.
const LONGEST: u64 = 1 << 20;

/// All status files of some folders.
#[derive(Debug)]
pub(super) struct Board {
    roots: Vec<Root>,
    files: HashMap<PathBuf, Status>,
    /// Files of processes that are gone.
    leftovers: HashSet<PathBuf>,
    watch: Watch,
    reading: Reading,
    digester: Digester,
    stats: Arc<StatusStats>,
    /// False where the system shows no processes: then every file counts.
    sees_processes: bool,
}

/// What one running process said last.
#[derive(Debug)]
struct Status {
    process: ProcessRef,
    digest: u64,
    size: u64,
    modified: Option<SystemTime>,
    decoder: Option<Box<dyn Decoder>>,
}

/// What a look at one file gave.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) drafts: Vec<Draft>,
    /// It was not whole: somebody writes it at this moment.
    pub(super) is_partial: bool,
    /// It is gone and its process is not yet: it ends in order, or writes the file anew.
    pub(super) is_leaving: bool,
}

impl Board {
    /// Nothing is known yet.
    pub(super) fn new(
        roots: Vec<Root>,
        reading: Reading,
        digester: Digester,
        stats: Arc<StatusStats>,
        make: Make,
    ) -> Self {
        Self {
            roots,
            files: HashMap::new(),
            leftovers: HashSet::new(),
            watch: Watch::new(make),
            reading,
            digester,
            stats,
            sees_processes: process::stat(std::process::id()).is_some(),
        }
    }

    /// Where what the system says is kept.
    pub(super) fn ears(&self) -> &Arc<Ears> {
        self.watch.ears()
    }

    /// True if no system tells about some folder.
    pub(super) fn needs_polling(&self) -> bool {
        self.watch.len() < self.roots.len()
    }

    /// The files to look at, of those that the system tells about.
    pub(super) fn hear(&mut self, heard: Heard, now: Now) -> Vec<PathBuf> {
        for path in &heard.gone {
            if self.roots.iter().any(|root| root.path == *path) {
                self.watch.forget(path);
            }
        }
        let mut found: Vec<_> =
            heard.gone.into_iter().chain(heard.changed).filter(|path| self.is_ours(path)).collect();
        if heard.is_incomplete {
            found.extend(self.look(now));
        }
        found
    }

    /// Looks at all folders; gives the files that are not as they were.
    pub(super) fn look(&mut self, now: Now) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut there = HashSet::new();
        for root in &self.roots {
            if !self.watch.has(&root.path) && root.path.is_dir() {
                self.watch.add(&root.path, now.instant);
            }
            let Ok(entries) = std::fs::read_dir(&root.path) else { continue };
            for entry in entries.flatten() {
                if root.driver.status_file(&entry.file_name()).is_none() {
                    continue;
                }
                let path = entry.path();
                let differs = entry.metadata().is_ok_and(|metadata| {
                    self.files.get(&path).is_none_or(|status| {
                        status.size != metadata.len() || status.modified != metadata.modified().ok()
                    })
                });
                if differs && !self.leftovers.contains(&path) {
                    found.push(path.clone());
                }
                there.insert(path);
            }
        }
        self.leftovers.retain(|path| there.contains(path));
        found.extend(self.files.keys().filter(|path| !there.contains(*path)).cloned());
        self.stats.polling.set(usize::from(self.needs_polling()));
        found
    }

    /// The files whose processes are gone.
    pub(super) fn widows(&self) -> Vec<PathBuf> {
        let is_gone = |status: &Status| self.running(status.process.pid) != Some(status.process);
        self.files
            .iter()
            .filter(|(_, status)| self.sees_processes && is_gone(status))
            .map(|(path, _)| path.clone())
            .collect()
    }

    /// Looks at one file.
    pub(super) fn read(&mut self, path: &Path, now: Now) -> Seen {
        let mut seen = Seen::default();
        let Some((driver, pid)) = self.owner(path) else { return seen };
        let process = self.running(pid);
        let content = content(path);
        if let Some(status) = self.files.get(path)
            && process != Some(status.process)
        {
            if content.is_none() {
                self.close(path, &mut seen.drafts, now);
            } else {
                // It was killed, else it would have taken its file away. Whoever looks at processes tells so.
                self.files.remove(path);
                self.stats.files.set(self.files.len());
            }
        }
        let Some((metadata, bytes)) = content else {
            seen.is_leaving = self.files.contains_key(path);
            return seen;
        };
        let Some(process) = process else {
            // A process that was killed leaves its file behind.
            if self.leftovers.insert(path.to_owned()) {
                self.stats.leftovers.add(1);
            }
            return seen;
        };
        self.leftovers.remove(path);
        let mut hash = Fnv::default();
        hash.add(&bytes);
        let (size, modified) = (metadata.len(), metadata.modified().ok());
        if let Some(status) = self.files.get_mut(path)
            && status.digest == hash.0
        {
            (status.size, status.modified) = (size, modified);
            return seen;
        }
        if serde_json::from_slice::<serde::de::IgnoredAny>(&bytes).is_err() {
            seen.is_partial = true;
            return seen;
        }
        let status = self.files.entry(path.to_owned()).or_insert_with(|| Status {
            process,
            digest: 0,
            size: 0,
            modified: None,
            decoder: None,
        });
        (status.digest, status.size, status.modified) = (hash.0, size, modified);
        if status.decoder.is_none() {
            let options = DecoderOptions::new(self.reading, self.digester.clone());
            let options = DecoderOptions { process: Some(process), ..options };
            status.decoder = driver.decoder(Source::Status, options);
        }
        push(path, status, &bytes, hash.0, &self.stats, &mut seen.drafts, now);
        self.stats.files.set(self.files.len());
        seen
    }

    /// The process says no more.
    fn close(&mut self, path: &Path, drafts: &mut Vec<Draft>, now: Now) {
        let Some(mut status) = self.files.remove(path) else { return };
        push(path, &mut status, b"", Fnv::default().0, &self.stats, drafts, now);
        self.stats.files.set(self.files.len());
    }

    fn is_ours(&self, path: &Path) -> bool {
        self.owner(path).is_some()
    }

    /// Whose status file it is; none for any other file.
    fn owner(&self, path: &Path) -> Option<(Arc<dyn Driver>, u32)> {
        let (folder, name) = (path.parent()?, path.file_name()?);
        let root = self.roots.iter().find(|root| root.path == folder)?;
        Some((Arc::clone(&root.driver), root.driver.status_file(name)?))
    }

    /// The process that has this number now.
    fn running(&self, pid: u32) -> Option<ProcessRef> {
        if !self.sees_processes {
            return Some(ProcessRef { pid, start: None });
        }
        // A dead child that nobody has waited for has a number, and says nothing any more.
        let stat = process::stat(pid).filter(|stat| !matches!(stat.state, b'Z' | b'X'))?;
        Some(ProcessRef { pid, start: Some(stat.start) })
    }
}

/// The file as it is now; none if it is gone, or no file.
fn content(path: &Path) -> Option<(std::fs::Metadata, Vec<u8>)> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    if !metadata.is_file() {
        return None;
    }
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?.take(LONGEST).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().ok().map(|bytes| (metadata, bytes))
}

fn push(
    path: &Path,
    status: &mut Status,
    bytes: &[u8],
    digest: u64,
    counts: &StatusStats,
    drafts: &mut Vec<Draft>,
    now: Now,
) {
    let Some(decoder) = &mut status.decoder else { return };
    let before = drafts.len();
    // A decoder that panicked is thrown away, so nobody sees what it left half done.
    let pushed =
        catch_unwind(AssertUnwindSafe(|| decoder.push(Raw::Report { bytes }, now.wall, drafts)));
    counts.reports.add(1);
    match pushed {
        Ok(Decoded::Understood) => counts.understood.add(1),
        Ok(Decoded::Ignored) => counts.ignored.add(1),
        Ok(Decoded::Native) => counts.native.add(1),
        Ok(Decoded::Malformed) => counts.malformed.add(1),
        Err(_) => {
            counts.panics.add(1);
            tracing::error!(file = %path.display(), "decoder failed on a status file");
            status.decoder = None;
            drafts.truncate(before);
        }
    }
    let place = [status.process.start.unwrap_or_default(), digest];
    name(&mut drafts[before..], path, place, Timestamp::UNIX_EPOCH, now.wall);
    counts.drafts.add((drafts.len() - before) as u64);
}
