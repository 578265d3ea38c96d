//! Files in the user's own folders are private by the folder's access list.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens for appending.
fn open_append(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

/// Makes sure that the file exists, without changing what is in it.
pub(crate) fn ensure(path: &Path) -> io::Result<()> {
    open_append(path).map(drop)
}
