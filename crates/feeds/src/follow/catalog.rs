//! All session files there are, and which of them to read.
//!
//! The catalog lists folders, remembers size and time of each session file, and says which files have something
//! new: because the system told of a change, or because a look at the file shows it. It waits for nothing and
//! publishes nothing; time is an argument.

use std::collections::HashMap;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use linelamp_core::Timestamp;
use linelamp_core::journal::Cursor;

use super::followed::{Batch, Begin, Followed, Means, Now, PREFIX, Place, modified};
use super::mark::Mark;
use super::root::Root;
use super::watch::{Ears, Heard, Make, Watch};

/// Folders below a root that are looked into.
const DEEPEST: usize = 6;

/// Files that were changed within this time before the start are read for how things stand…
const FRESH: Duration = Duration::from_secs(24 * 60 * 60);
/// …but no more of them than this, the newest.
const MOST_FRESH: usize = 1_000;

/// A file changed within this time is likely to change again.
const LIVELY: Duration = Duration::from_secs(60 * 60);

/// A folder that changes so soon after it was listed may have done so before: clocks of files are coarse. Also
/// how much older than our start a file may seem that came to be after it.
const COARSE: Duration = Duration::from_secs(2);

/// A decoder that had nothing to do for so long is given up.
const QUIET: Duration = Duration::from_secs(60 * 60);
/// With more decoders than this, half of them are given up.
const MOST_OPEN: usize = 256;

/// Which files and folders to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// What nobody would tell about, and is likely to change.
    Unwatched,
    /// What is likely to change.
    Lively,
    /// All.
    All,
}

/// All session files below some roots.
#[derive(Debug)]
pub(super) struct Catalog {
    roots: Vec<Root>,
    files: HashMap<PathBuf, Followed>,
    folders: HashMap<PathBuf, Folder>,
    marks: HashMap<PathBuf, Mark>,
    watch: Watch,
    means: Means,
    /// How many decoders are open.
    open: usize,
    began: Timestamp,
    has_begun: bool,
}

#[derive(Debug)]
struct Folder {
    root: usize,
    depth: usize,
    /// As it was when it was listed; unknown if it may have changed since without showing it.
    modified: Option<Timestamp>,
}

impl Catalog {
    /// An empty catalog.
    pub(super) fn new(roots: Vec<Root>, means: Means, make: Make, now: Now) -> Self {
        Self {
            roots,
            files: HashMap::new(),
            folders: HashMap::new(),
            marks: HashMap::new(),
            watch: Watch::new(make),
            means,
            open: 0,
            began: now.wall,
            has_begun: false,
        }
    }

    /// No more folders than this are watched.
    #[cfg(all(test, unix))]
    pub(super) fn limit_watches(&mut self, most: usize) {
        self.watch.limit(most);
    }

    /// Where what the system says is kept.
    pub(super) fn ears(&self) -> &Arc<Ears> {
        self.watch.ears()
    }

    /// Lists everything, goes on from what earlier daemons read, and gives the files to read: those that have
    /// grown since, then the others that tell how things stand, newest first.
    pub(super) fn begin(&mut self, marks: HashMap<PathBuf, Mark>, now: Now) -> Vec<PathBuf> {
        self.marks = marks;
        let mut found = Vec::new();
        for root in 0..self.roots.len() {
            self.list(self.roots[root].path.clone(), root, 0, now, &mut found);
        }
        found.sort_by_cached_key(|path| {
            let file = &self.files[path];
            (file.is_past(), std::cmp::Reverse(file.modified()))
        });
        let past = found.iter().filter(|path| self.files[*path].is_past()).count();
        for path in found.drain(found.len() - past.saturating_sub(MOST_FRESH)..) {
            self.files.get_mut(&path).expect("it was found").skip_past();
        }
        self.has_begun = true;
        for folder in self.newest_folders(now) {
            self.watch.add(&folder, now.instant);
        }
        // Whatever changed before the folders were watched.
        found.extend(self.look(Look::All, now));
        found
    }

