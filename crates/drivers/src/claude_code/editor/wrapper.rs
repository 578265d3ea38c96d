//! One editor's settings file together with its launcher: what stands there, and what would change.
//!
//! Every settings file has a launcher of its own, since each may have another tool's launcher to call and
//! another old text to give back. A launcher goes only when nothing can call it any more. Where another
//! tool was set after us it may well call ours; such a one is *retired*: it stays, starts the agent and
//! nothing of linelamp. A new launcher in front of that tool gets a new name, so that two never call each
//! other in a circle.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::settings::{Change, SettingsError, SettingsFile};
use super::edit::{Before, current, restore, set};
use super::error::EditorError;
use super::launcher::{Launcher, is_launcher, name};
use super::plan::{Plan, ScriptChange, is_executable};

/// A settings file and the folder for launchers.
#[derive(Clone, Debug)]
pub struct Wrapper {
    settings: SettingsFile,
    /// The settings file's path, as it stands in launchers.
    path: String,
    launchers: PathBuf,
}

/// What the setting names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing.
    NotInstalled,
    /// Our launcher, and all it needs is there.
    Installed {
        /// The linelamp program it starts.
        linelamp: String,
        /// Another tool's launcher that it calls.
        chained: Option<String>,
    },
    /// Our launcher, but another tool's launcher that it should call is gone.
    ChainedGone(String),
    /// Our launcher, but the linelamp program is gone: the agent runs unseen.
    LinelampGone(String),
    /// A launcher of ours that was taken out of use: the agent runs unseen.
    Retired,
    /// A launcher of ours that is not there any more: the editor cannot start the agent.
    LauncherMissing(String),
    /// Something of somebody else.
    Other(String),
}

impl Wrapper {
    /// The settings file at `settings`, an absolute path, with launchers in the folder `launchers`.
    ///
    /// # Errors
    ///
    /// If a path is not UTF-8 and so cannot be written into settings.
    pub fn new(settings: &Path, launchers: &Path) -> Result<Self, EditorError> {
        utf8(launchers)?;
        let path = utf8(settings)?.to_owned();
        Ok(Self { settings: SettingsFile::new(settings), path, launchers: launchers.to_owned() })
    }

    /// The settings file.
    pub fn path(&self) -> &Path {
        self.settings.path()
    }

    /// What an installation would change. `can_start` tells whether another tool's launcher that stands
    /// in the setting is a program that can be called.
    ///
    /// # Errors
    ///
    /// If the settings cannot be read or understood, or name something that cannot be called.
    pub fn plan_install(
        &self,
        linelamp: &Path,
        can_start: &dyn Fn(&str) -> bool,
    ) -> Result<Plan, EditorError> {
        let text = self.settings.read()?;
        let (launcher, script, after, forgotten) = match self.named(text.as_deref())? {
            Some(ours) if is_launcher(&ours) => {
                let text = text.as_deref().unwrap_or_default();
                let known = read(Path::new(&ours));
                let forgotten = known.is_none();
                let before = self.remembered(known.as_ref());
                let chained = match known {
                    // One that was retired may have been made to forget whom it calls.
                    Some(known) if known.linelamp.is_some() => known.chained,
                    _ => before.other(),
                };
                let (launcher, after) = if self.is_own(Path::new(&ours)) {
                    (PathBuf::from(ours), text.to_owned())
                } else {
                    let launcher = self.launcher(1);
                    let plain = restore(text, &before, &is_launcher).map_err(self.place())?;
                    let after = set(plain.as_deref(), utf8(&launcher)?).map_err(self.place())?;
                    (launcher, after)
                };
                (launcher, self.script(linelamp, chained, before)?, after, forgotten)
            }
            other => {
                if let Some(value) = other.as_ref().filter(|value| !can_start(value)) {
                    let path = self.path().to_owned();
                    return Err(EditorError::Other { path, value: value.clone() });
                }
                let before = Before::of(text.as_deref()).map_err(self.place())?;
                let launcher = if other.is_some() { self.free() } else { self.launcher(1) };
                let after = set(text.as_deref(), utf8(&launcher)?).map_err(self.place())?;
                (launcher, self.script(linelamp, other, before)?, after, false)
            }
        };
        let other = script.chained.clone();
        let mut scripts = self.retire(other.as_deref(), Some(&launcher));
        scripts.extend(ScriptChange::new(launcher, Some(script.script())));
        let settings = Change::new(self.path(), text, Some(after));
        Ok(Plan { settings, scripts, other, forgotten })
    }

    /// What taking our launcher out would change. A launcher that one of `others` names, settings files
    /// as well, is kept for them.
    ///
    /// # Errors
    ///
    /// If the settings cannot be read or understood.
    pub fn plan_uninstall(&self, others: &[PathBuf]) -> Result<Plan, EditorError> {
        let text = self.settings.read()?;
        let others: Vec<_> = others.iter().filter(|other| *other != self.path()).collect();
        let others = others.as_slice();
        let Some(ours) = self.named(text.as_deref())?.filter(|value| is_launcher(value)) else {
            let other = self.named(text.as_deref())?;
            let scripts = match &other {
                Some(other) => self.retire(Some(other), None),
                None => self.discard(others),
            };
            let settings = Change::new(self.path(), text.clone(), text);
            return Ok(Plan { settings, scripts, other, forgotten: false });
        };
        let known = read(Path::new(&ours));
        let before = self.remembered(known.as_ref());
        let old = text.as_deref().unwrap_or_default();
        let after = restore(old, &before, &is_launcher).map_err(self.place())?;
        let other = before.other();
        let mut scripts = match &other {
            Some(other) => self.retire(Some(other), Some(Path::new(&ours))),
            None => self.discard(others),
        };
        // A copy of other settings names their launcher, which is theirs to take away.
        let own =
            self.is_own(Path::new(&ours)) && !scripts.iter().any(|s| s.path == Path::new(&ours));
        if own || self.is_left(Path::new(&ours), known.as_ref()) {
            scripts.extend(goes(PathBuf::from(&ours), others));
        }
        let settings = Change::new(self.path(), text, after);
        Ok(Plan { settings, scripts, other, forgotten: known.is_none() })
    }

