//! Private folders, and whose a folder is.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The folder that the login manager makes for this user's sockets, if it is there and ours.
pub(crate) fn runtime_of_user() -> Option<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let folder = PathBuf::from(format!("/run/user/{user}"));
    let data = fs::symlink_metadata(&folder).ok()?;
    (data.is_dir() && data.uid() == user).then_some(folder)
}

/// Makes a folder that only its owner may enter. One that is there becomes so; one of somebody else is
/// refused, as they could read and replace what we put there.
pub(crate) fn create_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let data = fs::metadata(folder)?;
    if data.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the folder belongs to another user",
        ));
    }
    if data.mode() & 0o077 != 0 {
        fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    }
    Ok(())
}
