//! Pumps over descriptors. Our own pipe ends are non-blocking; the inherited ones are shared with
//! others and are never changed, only opened anew or written with per-call flags.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use linelamp_core::Timestamp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
#[cfg(target_os = "linux")]
use rustix::pipe::SpliceFlags;

use super::super::cutter::Cutter;
use super::super::signal::{Signals, close_from, fork_self, leave_copy};

/// Bytes moved at once. Larger is not faster: the chunk should stay in the cache until it is cut.
const CHUNK: usize = 128 << 10;

/// So long a reader may take nothing once the agent is gone before the rest is handed over.
const STALLED: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// From the agent's output to ours.
#[derive(Debug)]
pub(in super::super) struct Outbound {
    /// The read end of the agent's output, non-blocking.
    pub(in super::super) source: OwnedFd,
    /// Hung up when the agent is gone.
    pub(in super::super) gone: OwnedFd,
    /// Looks at what was forwarded.
    pub(in super::super) cutter: Cutter,
}

/// What the agent left behind: somebody else holds its output open, or our reader has stopped reading.
#[derive(Debug)]
pub(in super::super) struct Handover {
    source: OwnedFd,
    rest: Vec<u8>,
}

/// From our input to the agent's.
#[derive(Debug)]
pub(in super::super) struct Inbound {
    /// The write end of the agent's input, non-blocking.
    pub(in super::super) sink: OwnedFd,
    /// Looks at what was forwarded.
    pub(in super::super) cutter: Cutter,
}

