//! The settings file itself: reading it, keeping a copy, replacing it in one step.
//!
//! A change is planned first, which writes nothing, and then applied. Applying checks that the file is
//! still what it was, keeps a copy beside it, and replaces it by renaming a complete file, so that nobody
//! ever sees half of one. A symbolic link stays a link: what it points to is replaced.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use linelamp_core::Timestamp;

use super::edit::{install, uninstall};
use super::error::SettingsError;
use super::status::{Status, status};

/// A settings file, which need not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFile {
    path: PathBuf,
}

/// A change of a settings file that is not made yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    path: PathBuf,
    before: Option<String>,
    after: Option<String>,
}

/// What applying a change did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// False if there was nothing to do.
    pub changed: bool,
    /// The copy of what was there before, unless there was nothing, or the same copy exists.
    pub backup: Option<PathBuf>,
}

impl SettingsFile {
    /// The settings file at `path`. Nothing is read yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What an installation would change.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or understood.
    pub fn plan_install(&self, command: &str, events: &[&str]) -> Result<Change, SettingsError> {
        let before = self.read()?;
        let text = before.as_deref().unwrap_or("{}\n");
        let after = install(text, command, events).map_err(|error| error.in_file(&self.path))?;
        let after = if before.is_none() && after == text { None } else { Some(after) };
        Ok(Change { path: self.path.clone(), before, after })
    }

    /// What taking our hooks out would change. A file that we created and in which nothing else is left
    /// goes as well.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or understood.
    pub fn plan_uninstall(&self) -> Result<Change, SettingsError> {
        let path = self.path.clone();
        let Some(text) = self.read()? else {
            return Ok(Change { path, before: None, after: None });
        };
        let after = uninstall(&text).map_err(|error| error.in_file(&self.path))?;
        let ours = after != text && after == "{}\n" && !self.is_link() && !self.was_there_before();
        Ok(Change { path, before: Some(text), after: (!ours).then_some(after) })
    }

    /// What of ours stands in the file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or understood.
    pub fn status(&self, command: &str, events: &[&str]) -> Result<Status, SettingsError> {
        let text = self.read()?.unwrap_or_default();
        status(&text, command, events).map_err(|error| error.in_file(&self.path))
    }

    /// The text of the file; none if there is no file.
    pub(in crate::claude_code) fn read(&self) -> Result<Option<String>, SettingsError> {
        let bytes = match fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_error("read", &self.path, error)),
        };
        String::from_utf8(bytes).map(Some).map_err(|error| SettingsError::NotText {
            path: self.path.clone(),
            offset: error.utf8_error().valid_up_to(),
        })
    }

    fn is_link(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok_and(|data| data.is_symlink())
    }

    /// True if a copy tells of a file without our hooks: then the file is not our creation.
    fn was_there_before(&self) -> bool {
        backups(&self.path).iter().any(|backup| {
            let status =
                fs::read_to_string(backup).ok().and_then(|text| status(&text, "", &[]).ok());
            status.is_none_or(|status| !status.is_installed())
        })
    }
}

impl Change {
    /// A change of the file at `path`, which was read as `before`; an absent text is an absent file.
    pub(in crate::claude_code) fn new(
        path: &Path,
        before: Option<String>,
        after: Option<String>,
    ) -> Self {
        Self { path: path.to_owned(), before, after }
    }

    /// True if applying it does nothing.
    pub fn is_empty(&self) -> bool {
        self.before == self.after
    }

    /// The file it is about.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The text before; none if there is no file.
    pub fn before(&self) -> Option<&str> {
        self.before.as_deref()
    }

    /// The text afterwards; none if there will be no file.
    pub fn after(&self) -> Option<&str> {
        self.after.as_deref()
    }

    /// Makes the change. `at` names the copy of what was there.
    ///
    /// # Errors
    ///
    /// If the file was changed since the plan was made, is read-only, or cannot be written. The file is
    /// then as it was.
    pub fn apply(&self, at: Timestamp) -> Result<Applied, SettingsError> {
        if self.is_empty() {
            return Ok(Applied::default());
        }
        let target = follow_links(&self.path)?;
        let mode = match fs::metadata(&target) {
            Ok(data) if data.permissions().readonly() => {
                return Err(SettingsError::ReadOnly(target));
            }
            Ok(data) => Some(data),
            Err(_) => None,
        };
        let Some(after) = &self.after else {
            // Nothing but ours stood in it: there is nothing to keep a copy of.
            self.check()?;
            fs::remove_file(&target).map_err(|error| io_error("remove", &target, error))?;
            return Ok(Applied { changed: true, backup: None });
        };
        let new = Prepared::write(&target, after, mode.as_ref())?;
        let backup = match &self.before {
            Some(before) => back_up(&self.path, before, at, mode.as_ref())?,
            None => None,
        };
        // As late as can be: the agent writes its settings as well.
        let replaced = self.check().and_then(|()| new.put_in_place());
        if let (Err(_), Some(backup)) = (&replaced, &backup) {
            fs::remove_file(backup).ok();
        }
        replaced?;
        Ok(Applied { changed: true, backup })
    }

