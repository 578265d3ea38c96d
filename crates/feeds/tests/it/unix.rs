//! Starting a process as a terminal's foreground group, or with signals ignored.
#![expect(unsafe_code, reason = "`pre_exec` promises that only async-signal-safe calls are made")]

use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::pty::OpenptFlags;

/// A pseudo-terminal; gives the controlling end and makes the other one the command's standard input
/// and controlling terminal.
pub(crate) fn on_a_terminal(command: &mut Command) -> OwnedFd {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let controller = rustix::pty::openpt(flags).expect("a pseudo-terminal");
    rustix::pty::grantpt(&controller).expect("granted");
    rustix::pty::unlockpt(&controller).expect("unlocked");
    let path = rustix::pty::ptsname(&controller, Vec::new()).expect("a name");
    let terminal = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(path.to_str().expect("text"))
        .expect("a terminal");
    command.stdin(terminal);
    // SAFETY: two system calls.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
            Ok(())
        });
    }
    controller
}
