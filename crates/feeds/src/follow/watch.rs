//! What the system says about folders, and what to do where it says nothing.
//!
//! [`Watch`] asks for each folder by itself, not for a whole tree: a tree of ten thousand sessions has more
//! folders than a system lets one program watch, and only few of them ever change again. A folder that is
//! not watched is for its owner to look at now and then; the user is told once why, and what would help. What
//! is heard is kept in [`Ears`]: a bounded set of paths, or «more than I could keep, look at everything».

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use notify::event::{ModifyKind, RenameMode};
use notify::{Config, ErrorKind, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;

/// Folders that are watched at most: a system may allow no more than 8,192 to all programs of a user.
const MOST: usize = 4_096;

/// Paths that are kept until somebody takes them; beyond it everything is to be looked at.
const MOST_HEARD: usize = 16_384;

/// After a refusal nothing is asked for so long.
const PAUSE: Duration = Duration::from_secs(60);

/// Why a folder is not watched.
#[derive(Debug)]
pub(super) enum Refusal {
    /// There is no such folder any more.
    Gone,
    /// The system has no more watches to give.
    NoMoreWatches,
    /// It has no more files or watchers to give.
    NoMoreFiles,
    /// Anything else.
    Other(String),
}

/// Whoever can ask the system; it tells the [`Ears`] it was made with.
pub(super) trait Backend: Send {
    /// Asks to be told of changes right in this folder.
    fn watch(&mut self, folder: &Path) -> Result<(), Refusal>;

    /// Asks for no more of them. The folder may be gone.
    fn forget(&mut self, folder: &Path);
}

/// Makes a backend.
pub(super) type Make = Box<dyn Fn(&Arc<Ears>) -> Result<Box<dyn Backend>, Refusal> + Send>;

/// The folders that are watched.
pub(super) struct Watch {
    ears: Arc<Ears>,
    make: Make,
    backend: Option<Box<dyn Backend>>,
    /// With the time when something was last heard of each, or read in it.
    folders: HashMap<PathBuf, Instant>,
    most: usize,
    not_before: Option<Instant>,
    has_warned: bool,
}

impl Watch {
    /// Nothing is watched yet.
    pub(super) fn new(make: Make) -> Self {
        Self {
            ears: Arc::default(),
            make,
            backend: None,
            folders: HashMap::new(),
            most: MOST,
            not_before: None,
            has_warned: false,
        }
    }

    /// Where what the system says is kept.
    pub(super) fn ears(&self) -> &Arc<Ears> {
        &self.ears
    }

    /// How many folders are watched.
    pub(super) fn len(&self) -> usize {
        self.folders.len()
    }

    /// True if the folder is watched.
    pub(super) fn has(&self, folder: &Path) -> bool {
        self.folders.contains_key(folder)
    }

    /// True if the system refused a folder and was not asked again since.
    pub(super) fn is_refused(&self) -> bool {
        self.not_before.is_some()
    }

    /// Watches the folder if the system lets us. False if somebody has to look at it.
    pub(super) fn add(&mut self, folder: &Path, now: Instant) -> bool {
        if self.folders.contains_key(folder) {
            return true;
        }
        if self.folders.len() >= self.most || self.not_before.is_some_and(|then| now < then) {
            return false;
        }
        match self.ask(folder) {
            Ok(()) => {
                self.not_before = None;
                self.folders.insert(folder.to_owned(), now);
                true
            }
            Err(Refusal::Gone) => false,
            Err(refusal) => {
                self.not_before = Some(now + PAUSE);
                self.warn(folder, &refusal);
                false
            }
        }
    }

    /// Something happened in the folder: it is watched rather than the one of which nothing was heard for longest.
    pub(super) fn prefer(&mut self, folder: &Path, now: Instant) {
        if let Some(heard) = self.folders.get_mut(folder) {
            *heard = now;
        } else if self.folders.len() >= self.most
            && let Some(oldest) = self.folders.iter().min_by_key(|(_, heard)| **heard)
        {
            let oldest = oldest.0.clone();
            self.forget(&oldest);
            self.add(folder, now);
        }
    }

    /// No more folders than this are watched.
    #[cfg(all(test, unix))]
    pub(super) fn limit(&mut self, most: usize) {
        self.most = most;
    }

    /// The folder is gone, or is no longer the one that was watched.
    pub(super) fn forget(&mut self, folder: &Path) {
        if self.folders.remove(folder).is_some()
            && let Some(backend) = &mut self.backend
        {
            backend.forget(folder);
        }
    }

    fn ask(&mut self, folder: &Path) -> Result<(), Refusal> {
        if self.backend.is_none() {
            self.backend = Some((self.make)(&self.ears)?);
        }
        self.backend.as_mut().map_or(Err(Refusal::Gone), |backend| backend.watch(folder))
    }

    /// Tells once: the same is true of every other folder, and again in a minute.
    fn warn(&mut self, folder: &Path, refusal: &Refusal) {
        if std::mem::replace(&mut self.has_warned, true) {
            return;
        }
        let remedy = match refusal {
            Refusal::NoMoreWatches => {
                "raise the limit, e.g. `sysctl fs.inotify.max_user_watches=524288`"
            }
            Refusal::NoMoreFiles => {
                "raise `ulimit -n`, or the limit of watchers, e.g. `sysctl fs.inotify.max_user_instances=512`"
            }
            Refusal::Gone | Refusal::Other(_) => {
                "if the folder is on a network, nothing need be done"
            }
        };
        tracing::warn!(
            folder = %folder.display(),
            reason = %refusal,
            remedy,
            "the system does not tell of changes; files are looked at every few seconds instead"
        );
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Watch")
            .field("folders", &self.folders.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone => formatter.write_str("folder is gone"),
            Self::NoMoreWatches => formatter.write_str("no more watches are left"),
            Self::NoMoreFiles => formatter.write_str("too many open files or watchers"),
            Self::Other(text) => formatter.write_str(text),
        }
    }
}

/// What was heard since somebody asked.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Files and folders that may have changed.
    pub(super) changed: HashSet<PathBuf>,
    /// Files and folders that went away, whether or not others have their names now.
    pub(super) gone: HashSet<PathBuf>,
    /// There was more than this: everything has to be looked at.
    pub(super) is_incomplete: bool,
}