    /// All folders, roots first, then those in which something was changed last: there may be more than the system
    /// lets us watch.
    fn newest_folders(&self, now: Now) -> Vec<PathBuf> {
        let mut newest: HashMap<&Path, Timestamp> = HashMap::new();
        for (path, folder) in &self.folders {
            newest.insert(path, folder.modified.unwrap_or(now.wall));
        }
        for (path, file) in &self.files {
            if let (Some(folder), Some(modified)) = (path.parent(), file.modified())
                && let Some(known) = newest.get_mut(folder)
            {
                *known = modified.max(*known);
            }
        }
        let mut folders: Vec<_> = self.folders.iter().collect();
        folders.sort_by_cached_key(|(path, folder)| {
            (folder.depth > 0, std::cmp::Reverse(newest.get(path.as_path()).copied()))
        });
        folders.into_iter().map(|(path, _)| path.clone()).collect()
    }

    /// True if something has to be looked at every few seconds.
    pub(super) fn needs_polling(&self) -> bool {
        self.watch.len() < self.folders.len()
            || self.roots.iter().any(|root| !self.folders.contains_key(&root.path))
    }

    /// True if the system has refused to tell of changes.
    pub(super) fn is_refused(&self) -> bool {
        self.watch.is_refused()
    }

    /// True if a file is a subagent's.
    pub(super) fn is_child(&self, path: &Path) -> bool {
        self.files.get(path).is_some_and(Followed::is_child)
    }

