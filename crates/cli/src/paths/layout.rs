//! What lies where inside the folders, as far as more than one command must know.

use std::path::{Path, PathBuf};

use super::Paths;

impl Paths {
    /// Everything under one folder, as `LINELAMP_HOME` would put it.
    pub(crate) fn under(home: &Path) -> Self {
        let state = home.join("state");
        Self { config: home.to_owned(), runtime: state.join("run"), state, apart: true }
    }

    /// The store's file.
    pub(crate) fn database(&self) -> PathBuf {
        self.state.join("linelamp.db")
    }

    /// The daemon's log.
    pub(crate) fn log(&self) -> PathBuf {
        self.state.join("linelamp.log")
    }
}
