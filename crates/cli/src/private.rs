//! A private folder for one run, gone with everything in it when the run is over.

use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// The folder; removed when this is dropped, also after a failure.
#[derive(Debug)]
pub(crate) struct PrivateFolder(PathBuf);

impl PrivateFolder {
    /// Makes a new one in the system's folder for temporary files.
    pub(crate) fn create(name: &str) -> Result<Self> {
        let name = format!("{name}-{}", uuid::Uuid::new_v4().simple());
        let path = std::env::temp_dir().join(name);
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self(path))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            // Nobody to tell if this fails as well.
            writeln!(std::io::stderr(), "warning: {} is left: {error}", self.0.display()).ok();
        }
    }
}
