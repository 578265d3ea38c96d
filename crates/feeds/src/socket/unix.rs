//! Unix sockets by name, with non-blocking calls only.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
    connect as connect_to, recv, send, sendto, socket_with,
};

/// The address holds 108 bytes on Linux and 104 elsewhere; a little is left for safety.
const LONGEST_PATH: usize = 100;

/// What a non-blocking call came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// So many bytes went through.
    Bytes(usize),
    /// Not now.
    Later,
    /// The other side is gone.
    Gone,
}

/// A stream to the daemon. No call on it waits.
#[derive(Debug)]
pub struct Connection(OwnedFd);

impl Connection {
    /// Sends as much of `bytes` as fits now.
    pub fn send(&self, bytes: &[u8]) -> Progress {
        progress(send(&self.0, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL), bytes.is_empty())
    }

    /// Receives what is there.
    pub fn receive(&self, buffer: &mut [u8]) -> Progress {
        progress(recv(&self.0, buffer, RecvFlags::DONTWAIT).map(|(_, length)| length), false)
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Connects to the socket `name` in `folder`, if that is possible without waiting.
pub fn connect(folder: &Path, name: &str) -> io::Result<Connection> {
    let socket = socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )?;
    let (address, _folder) = address(folder, name)?;
    connect_to(&socket, &address)?;
    Ok(Connection(socket))
}

/// Sends one empty datagram to the socket `name` in `folder`; whether it arrives is of no consequence.
pub fn poke(folder: &Path, name: &str) {
    let Ok(socket) = socket_with(
        AddressFamily::UNIX,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    ) else {
        return;
    };
    if let Ok((address, _folder)) = address(folder, name) {
        sendto(&socket, b"\n", SendFlags::DONTWAIT | SendFlags::NOSIGNAL, &address).ok();
    }
}

/// The address, and the folder's descriptor that must live as long as the address is used.
fn address(folder: &Path, name: &str) -> io::Result<(SocketAddrUnix, Option<OwnedFd>)> {
    let path = folder.join(name);
    if path.as_os_str().len() <= LONGEST_PATH {
        return Ok((SocketAddrUnix::new(&path)?, None));
    }
    if !cfg!(target_os = "linux") {
        return Err(Errno::NAMETOOLONG.into());
    }
    let descriptor = rustix::fs::open(
        folder,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let short = {
        use std::os::fd::AsRawFd as _;
        format!("/proc/self/fd/{}/{name}", descriptor.as_raw_fd())
    };
    Ok((SocketAddrUnix::new(OsStr::from_bytes(short.as_bytes()))?, Some(descriptor)))
}

fn progress(result: Result<usize, Errno>, nothing_asked: bool) -> Progress {
    match result {
        Ok(0) if !nothing_asked => Progress::Gone,
        Ok(length) => Progress::Bytes(length),
        Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS) => Progress::Later,
        Err(_) => Progress::Gone,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixDatagram, UnixListener};

    use super::*;

    #[test]
    fn a_path_over_the_limit_is_reached_through_its_folder() {
        let root = tempfile::tempdir().expect("a folder");
        let deep = root.path().join("d".repeat(120));
        std::fs::create_dir(&deep).expect("a folder");
        // Bound under a short name first: binding has the same limit.
        let short = root.path().join("s");
        let listener = UnixListener::bind(&short).expect("a socket");
        std::fs::rename(&short, deep.join("events.sock")).expect("moved");
        let connection = connect(&deep, "events.sock").expect("connected");
        assert_eq!(connection.send(b"x"), Progress::Bytes(1));
        drop(listener);
    }

    #[test]
    fn a_full_socket_says_later_and_a_closed_one_gone() {
        let root = tempfile::tempdir().expect("a folder");
        let listener = UnixListener::bind(root.path().join("s")).expect("a socket");
        let connection = connect(root.path(), "s").expect("connected");
        let block = vec![0; 1 << 20];
        while connection.send(&block) != Progress::Later {}
        assert_eq!(connection.receive(&mut [0; 8]), Progress::Later);
        drop(listener);
        assert_eq!(connection.send(&block), Progress::Gone);
    }

    #[test]
    fn a_poke_reaches_the_socket_and_its_absence_is_no_matter() {
        let root = tempfile::tempdir().expect("a folder");
        poke(root.path(), "poke.sock");
        let socket = UnixDatagram::bind(root.path().join("poke.sock")).expect("a socket");
        poke(root.path(), "poke.sock");
        assert_eq!(socket.recv(&mut [0; 8]).expect("a poke"), 1);
    }
}