    /// Takes what the system says; gives the files to read.
    pub(super) fn hear(&mut self, heard: Heard, now: Now) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for path in heard.gone {
            if self.folders.contains_key(&path) {
                self.drop_folder(&path);
                found.extend(self.meet_path(&path, now));
            } else if self.files.contains_key(&path) {
                // Another may have its name now.
                found.push(path);
            }
        }
        for path in heard.changed {
            if self.files.contains_key(&path) {
                found.push(path);
            } else if !self.folders.contains_key(&path) {
                found.extend(self.meet_path(&path, now));
            }
        }
        if heard.is_incomplete {
            self.means.stats.overflows.add(1);
            tracing::info!("the system told less than everything; all session files are looked at");
            for folder in self.folders.values_mut() {
                folder.modified = None;
            }
            found.extend(self.look(Look::All, now));
        }
        self.count();
        found
    }

    /// Looks at files and folders; gives the files to read.
    pub(super) fn look(&mut self, which: Look, now: Now) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for root in 0..self.roots.len() {
            let path = &self.roots[root].path;
            if !self.folders.contains_key(path) && path.is_dir() {
                self.list(path.clone(), root, 0, now, &mut found);
            }
        }
        let is_lively = |modified| age(now.wall, modified).is_none_or(|age| age < LIVELY);
        let folders: Vec<PathBuf> = self
            .folders
            .iter()
            .filter(|(path, folder)| match which {
                Look::All => true,
                Look::Lively => is_lively(folder.modified),
                Look::Unwatched => !self.watch.has(path) && is_lively(folder.modified),
            })
            .map(|(path, _)| path.clone())
            .collect();
        for path in folders {
            self.look_at_folder(path, now, &mut found);
        }
        let mut gone = Vec::new();
        for (path, file) in &self.files {
            let is_due = match which {
                Look::All => true,
                Look::Lively => is_lively(file.modified()),
                Look::Unwatched => {
                    is_lively(file.modified())
                        && !path.parent().is_some_and(|folder| self.watch.has(folder))
                }
            };
            if !is_due {
                continue;
            }
            match std::fs::metadata(path) {
                Ok(metadata) if file.differs(&metadata) => found.push(path.clone()),
                Ok(_) => {}
                Err(_) => gone.push(path.clone()),
            }
        }
        for path in gone {
            self.files.remove(&path);
        }
        self.count();
        found
    }

    /// Reads on in a file.
    pub(super) fn read(&mut self, path: &Path, now: Now) -> Batch {
        let Some(file) = self.files.get_mut(path) else { return Batch::default() };
        let was_open = file.is_open();
        let read = file.read(path, &mut self.means, now);
        let gone = matches!(&read, Err(error) if error.kind() == io::ErrorKind::NotFound);
        let batch = match read {
            Ok(batch) => batch,
            Err(_) if gone => file.close(path, now),
            Err(error) => {
                self.means.stats.unreadable.add(1);
                tracing::debug!(file = %path.display(), %error, "session file cannot be read");
                Batch::default()
            }
        };
        if batch.is_news
            && let Some(folder) = path.parent()
        {
            // Never at the cost of a root, in which new folders show.
            for root in &self.roots {
                self.watch.prefer(&root.path, now.instant);
            }
            self.watch.prefer(folder, now.instant);
        }
        self.open = self.open + usize::from(file.is_open()) - usize::from(was_open);
        if gone {
            self.files.remove(path);
        }
        self.means.stats.decoders.set(self.open);
        batch
    }

    /// True if it is time to give decoders up.
    pub(super) fn has_many_open(&self) -> bool {
        self.open > MOST_OPEN
    }

    /// Goes back to a place whose batch was refused.
    pub(super) fn go_back(&mut self, path: &Path, place: Place) {
        if let Some(file) = self.files.get_mut(path) {
            self.means.stats.given_back.add(1);
            file.go_back(place);
        }
    }

    /// Gives up decoders that have nothing to do, and half of them if there are too many.
    pub(super) fn tidy(&mut self, now: Now) -> Vec<Batch> {
        let mut open: Vec<_> = self
            .files
            .iter()
            .filter(|(_, file)| file.is_open())
            .map(|(path, file)| (file.used(), path.clone()))
            .collect();
        open.sort();
        let excess = if open.len() > MOST_OPEN { open.len() - MOST_OPEN / 2 } else { 0 };
        let quiet =
            open.partition_point(|(used, _)| now.instant.saturating_duration_since(*used) >= QUIET);
        self.open = open.len() - quiet.max(excess);
        self.means.stats.decoders.set(self.open);
        open.truncate(quiet.max(excess));
        let closed = open.into_iter().filter_map(|(_, path)| {
            let batch = self.files.get_mut(&path)?.close(&path, now);
            (!batch.drafts.is_empty()).then_some(batch)
        });
        closed.collect()
    }

    /// A path that is neither a known file nor a known folder.
    fn meet_path(&mut self, path: &Path, now: Now) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for root in 0..self.roots.len() {
            let Ok(below) = path.strip_prefix(&self.roots[root].path) else { continue };
            let depth = below.components().count();
            if self.roots[root].driver.session_file(below).is_some() {
                if let Ok(metadata) = std::fs::metadata(path) {
                    found.extend(self.meet_file(path.to_owned(), root, &metadata, now));
                }
            } else if depth <= DEEPEST && path.is_dir() {
                self.list(path.to_owned(), root, depth, now, &mut found);
            }
            break;
        }
        found
    }

    /// A session file that a list shows. Gives it back if there is something to read.
    fn meet_file(
        &mut self,
        path: PathBuf,
        root: usize,
        metadata: &Metadata,
        now: Now,
    ) -> Option<PathBuf> {
        if let Some(known) = self.files.get(&path) {
            return known.differs(metadata).then_some(path);
        }
        if !metadata.is_file() {
            return None;
        }
        let root = &self.roots[root];
        let driver = Arc::clone(&root.driver);
        let file = driver.session_file(path.strip_prefix(&root.path).ok()?)?;
        let (begin, is_due) = self.begin_of(&path, metadata, now);
        self.files.insert(path.clone(), Followed::new(driver, file, begin, metadata, now));
        is_due.then_some(path)
    }

    /// Where to begin with a file that was not seen before, and whether to begin now.
    fn begin_of(&mut self, path: &Path, metadata: &Metadata, now: Now) -> (Begin, bool) {
        let modified = modified(metadata);
        if let Some(mark) = self.marks.remove(path) {
            let is_later = modified.is_none_or(|modified| modified >= mark.at);
            return (Begin::Mark(mark), mark.offset != metadata.len() || is_later);
        }
        // What is moved here while we look happened before.
        let is_old = age(self.began, modified).is_some_and(|age| age > COARSE);
        if self.has_begun && !is_old {
            return (Begin::News, true);
        }
        let is_fresh = age(now.wall, modified).is_none_or(|age| age < FRESH);
        if is_fresh { (Begin::Past, true) } else { (Begin::End, false) }
    }

    /// Lists a folder and all below it that are not known. Watches first, so that nothing comes between.
    fn list(
        &mut self,
        top: PathBuf,
        root: usize,
        depth: usize,
        now: Now,
        found: &mut Vec<PathBuf>,
    ) {
        let mut waiting = vec![(top, depth)];
        while let Some((folder, depth)) = waiting.pop() {
            if self.has_begun {
                self.watch.add(&folder, now.instant);
            }
            let metadata = std::fs::metadata(&folder);
            let (Ok(metadata), Ok(entries)) = (metadata, std::fs::read_dir(&folder)) else {
                self.watch.forget(&folder);
                continue;
            };
            // The clock of the file system is as good as ours only after a while.
            let modified = modified(&metadata)
                .filter(|then| age(now.wall, Some(*then)).is_some_and(|age| age > COARSE));
            self.folders.insert(folder, Folder { root, depth, modified });
            for entry in entries.flatten() {
                let (Ok(kind), path) = (entry.file_type(), entry.path()) else { continue };
                let is_folder = kind.is_dir() || (kind.is_symlink() && path.is_dir());
                if is_folder {
                    if depth < DEEPEST && !self.folders.contains_key(&path) {
                        waiting.push((path, depth + 1));
                    }
                } else if self.is_session_file(&path, root)
                    && let Ok(metadata) = std::fs::metadata(&path)
                {
                    found.extend(self.meet_file(path, root, &metadata, now));
                }
            }
        }
    }

    fn is_session_file(&self, path: &Path, root: usize) -> bool {
        let root = &self.roots[root];
        let below = path.strip_prefix(&root.path);
        below.is_ok_and(|below| root.driver.session_file(below).is_some())
    }

    fn look_at_folder(&mut self, path: PathBuf, now: Now, found: &mut Vec<PathBuf>) {
        let Some(folder) = self.folders.get(&path) else { return };
        let (root, depth) = (folder.root, folder.depth);
        match std::fs::metadata(&path) {
            Ok(metadata) => {
                if folder.modified.is_none() || folder.modified != modified(&metadata) {
                    self.list(path, root, depth, now, found);
                } else if !self.watch.has(&path) {
                    self.watch.add(&path, now.instant);
                }
            }
            Err(_) => self.drop_folder(&path),
        }
    }

    /// A folder is gone with all below it. Its files are dropped when somebody looks for them.
    fn drop_folder(&mut self, path: &Path) {
        let below: Vec<PathBuf> =
            self.folders.keys().filter(|folder| folder.starts_with(path)).cloned().collect();
        for folder in below {
            self.folders.remove(&folder);
            self.watch.forget(&folder);
        }
    }

    fn count(&self) {
        let stats = &self.means.stats;
        stats.files.set(self.files.len());
        stats.folders.set(self.folders.len());
        stats.watched.set(self.watch.len());
        stats.polling.set(usize::from(self.needs_polling()));
    }
}

/// How long ago something was; none if nobody knows, or if it is still to come.
fn age(now: Timestamp, then: Option<Timestamp>) -> Option<Duration> {
    let milliseconds = now.as_millisecond() - then?.as_millisecond();
    u64::try_from(milliseconds).ok().map(Duration::from_millis)
}

/// What was remembered of files, by path.
pub(super) fn marks(cursors: &[Cursor]) -> HashMap<PathBuf, Mark> {
    let mark = |cursor: &Cursor| {
        let path = cursor.source.strip_prefix(PREFIX)?;
        // A cursor that is not readable is none: the file is read like one that is seen for the first time.
        Some((PathBuf::from(path), cursor.value.parse().ok()?))
    };
    cursors.iter().filter_map(mark).collect()
}
