//! Files of mode 0600.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Opens for appending; a new file is private from its first moment, an old one is made so.
fn open_append(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    let mode = file.metadata()?.permissions().mode();
    if mode & 0o077 != 0 && file.metadata()?.is_file() {
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

/// Makes sure that the file exists and is private, without changing what is in it.
pub(crate) fn ensure(path: &Path) -> io::Result<()> {
    open_append(path).map(drop)
}
