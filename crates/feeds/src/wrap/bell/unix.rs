//! A pipe with one byte in it.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::socket::Connection;

/// See the module's words.
#[derive(Debug)]
pub(in super::super) struct Bell {
    reader: OwnedFd,
    writer: OwnedFd,
}

impl Bell {
    /// A silent bell.
    pub(in super::super) fn new() -> io::Result<Self> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        Ok(Self { reader, writer })
    }

    /// Wakes whoever waits now or next.
    pub(in super::super) fn ring(&self) {
        // A full pipe is rung already.
        rustix::io::write(&self.writer, &[1]).ok();
    }

    /// Waits for a ring, for something from `connection` (or room in it, if `sending`), or `timeout`.
    pub(in super::super) fn wait(
        &self,
        timeout: Duration,
        connection: Option<&Connection>,
        sending: bool,
    ) {
        let timeout = Timespec::try_from(timeout).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        let mut events = PollFlags::IN;
        events.set(PollFlags::OUT, sending);
        let bell = PollFd::new(&self.reader, PollFlags::IN);
        if let Some(connection) = connection {
            let connection = connection.as_fd();
            let mut both = [bell, PollFd::from_borrowed_fd(connection, events)];
            poll(&mut both, Some(&timeout)).ok();
        } else {
            poll(&mut [bell], Some(&timeout)).ok();
        }
        rustix::io::read(&self.reader, &mut [0; 64]).ok();
    }
}
