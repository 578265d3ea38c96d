//! Files in the user's own folders are private by the folder's access list.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Makes a folder with its parents where they are missing.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)
}

/// Opens for appending.
pub(crate) fn open_append(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

/// True if the open file is still the one at `path`: an open file cannot be moved away here.
pub(crate) fn is_at(_file: &File, path: &Path) -> bool {
    path.exists()
}
