//! Addresses of our sockets, also where a path is longer than an address can hold.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

/// An address holds 108 bytes on Linux and 104 elsewhere; a little is left for safety.
const LONGEST: usize = 100;

/// A path that fits, and what must stay open while it is used.
#[derive(Debug)]
pub(crate) struct Address {
    path: PathBuf,
    _folder: Option<File>,
}

impl Address {
    /// The address of the socket `name` in `folder`: its path, or one through the folder's descriptor.
    ///
    /// # Errors
    ///
    /// If the path is too long and the system has no way around that, or the folder cannot be opened.
    pub(crate) fn of(folder: &Path, name: &str) -> io::Result<Self> {
        let path = folder.join(name);
        if path.as_os_str().len() <= LONGEST {
            return Ok(Self { path, _folder: None });
        }
        if !cfg!(target_os = "linux") {
            return Err(io::Error::new(
                io::ErrorKind::InvalidFilename,
                format!("the path is longer than {LONGEST} bytes; use a shorter LINELAMP_HOME"),
            ));
        }
        let folder = File::open(folder)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}/{name}", folder.as_raw_fd()));
        Ok(Self { path, _folder: Some(folder) })
    }

    /// What to bind or connect to.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::{UnixListener, UnixStream};

    #[test]
    fn a_socket_in_a_deep_folder_is_bound_and_reached() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join("d".repeat(120));
        std::fs::create_dir(&folder).expect("a folder");
        let address = Address::of(&folder, "s.sock").expect("an address");
        let listener = UnixListener::bind(address.path()).expect("bound");
        let again = Address::of(&folder, "s.sock").expect("an address");
        UnixStream::connect(again.path()).expect("connected");
        drop(listener);
        assert!(folder.join("s.sock").exists());
    }
}
