//! Where the layers are.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::env;
use crate::paths::Paths;

/// The name of a project's file.
pub(super) const PROJECT_FILE: &str = ".linelamp.toml";

/// Where the layers are. Reading them is the loader's business.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    /// The machine's file, read if it is there.
    pub(crate) system: Option<PathBuf>,
    /// The user's file, read if it is there.
    pub(crate) user: Option<PathBuf>,
    /// True if the user's file was named and must be there.
    pub(crate) user_required: bool,
    /// The project's file, read if it is there.
    pub(crate) project: Option<PathBuf>,
    /// Variables that set a key each, with their prefix.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// What the command line sets.
    pub(crate) flags: Vec<Setting>,
}

/// A key that the command line sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// The flag, for messages: `--set`.
    pub(crate) flag: String,
    /// The key, with dots between tables.
    pub(crate) key: String,
    /// The value as TOML writes it; what TOML cannot read is a text.
    pub(crate) value: String,
}

impl Sources {
    /// The layers that hold for every session: no project's file.
    pub(crate) fn find(paths: &Paths) -> Self {
        let named = env::get(env::LINELAMP_CONFIG).map(PathBuf::from);
        Self {
            system: paths.system_file(),
            user_required: named.is_some(),
            user: Some(named.unwrap_or_else(|| paths.user_file())),
            project: None,
            environment: env::keys(),
            flags: Vec::new(),
        }
    }

    /// Adds the file of the project that `folder` lies in, if there is one: in the folder itself, else at
    /// the root of its repository.
    pub(crate) fn with_project(mut self, folder: &Path) -> Self {
        let root = folder.ancestors().find(|parent| parent.join(".git").exists());
        self.project = [Some(folder), root]
            .into_iter()
            .flatten()
            .map(|folder| folder.join(PROJECT_FILE))
            .find(|file| file.exists());
        self
    }
}