    /// What the setting names.
    ///
    /// # Errors
    ///
    /// If the settings cannot be read or understood.
    pub fn standing(&self) -> Result<Standing, EditorError> {
        let text = self.settings.read()?;
        let Some(value) = self.named(text.as_deref())? else { return Ok(Standing::NotInstalled) };
        if !is_launcher(&value) {
            return Ok(Standing::Other(value));
        }
        let path = Path::new(&value);
        let Some(launcher) = read(path).filter(|_| is_executable(path)) else {
            return Ok(Standing::LauncherMissing(value));
        };
        let Some(linelamp) = launcher.linelamp else { return Ok(Standing::Retired) };
        if !is_executable(Path::new(&linelamp)) {
            return Ok(Standing::LinelampGone(linelamp));
        }
        let gone = |chained: &String| chained.contains('/') && !is_executable(Path::new(chained));
        Ok(match launcher.chained {
            Some(chained) if gone(&chained) => Standing::ChainedGone(chained),
            chained => Standing::Installed { linelamp, chained },
        })
    }

    /// The setting's value.
    fn named(&self, text: Option<&str>) -> Result<Option<String>, EditorError> {
        Ok(current(text.unwrap_or_default()).map_err(self.place())?)
    }

    /// Adds the settings file's name to what is wrong in it.
    fn place(&self) -> impl Fn(SettingsError) -> SettingsError {
        |error| error.in_file(self.settings.path())
    }

    fn script(
        &self,
        linelamp: &Path,
        chained: Option<String>,
        before: Before,
    ) -> Result<Launcher, EditorError> {
        let linelamp = Some(utf8(linelamp)?.to_owned());
        Ok(Launcher { settings: self.path.clone(), linelamp, chained, before })
    }

    /// What stood in these settings before, as far as the launcher they name can tell.
    fn remembered(&self, launcher: Option<&Launcher>) -> Before {
        match launcher {
            // Settings copied from others: that those did not exist says nothing of these.
            Some(known) if known.settings != self.path && known.before == Before::NoFile => {
                Before::Absent
            }
            Some(known) => known.before.clone(),
            None => Before::Absent,
        }
    }

    fn launcher(&self, number: u32) -> PathBuf {
        self.launchers.join(name(&self.path, number))
    }

    /// The first launcher of this settings file that does not exist.
    fn free(&self) -> PathBuf {
        let free = (1..u32::MAX).map(|number| self.launcher(number)).find(|path| !path.exists());
        free.expect("a folder does not hold so many files")
    }

    /// The launchers of this settings file that exist.
    fn own(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.launchers).into_iter().flatten().filter_map(Result::ok);
        let mut own: Vec<_> =
            entries.map(|entry| entry.path()).filter(|path| self.is_own(path)).collect();
        own.sort();
        own
    }

    /// True if it is, or would be, a launcher of this settings file.
    fn is_own(&self, path: &Path) -> bool {
        let first = name(&self.path, 1);
        let Some(found) = path.file_name().and_then(|found| found.to_str()) else { return false };
        path.parent() == Some(&self.launchers)
            && is_launcher(found)
            && found
                .strip_prefix(&first)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    }

    /// True if it was made for these settings and lies in another folder.
    fn is_left(&self, path: &Path, launcher: Option<&Launcher>) -> bool {
        !self.is_own(path) && launcher.is_some_and(|known| known.settings == self.path)
    }

    /// Takes our launchers out of use that `other`, which is in the setting now, may call.
    fn retire(&self, other: Option<&str>, except: Option<&Path>) -> Vec<ScriptChange> {
        let retired = self.own().into_iter().filter(|path| Some(path.as_path()) != except);
        let retired = retired.filter_map(|path| {
            let script = read(&path)?.retired(other).script();
            ScriptChange::new(path, Some(script))
        });
        retired.collect()
    }

    /// Takes all our launchers away, now that nothing is in the setting that may call them.
    fn discard(&self, others: &[&PathBuf]) -> Vec<ScriptChange> {
        self.own().into_iter().filter_map(|path| goes(path, others)).collect()
    }
}

/// Takes a launcher away, or out of use where other settings name it.
fn goes(path: PathBuf, others: &[&PathBuf]) -> Option<ScriptChange> {
    let named = |settings: &&PathBuf| {
        let text = fs::read_to_string(settings).unwrap_or_default();
        current(&text).ok().flatten().is_some_and(|value| Path::new(&value) == path)
    };
    let script = if others.iter().any(named) {
        // Those who name it by a copy count on all of it but linelamp.
        Some(read(&path)?.retired(None).script())
    } else {
        None
    };
    ScriptChange::new(path, script)
}

/// The launcher at `path`; none if there is none.
fn read(path: &Path) -> Option<Launcher> {
    Launcher::read(&fs::read_to_string(path).ok()?)
}

fn utf8(path: &Path) -> Result<&str, EditorError> {
    path.to_str().ok_or_else(|| SettingsError::Program(path.to_owned()).into())
}