impl Outbound {
    /// Pumps to the end. Gives what cannot be ended now although the agent is gone.
    pub(in super::super) fn run(mut self) -> Option<Handover> {
        let output = Output::open();
        let mut buffer = vec![0; CHUNK];
        let mut agent_gone = false;
        loop {
            if let Some(shared) = output.share(&self.source, CHUNK) {
                let at = Timestamp::now();
                let chunk = &mut buffer[..shared];
                if !read_whole(&self.source, chunk) {
                    break;
                }
                self.cutter.feed(chunk, at);
                continue;
            }
            match rustix::io::read(&self.source, &mut buffer[..]) {
                Ok(0) => break,
                Ok(length) => {
                    let at = Timestamp::now();
                    let chunk = &buffer[..length];
                    let forwarded = output.forward(chunk, &self.gone, &mut agent_gone);
                    self.cutter.feed(chunk, at);
                    match forwarded {
                        Forwarded::Whole => {}
                        Forwarded::Broken => break,
                        Forwarded::Stalled(done) => {
                            return Some(self.hand_over(chunk.get(done..).unwrap_or_default()));
                        }
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if agent_gone => return Some(self.hand_over(&[])),
                Err(Errno::AGAIN) => {
                    let waited = wait_out(&self.source, output.as_fd(), &self.gone);
                    agent_gone = waited.gone;
                    if waited.broken {
                        break;
                    }
                }
                Err(_) => break,
            }
        }
        self.cutter.finish(Timestamp::now());
        None
    }

    fn hand_over(mut self, rest: &[u8]) -> Handover {
        self.cutter.finish(Timestamp::now());
        Handover { source: self.source, rest: rest.to_vec() }
    }
}

impl Handover {
    /// Leaves a copy of this process that pumps on until the output is closed by everybody, as it
    /// would have stayed open without us.
    pub(in super::super) fn leave_behind(self, signals: &Signals) {
        let mut buffer = [0; 16 << 10];
        if !matches!(fork_self(), Ok(true)) {
            return;
        }
        // From here on only system calls: see `fork_self`.
        signals.restore();
        let output = rustix::stdio::stdout();
        if rustix::stdio::dup2_stdin(&self.source).is_err() {
            leave_copy();
        }
        close_from(2);
        let source = rustix::stdio::stdin();
        if write_blocking(output, &self.rest).is_err() {
            leave_copy();
        }
        loop {
            let mut both = [
                PollFd::from_borrowed_fd(source, PollFlags::IN),
                PollFd::from_borrowed_fd(output, PollFlags::empty()),
            ];
            poll(&mut both, None).ok();
            if is_broken(both[1].revents()) {
                leave_copy();
            }
            match rustix::io::read(source, &mut buffer) {
                Ok(0) => leave_copy(),
                Ok(length) => {
                    if write_blocking(output, buffer.get(..length).unwrap_or_default()).is_err() {
                        leave_copy();
                    }
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_) => leave_copy(),
            }
        }
    }
}

impl Inbound {
    /// Pumps until our input ends or the agent reads no more.
    pub(in super::super) fn run(mut self) {
        let input = rustix::stdio::stdin();
        let mut buffer = vec![0; CHUNK];
        loop {
            let mut both = [
                PollFd::from_borrowed_fd(input, PollFlags::IN),
                PollFd::new(&self.sink, PollFlags::empty()),
            ];
            poll(&mut both, None).ok();
            let broken = is_broken(both[1].revents());
            if broken {
                return refuse_input();
            }
            match rustix::io::read(input, &mut buffer[..]) {
                Ok(0) => {
                    drop(self.sink);
                    return self.cutter.finish(Timestamp::now());
                }
                Ok(length) => {
                    let at = Timestamp::now();
                    let chunk = &buffer[..length];
                    if !write_waiting(&self.sink, chunk) {
                        return refuse_input();
                    }
                    self.cutter.feed(chunk, at);
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }
}

/// The agent closed its input: whoever writes to ours must find that out as it would have.
fn refuse_input() {
    let nothing = rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    if let Ok(nothing) = nothing {
        rustix::stdio::dup2_stdin(nothing).ok();
    }
}

/// How one chunk fared.
enum Forwarded {
    Whole,
    /// Nobody reads it any more, or it cannot be written.
    Broken,
    /// The agent is gone and the reader has taken nothing for a while; so many bytes went out.
    Stalled(usize),
}

/// Our standard output, in the way it can be written without waiting.
enum Output {
    /// A pipe, opened anew: the flag is ours alone.
    Anew(OwnedFd),
    Socket,
    /// A file, or a pipe that could not be opened anew: writing may wait.
    Plain,
}

impl Output {
    fn open() -> Self {
        let output = rustix::stdio::stdout();
        let kind = rustix::fs::fstat(output).map(|stat| FileType::from_raw_mode(stat.st_mode));
        match kind {
            Ok(FileType::Socket) => Self::Socket,
            #[cfg(target_os = "linux")]
            Ok(FileType::Fifo) => {
                rustix::pipe::fcntl_setpipe_size(output, PIPE_SIZE).ok();
                let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
                let anew = rustix::fs::open("/proc/self/fd/1", flags, Mode::empty());
                anew.map_or(Self::Plain, Self::Anew)
            }
            _ => Self::Plain,
        }
    }

    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Anew(output) => output.as_fd(),
            Self::Socket | Self::Plain => rustix::stdio::stdout(),
        }
    }

    /// Forwards what waits in `source` from pipe to pipe, without a copy, and leaves it there to be read. Gives
    /// how many bytes; nothing if there are none, if there is no room, or if the output is no pipe.
    #[cfg(target_os = "linux")]
    fn share(&self, source: &OwnedFd, most: usize) -> Option<usize> {
        let Self::Anew(output) = self else { return None };
        let shared = rustix::pipe::tee(source, output, most, SpliceFlags::NONBLOCK);
        shared.ok().filter(|bytes| *bytes > 0)
    }

    #[cfg(not(target_os = "linux"))]
    fn share(&self, _: &OwnedFd, _: usize) -> Option<usize> {
        None
    }

    fn forward(&self, chunk: &[u8], gone: &OwnedFd, agent_gone: &mut bool) -> Forwarded {
        let mut done = 0;
        while let Some(rest) = chunk.get(done..).filter(|rest| !rest.is_empty()) {
            let written = match self {
                Self::Socket => send(self.as_fd(), rest, SendFlags::DONTWAIT | SendFlags::NOSIGNAL),
                Self::Anew(_) | Self::Plain => rustix::io::write(self.as_fd(), rest),
            };
            match written {
                Ok(length) => done += length,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    if !wait_in(self.as_fd(), gone, agent_gone) {
                        return Forwarded::Stalled(done);
                    }
                }
                Err(_) => return Forwarded::Broken,
            }
        }
        Forwarded::Whole
    }
}

/// The size asked of every pipe we may ask it of.
#[cfg(target_os = "linux")]
pub(in super::super) const PIPE_SIZE: usize = 1 << 20;

/// What waiting for the agent's output came to.
struct Waited {
    gone: bool,
    broken: bool,
}

fn wait_out(source: &OwnedFd, output: BorrowedFd<'_>, gone: &OwnedFd) -> Waited {
    let mut all = [
        PollFd::new(source, PollFlags::IN),
        PollFd::from_borrowed_fd(output, PollFlags::empty()),
        PollFd::new(gone, PollFlags::IN),
    ];
    poll(&mut all, None).ok();
    Waited { broken: is_broken(all[1].revents()), gone: !all[2].revents().is_empty() }
}

/// Waits for room in the output. False if the agent is gone and there was none for a while.
fn wait_in(output: BorrowedFd<'_>, gone: &OwnedFd, agent_gone: &mut bool) -> bool {
    if *agent_gone {
        let mut one = [PollFd::from_borrowed_fd(output, PollFlags::OUT)];
        return poll(&mut one, Some(&STALLED)) != Ok(0);
    }
    let mut both =
        [PollFd::from_borrowed_fd(output, PollFlags::OUT), PollFd::new(gone, PollFlags::IN)];
    poll(&mut both, None).ok();
    *agent_gone = !both[1].revents().is_empty();
    true
}

/// Reads bytes that are known to wait in the pipe. False would mean that somebody else took them.
fn read_whole(source: &OwnedFd, mut buffer: &mut [u8]) -> bool {
    while !buffer.is_empty() {
        match rustix::io::read(source, &mut *buffer) {
            Ok(0) => return false,
            Ok(length) => buffer = buffer.get_mut(length..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
    true
}

/// Writes everything, waiting as long as the agent lives. False if it reads no more.
fn write_waiting(sink: &OwnedFd, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        match rustix::io::write(sink, bytes) {
            Ok(length) => bytes = bytes.get(length..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                poll(&mut [PollFd::new(sink, PollFlags::OUT)], None).ok();
            }
            Err(_) => return false,
        }
    }
    true
}

/// Writes everything to a descriptor that may be blocking or not.
fn write_blocking(output: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(output, bytes) {
            Ok(length) => bytes = bytes.get(length..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                poll(&mut [PollFd::from_borrowed_fd(output, PollFlags::OUT)], None)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn is_broken(events: PollFlags) -> bool {
    events.intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL)
}
