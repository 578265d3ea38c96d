//! A change of one settings file and of the launchers that belong to it, and making it.
//!
//! Order matters, because an editor may start the agent at any moment: a launcher is written before the
//! settings name it, and goes after they no longer do. If the settings cannot be changed, the launchers
//! are put back.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use linelamp_core::Timestamp;

use super::super::settings::{Applied, Change};
use super::error::EditorError;

/// A change that is not made yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What changes in the settings.
    pub settings: Change,
    /// What changes beside them.
    pub scripts: Vec<ScriptChange>,
    /// Another tool's launcher: after an installation it is called by ours; after a removal it is what
    /// the setting names.
    pub other: Option<String>,
    /// True if our launcher was gone, and with it the note of what stood in the settings before.
    pub forgotten: bool,
}

/// A launcher to be written or taken away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptChange {
    /// Where it is.
    pub path: PathBuf,
    /// What is there; none if nothing is.
    pub before: Option<String>,
    /// What will be there; none if it goes.
    pub after: Option<String>,
}

impl Plan {
    /// True if applying it does nothing.
    pub fn is_empty(&self) -> bool {
        self.settings.is_empty() && self.scripts.is_empty()
    }

    /// Makes the change. `at` names the copy of the settings as they were.
    ///
    /// # Errors
    ///
    /// If the settings were changed since the plan was made, are read-only, or cannot be written; if a
    /// launcher cannot be written. Settings and launchers are then as they were.
    pub fn apply(&self, at: Timestamp) -> Result<Applied, EditorError> {
        let mut written = Vec::new();
        let mut applied = Ok(Applied::default());
        for script in self.scripts.iter().filter(|script| script.after.is_some()) {
            applied = applied.and(script.apply().map(|()| Applied::default()));
            if applied.is_err() {
                break;
            }
            written.push(script);
        }
        let applied = applied.and_then(|_| Ok(self.settings.apply(at)?));
        if applied.is_err() {
            for script in written {
                // The first error is the one to tell.
                script.undo().ok();
            }
        }
        let applied = applied?;
        for script in self.scripts.iter().filter(|script| script.after.is_none()) {
            script.apply()?;
        }
        Ok(applied)
    }
}

impl ScriptChange {
    /// A change of the launcher at `path`; none if it is so already.
    pub(super) fn new(path: PathBuf, after: Option<String>) -> Option<Self> {
        let before = fs::read_to_string(&path).ok();
        let is_so = before == after && (after.is_none() || is_executable(&path));
        (!is_so).then_some(Self { path, before, after })
    }

    fn apply(&self) -> Result<(), EditorError> {
        match &self.after {
            Some(script) => write(&self.path, script),
            None => remove(&self.path),
        }
    }

    fn undo(&self) -> Result<(), EditorError> {
        match &self.before {
            Some(script) => write(&self.path, script),
            None => remove(&self.path),
        }
    }
}

/// Puts a complete, executable file in the place of `path`, which need not exist.
fn write(path: &Path, script: &str) -> Result<(), EditorError> {
    let failed = |action, path: &Path| {
        let path = path.to_owned();
        move |source| EditorError::Launcher { action, path, source }
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed("create", folder))?;
    }
    let temporary = path.with_file_name(format!(
        ".{}.{}",
        path.file_name().unwrap_or_default().to_string_lossy(),
        std::process::id()
    ));
    // One that is left from a crash of a process with our id.
    fs::remove_file(&temporary).ok();
    let written = write_new(&temporary, script)
        .and_then(|()| fs::rename(&temporary, path))
        .map_err(failed("write", path));
    if written.is_err() {
        fs::remove_file(&temporary).ok();
    }
    written
}

fn write_new(path: &Path, script: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(script.as_bytes())?;
    // Whatever the user's mask says: the editor must be able to start it.
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    file.sync_all()
}

fn remove(path: &Path) -> Result<(), EditorError> {
    match fs::remove_file(path) {
        Ok(()) => {
            // Only if it is empty; it is nobody's loss if it is not.
            path.parent().map(fs::remove_dir);
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => {
            Err(EditorError::Launcher { action: "remove", path: path.to_owned(), source })
        }
    }
}

/// True if it is a file that can be run.
pub(super) fn is_executable(path: &Path) -> bool {
    let Ok(data) = fs::metadata(path) else { return false };
    #[cfg(unix)]
    let runs = std::os::unix::fs::PermissionsExt::mode(&data.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let runs = true;
    data.is_file() && runs
}