impl Heard {
    fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.gone.is_empty() && !self.is_incomplete
    }
}

/// Keeps what is heard until somebody takes it.
#[derive(Debug, Default)]
pub(super) struct Ears {
    heard: Mutex<Heard>,
    bell: Notify,
}

impl Ears {
    /// Something happened to these paths.
    pub(super) fn hear(&self, paths: impl IntoIterator<Item = PathBuf>, is_gone: bool) {
        let mut heard = self.heard();
        if !heard.is_incomplete {
            let set = if is_gone { &mut heard.gone } else { &mut heard.changed };
            set.extend(paths);
            if heard.changed.len() + heard.gone.len() > MOST_HEARD {
                heard.changed = HashSet::new();
                heard.gone = HashSet::new();
                heard.is_incomplete = true;
            }
        }
        drop(heard);
        self.bell.notify_one();
    }

    /// Nobody knows what happened.
    pub(super) fn miss(&self) {
        self.heard().is_incomplete = true;
        self.bell.notify_one();
    }

    /// Waits until there is something to take.
    pub(super) async fn wait(&self) {
        while self.heard().is_empty() {
            self.bell.notified().await;
        }
    }

    /// What was heard; nothing of it is kept.
    pub(super) fn take(&self) -> Heard {
        std::mem::take(&mut *self.heard())
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The system's own way to tell of changes.
pub(super) fn system() -> Make {
    Box::new(|ears| {
        let ears = Arc::clone(ears);
        let told = move |event| tell(&ears, event);
        let watcher = RecommendedWatcher::new(told, Config::default()).map_err(refusal)?;
        Ok(Box::new(System(watcher)) as Box<dyn Backend>)
    })
}

struct System(RecommendedWatcher);

impl Backend for System {
    fn watch(&mut self, folder: &Path) -> Result<(), Refusal> {
        self.0.watch(folder, RecursiveMode::NonRecursive).map_err(refusal)
    }

    fn forget(&mut self, folder: &Path) {
        // A folder that is gone took its watch along.
        self.0.unwatch(folder).ok();
    }
}

fn tell(ears: &Ears, event: notify::Result<notify::Event>) {
    match event {
        Ok(event) if event.need_rescan() => ears.miss(),
        Ok(event) => match event.kind {
            // Somebody reads: we do so ourselves. Both names of a renaming at once repeat what each was told of.
            EventKind::Access(_) | EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => {}
            EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From)) => {
                ears.hear(event.paths, true);
            }
            _ => ears.hear(event.paths, false),
        },
        Err(error) => {
            tracing::debug!(%error, "the system failed to tell of a change");
            ears.miss();
        }
    }
}

fn refusal(error: notify::Error) -> Refusal {
    match error.kind {
        ErrorKind::PathNotFound | ErrorKind::WatchNotFound => Refusal::Gone,
        ErrorKind::MaxFilesWatch => Refusal::NoMoreWatches,
        ErrorKind::Io(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Refusal::Gone,
            io::ErrorKind::StorageFull => Refusal::NoMoreWatches,
            _ if has_no_files(&error) => Refusal::NoMoreFiles,
            _ => Refusal::Other(error.to_string()),
        },
        kind => Refusal::Other(notify::Error::new(kind).to_string()),
    }
}

/// EMFILE and ENFILE, which have no kind of their own.
fn has_no_files(error: &io::Error) -> bool {
    cfg!(unix) && matches!(error.raw_os_error(), Some(23 | 24))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_kept_becomes_one_wish_to_look_at_everything() {
        let ears = Ears::default();
        ears.hear((0..=MOST_HEARD).map(|number| PathBuf::from(number.to_string())), false);
        ears.hear([PathBuf::from("later")], true);
        let heard = ears.take();
        assert!(heard.is_incomplete && heard.changed.is_empty() && heard.gone.is_empty());
        ears.hear([PathBuf::from("a")], false);
        let heard = ears.take();
        assert!(!heard.is_incomplete && heard.changed.len() == 1);
    }

    #[test]
    fn the_systems_own_words_for_too_much_are_understood() {
        let from = |code| refusal(notify::Error::io(io::Error::from_raw_os_error(code)));
        assert!(matches!(from(28), Refusal::NoMoreWatches), "ENOSPC");
        assert!(matches!(from(24), Refusal::NoMoreFiles), "EMFILE");
        assert!(matches!(from(23), Refusal::NoMoreFiles), "ENFILE");
        assert!(matches!(from(2), Refusal::Gone), "ENOENT");
        assert!(matches!(from(13), Refusal::Other(_)), "EACCES");
        let limit = refusal(notify::Error::new(ErrorKind::MaxFilesWatch));
        assert!(matches!(limit, Refusal::NoMoreWatches));
    }
}
