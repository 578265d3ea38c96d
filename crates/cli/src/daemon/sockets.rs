//! The daemon's sockets: bound in the runtime folder, linked where clients look.
//!
//! Only the holder of the lock calls this, so a socket that is there already is stale.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::paths::Paths;
use crate::socket::Address;

/// The bound sockets. They are removed when this is dropped.
#[derive(Debug)]
pub(super) struct Sockets {
    /// Commands.
    pub(super) control: UnixListener,
    /// Wrappers, if they are taken in.
    pub(super) events: Option<UnixListener>,
    /// Pokes of hook clients.
    pub(super) poke: UnixDatagram,
    _names: Names,
}

impl Sockets {
    /// Binds them; the one for wrappers only if they are taken in.
    pub(super) fn bind(paths: &Paths, wrappers: bool) -> Result<Self> {
        let mut names = Names(Vec::new());
        let events = wrappers.then(|| listen(paths, "events.sock", &mut names)).transpose()?;
        let poke = bind(paths, "poke.sock", &mut names, |path| UnixDatagram::bind(path))?;
        // Last: whoever can reach this one may expect the others.
        let control = listen(paths, "control.sock", &mut names)?;
        Ok(Self { control, events, poke, _names: names })
    }
}

fn listen(paths: &Paths, name: &str, names: &mut Names) -> Result<UnixListener> {
    bind(paths, name, names, |path| UnixListener::bind(path))
}

fn bind<T>(
    paths: &Paths,
    name: &str,
    names: &mut Names,
    bind: impl FnOnce(&Path) -> io::Result<T>,
) -> Result<T> {
    let path = paths.runtime.join(name);
    let cannot = || format!("cannot listen on {}", path.display());
    remove(&path).with_context(cannot)?;
    let address = Address::of(&paths.runtime, name).with_context(cannot)?;
    let bound = bind(address.path()).with_context(cannot)?;
    names.0.push(path.clone());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).with_context(cannot)?;
    let link = paths.state.join("run").join(name);
    if link != path {
        let cannot = || format!("cannot link {}", link.display());
        remove(&link).with_context(cannot)?;
        std::os::unix::fs::symlink(&path, &link).with_context(cannot)?;
        names.0.push(link);
    }
    Ok(bound)
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Names in the file system that go when the daemon goes.
#[derive(Debug)]
struct Names(Vec<PathBuf>);

impl Drop for Names {
    fn drop(&mut self) {
        for path in &self.0 {
            // The next daemon would remove it as well.
            remove(path).ok();
        }
    }
}
