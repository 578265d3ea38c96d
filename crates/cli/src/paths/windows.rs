//! Folders where there are no modes: the user's profile is private by itself.

use std::io;
use std::path::{Path, PathBuf};

/// There is no such folder.
pub(crate) fn runtime_of_user() -> Option<PathBuf> {
    None
}

/// Makes a folder; those under the user's profile inherit its access rules.
pub(crate) fn create_private(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)
}