    /// Refuses if the file is not what the plan was made for.
    fn check(&self) -> Result<(), SettingsError> {
        if SettingsFile::new(&self.path).read()? == self.before {
            Ok(())
        } else {
            Err(SettingsError::Changed(self.path.clone()))
        }
    }
}

/// What a chain of links ends at; it need not exist.
fn follow_links(path: &Path) -> Result<PathBuf, SettingsError> {
    let mut path = path.to_owned();
    // As many as the kernel follows.
    for _ in 0..40 {
        match fs::read_link(&path) {
            Ok(next) => path = path.parent().unwrap_or(Path::new("")).join(next),
            // It is no link, or is not there; reading it has told everything else.
            Err(_) => return Ok(path),
        }
    }
    Err(io_error("follow", &path, io::Error::other("too many symbolic links")))
}

const BACKUP: &str = ".linelamp-backup-";

fn backups(path: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Vec::new();
    };
    let mut prefix = name.to_owned();
    prefix.push(BACKUP);
    let Ok(entries) =
        fs::read_dir(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
    else {
        return Vec::new();
    };
    entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().as_encoded_bytes().starts_with(prefix.as_encoded_bytes()))
        .map(|entry| entry.path())
        .collect()
}

/// Keeps a copy of `text` beside the file, unless there is one with the same content.
fn back_up(
    path: &Path,
    text: &str,
    at: Timestamp,
    like: Option<&fs::Metadata>,
) -> Result<Option<PathBuf>, SettingsError> {
    if backups(path).iter().any(|old| fs::read(old).is_ok_and(|bytes| bytes == text.as_bytes())) {
        return Ok(None);
    }
    let stamp = at.strftime("%Y%m%dT%H%M%SZ").to_string();
    for attempt in 1_u32.. {
        let mut name = path.as_os_str().to_owned();
        name.push(BACKUP);
        name.push(&stamp);
        if attempt > 1 {
            name.push(format!("-{attempt}"));
        }
        let backup = PathBuf::from(name);
        match write_new(&backup, text, like) {
            Ok(()) => return Ok(Some(backup)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => {}
            Err(error) => return Err(io_error("write", &backup, error)),
        }
    }
    Ok(None)
}

/// A complete file beside the one it will take the place of. It goes if it is not used.
struct Prepared<'a> {
    temporary: PathBuf,
    target: &'a Path,
}

impl<'a> Prepared<'a> {
    /// Writes it. The target need not exist, nor its folder.
    fn write(
        target: &'a Path,
        text: &str,
        like: Option<&fs::Metadata>,
    ) -> Result<Self, SettingsError> {
        if let Some(folder) = folder_of(target) {
            fs::create_dir_all(folder).map_err(|error| io_error("create", folder, error))?;
        }
        let mut name = OsString::from(".");
        name.push(target.file_name().unwrap_or_default());
        name.push(format!(".linelamp-{}", std::process::id()));
        let temporary = target.with_file_name(name);
        // One that is left from a crash of a process with our id.
        fs::remove_file(&temporary).ok();
        write_new(&temporary, text, like).map_err(|error| io_error("write", &temporary, error))?;
        Ok(Self { temporary, target })
    }

    /// Takes the place of the target, in one step.
    fn put_in_place(self) -> Result<(), SettingsError> {
        fs::rename(&self.temporary, self.target)
            .map_err(|error| io_error("replace", self.target, error))?;
        // The rename is made durable where the system offers it; it has happened either way.
        if let Some(folder) = folder_of(self.target) {
            File::open(folder).and_then(|folder| folder.sync_all()).ok();
        }
        Ok(())
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        // After a rename there is nothing left to remove.
        fs::remove_file(&self.temporary).ok();
    }
}

fn folder_of(path: &Path) -> Option<&Path> {
    path.parent().filter(|folder| !folder.as_os_str().is_empty())
}

/// Writes a new file with the mode and the owner of another one; private if there is none.
fn write_new(path: &Path, text: &str, like: Option<&fs::Metadata>) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    let written = (|| {
        file.write_all(text.as_bytes())?;
        if let Some(like) = like {
            keep_owner(&file, like);
            file.set_permissions(Permissions::clone(&like.permissions()))?;
        }
        file.sync_all()
    })();
    if written.is_err() {
        fs::remove_file(path).ok();
    }
    written
}

/// A file of somebody else stays theirs, where we may do that (as root); otherwise it becomes ours.
#[cfg(unix)]
fn keep_owner(file: &File, like: &fs::Metadata) {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    fchown(file, Some(like.uid()), Some(like.gid())).ok();
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &fs::Metadata) {}

fn io_error(action: &'static str, path: &Path, source: io::Error) -> SettingsError {
    SettingsError::Io { action, path: path.to_owned(), source }
}
