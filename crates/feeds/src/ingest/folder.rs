//! The spool folder from the daemon's side: names in order, reading, deleting, putting aside.
//!
//! Everything here blocks and is called off the runtime. Whatever lies in the folder under a spool name may
//! be anything: a folder, a pipe, a link, somebody's film collection.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::spool::{
    Dropped, FAILED, FOLDER, Limits, bad_folder, is_spool_name, sweep_bad, take_dropped,
};

/// So many of them are kept, the newest.
const MOST_BAD: usize = 64;
/// No client writes a larger file.
const LARGEST_FILE: u64 = 80 << 20;

/// A file's name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Name {
    /// As the client gave it; it is the file's position, whatever happened to it since.
    pub(super) base: Arc<str>,
    /// A decoder has failed on it once.
    pub(super) failed: bool,
}

impl Name {
    fn read(name: &str) -> Option<Self> {
        let (base, failed) = match name.strip_suffix(FAILED) {
            Some(base) => (base, true),
            None => (name, false),
        };
        is_spool_name(base.as_ref()).then(|| Self { base: base.into(), failed })
    }

    fn file(&self) -> String {
        format!("{}{}", self.base, if self.failed { FAILED } else { "" })
    }
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    #[error("file is gone")]
    Gone,
    #[error("no plain file")]
    NoFile,
    #[error("file has {0} bytes, more than any client writes")]
    TooLarge(u64),
    #[error("file cannot be read")]
    Read(#[source] io::Error),
}

/// The spool folder.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    state: PathBuf,
    path: PathBuf,
}

impl Folder {
    pub(super) fn new(state: &Path) -> Self {
        Self { state: state.to_owned(), path: state.join(FOLDER) }
    }

    /// All whole files, oldest first. A folder that is not there is empty.
    pub(super) fn list(&self) -> io::Result<Vec<Name>> {
        let entries = match std::fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut names: Vec<_> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str().and_then(Name::read))
            .collect();
        names.sort_unstable();
        Ok(names)
    }

    /// What clients dropped because of the spool's limits, since this was last asked.
    pub(super) fn take_dropped(&self) -> Vec<Dropped> {
        take_dropped(&self.state)
    }

    /// Reads one file.
    pub(super) fn read(&self, name: &Name) -> Result<Vec<u8>, ReadError> {
        let gone = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => ReadError::Gone,
            _ => ReadError::Read(error),
        };
        let path = self.path.join(name.file());
        // A pipe would be waited for and a link may lead anywhere.
        if !path.symlink_metadata().map_err(gone)?.is_file() {
            return Err(ReadError::NoFile);
        }
        let file = std::fs::File::open(&path).map_err(gone)?;
        let size = file.metadata().map_err(ReadError::Read)?.len();
        if size > LARGEST_FILE {
            return Err(ReadError::TooLarge(size));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        file.take(LARGEST_FILE).read_to_end(&mut bytes).map_err(ReadError::Read)?;
        Ok(bytes)
    }

    /// Deletes files that are taken in.
    pub(super) fn delete(&self, names: &[Name]) {
        for name in names {
            let path = self.path.join(name.file());
            if let Err(error) = std::fs::remove_file(&path)
                && error.kind() != io::ErrorKind::NotFound
            {
                tracing::warn!(path = %path.display(), %error, "spool file cannot be deleted");
            }
        }
    }

    /// Remembers across restarts that a decoder failed on the file.
    pub(super) fn mark_failed(&self, name: &Name) -> io::Result<()> {
        let marked = Name { base: Arc::clone(&name.base), failed: true };
        std::fs::rename(self.path.join(name.file()), self.path.join(marked.file()))
    }

    /// Moves a file where it is not taken again, and keeps only the newest of those.
    pub(super) fn put_aside(&self, name: &Name) -> io::Result<()> {
        let bad = bad_folder(&self.state)?;
        std::fs::rename(self.path.join(name.file()), bad.join(name.file()))?;
        let mut kept: Vec<PathBuf> =
            std::fs::read_dir(&bad)?.flatten().map(|entry| entry.path()).collect();
        kept.sort_unstable();
        let too_many = kept.len().saturating_sub(MOST_BAD);
        for path in kept.drain(..too_many) {
            // A folder of that name stays; it is nobody's spool file.
            std::fs::remove_file(path).ok();
        }
        sweep_bad(&self.state, Limits::default());
        Ok(())
    }

    /// Deletes what was put aside too long ago.
    pub(super) fn tidy(&self) {
        sweep_bad(&self.state, Limits::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(second: u64) -> String {
        format!("{second:020}-{:010}-{:016x}", 7, 9)
    }

    #[test]
    fn only_spool_names_are_listed_oldest_first_and_a_failed_file_keeps_its_place() {
        let state = tempfile::tempdir().expect("a folder");
        let folder = Folder::new(state.path());
        assert_eq!(folder.list().expect("nothing yet"), []);
        std::fs::create_dir(state.path().join(FOLDER)).expect("a folder");
        for file in [name(3), name(1), name(2), format!(".{}", name(4)), "bad".into(), "x~1".into()]
        {
            std::fs::write(state.path().join(FOLDER).join(file), b"x").expect("a file");
        }
        let names = folder.list().expect("names");
        folder.mark_failed(&names[1]).expect("marked");
        let bases: Vec<_> = folder
            .list()
            .expect("names")
            .into_iter()
            .map(|name| (name.base.to_string(), name.failed))
            .collect();
        assert_eq!(bases, [(name(1), false), (name(2), true), (name(3), false)]);
    }

    #[test]
    fn what_is_put_aside_is_bounded_and_the_newest_stay() {
        let state = tempfile::tempdir().expect("a folder");
        let folder = Folder::new(state.path());
        std::fs::create_dir(state.path().join(FOLDER)).expect("a folder");
        for second in 0..70 {
            std::fs::write(state.path().join(FOLDER).join(name(second)), b"x").expect("a file");
        }
        for name in folder.list().expect("names") {
            folder.put_aside(&name).expect("put aside");
        }
        let bad = bad_folder(state.path()).expect("a folder");
        let mut kept: Vec<_> = std::fs::read_dir(bad)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        kept.sort_unstable();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let bad = state.path().join(FOLDER).join("bad");
            assert_eq!(bad.metadata().expect("its mode").permissions().mode() & 0o777, 0o700);
        }
        assert_eq!(kept.len(), 64);
        assert_eq!(kept[0], name(6).as_str());
        assert_eq!(folder.list().expect("names"), []);
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_a_link_and_a_folder_are_not_read() {
        let state = tempfile::tempdir().expect("a folder");
        let spool = state.path().join(FOLDER);
        std::fs::create_dir(&spool).expect("a folder");
        std::fs::create_dir(spool.join(name(1))).expect("a folder");
        std::os::unix::fs::symlink("/etc/hostname", spool.join(name(2))).expect("a link");
        let folder = Folder::new(state.path());
        for name in folder.list().expect("names") {
            assert!(matches!(folder.read(&name), Err(ReadError::NoFile)), "{name:?}");
            folder.put_aside(&name).expect("put aside");
        }
        assert_eq!(folder.list().expect("names"), []);
    }
}
