//! Which settings file is meant: the user's, the project's, or the user's own one in the project.
//!
//! All of those that exist count together for the agent. What linelamp reports twice because two of them
//! hold its hooks is one event all the same, so any of them, or several, can be used.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::claude_code::places::config_folder;

/// The level of a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// For all sessions of a user.
    User,
    /// For all who work in a project; the file is usually under version control.
    Project,
    /// For one user in one project.
    Local,
}

impl Level {
    /// All of them, the widest first.
    pub const ALL: [Self; 3] = [Self::User, Self::Project, Self::Local];

    /// The file of this level; `config` is the agent's own folder, `project` that of the project.
    pub fn file(self, config: &Path, project: &Path) -> PathBuf {
        match self {
            Self::User => config.join("settings.json"),
            Self::Project => project.join(".claude").join("settings.json"),
            Self::Local => project.join(".claude").join("settings.local.json"),
        }
    }

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
        }
    }
}

/// The user's settings file: in `CLAUDE_CONFIG_DIR` if that is set, else in `.claude` of the home folder. It
/// is the folder in which session and status files are looked for as well.
pub fn settings_path(config_dir: Option<&OsStr>, home: &Path) -> PathBuf {
    config_folder(home, config_dir.map(OsStr::to_owned)).join("settings.json")
}
