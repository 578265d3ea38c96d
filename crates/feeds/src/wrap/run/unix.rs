//! Starting the child, standing in for it towards signals, ending as it did.
#![expect(unsafe_code, reason = "`pre_exec` promises that only async-signal-safe calls are made")]

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use linelamp_core::Timestamp;
use linelamp_core::driver::Direction;
use rustix::fs::FileType;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::super::cutter::Cutter;
use super::super::end::WrapEnd;
use super::super::options::{Agent, WrapOptions};
use super::super::pump::{Handover, Inbound, Outbound};
use super::super::signal::{Received, Signals, stop_as};
use super::super::tap::{Finish, Tap};
use super::{LONGEST_HOLD, PUMP_STACK, make_tap};
use crate::process;

/// How far up the sender of a signal is followed to see whether the child's own family sent it.
const FAMILY: usize = 16;

/// So long a continued child is given to be seen running.
const CONTINUING: Duration = Duration::from_millis(5);

/// Runs the program and gives how it ended; then nothing is left to do but [`WrapEnd::leave`].
///
/// Must be called on the main thread of a process that has no other work: signals are taken over, panics
/// fall silent, and the child is bound to the life of the calling thread. A terminal on standard output, a
/// side call, or an agent that is nobody's is run in place of this process, and the call does not return.
pub fn run(options: WrapOptions) -> WrapEnd {
    let signals = Signals::block();
    let mut command = Command::new(&options.program);
    command.args(&options.arguments);
    let nothing_to_see = options.side_call
        || matches!(options.agent, Agent::None)
        || rustix::termios::isatty(rustix::stdio::stdout());
    if nothing_to_see {
        return become_program(command, &signals);
    }
    // Nothing may be printed here, and a panic of the observer is no news to the user.
    std::panic::set_hook(Box::new(|_| {}));
    match Plumbing::lay(options) {
        Some(plumbing) => plumbing.run(command, &signals),
        None => become_program(command, &signals),
    }
}

/// Replaces this process. Returns only if the program cannot be run.
fn become_program(mut command: Command, signals: &Signals) -> WrapEnd {
    let signals = *signals;
    // SAFETY: `restore` is async-signal-safe.
    unsafe {
        command.pre_exec(move || {
            signals.restore();
            Ok(())
        });
    }
    WrapEnd::NotStarted(command.exec())
}

/// What a pump leaves to be done.
type Outcome = Option<Handover>;

/// Pipes and threads, ready before the child is started: if they cannot be had, the program runs alone.
struct Plumbing {
    tap: Arc<Tap>,
    child_input: Option<OwnedFd>,
    child_output: OwnedFd,
    /// Dropped when the child is gone.
    gone: OwnedFd,
    outbound: JoinHandle<Outcome>,
    start: Vec<mpsc::SyncSender<()>>,
}

impl Plumbing {
    fn lay(options: WrapOptions) -> Option<Self> {
        let tap = make_tap(options)?;
        let (source, child_output) = pipe()?;
        let (gone_reader, gone) = pipe_with(PipeFlags::CLOEXEC).ok()?;
        let cutter = |direction| Cutter::new(Arc::clone(&tap), direction);
        let mut start = Vec::new();

        non_blocking(&source)?;
        let pump = Outbound { source, gone: gone_reader, cutter: cutter(Direction::FromAgent) };
        let outbound = pump_thread("from agent", &mut start, move || pump.run())?;

        let mut child_input = None;
        if is_pumped(rustix::stdio::stdin()) {
            let (reader, sink) = pipe()?;
            non_blocking(&sink)?;
            let pump = Inbound { sink, cutter: cutter(Direction::ToAgent) };
            pump_thread("to agent", &mut start, move || {
                pump.run();
                None
            })?;
            child_input = Some(reader);
        }
        Some(Self { tap, child_input, child_output, gone, outbound, start })
    }

    fn run(self, mut command: Command, signals: &Signals) -> WrapEnd {
        let found = *signals;
        command.stdin(self.child_input.map_or_else(Stdio::inherit, Stdio::from));
        command.stdout(Stdio::from(self.child_output));
        let parent = rustix::process::getpid();
        // SAFETY: only async-signal-safe calls are made: system calls without allocation.
        unsafe {
            command.pre_exec(move || {
                found.restore();
                bind_to(parent)
            });
        }
        let started = command.spawn();
        // Our copies of the child's ends go, else the ends would never be seen.
        drop(command);
        let child = match started {
            Ok(child) => child.id(),
            Err(error) => return WrapEnd::NotStarted(error),
        };
        for start in self.start {
            start.send(()).ok();
        }
        self.tap.child.set(process::reference(child)).ok();

        let end = stand_in(child, signals);
        let deadline = Instant::now() + LONGEST_HOLD;
        drop(self.gone);
        let left_behind = self.outbound.join().ok().flatten();
        // The end comes after the last line, also by the clock.
        let at = Timestamp::now();
        if let Some(exit) = end.process_exit() {
            let deadline = deadline.max(Instant::now() + LONGEST_HOLD / 2);
            self.tap.finish(Finish { exit, at, deadline });
        }
        if let Some(handover) = left_behind {
            handover.leave_behind(signals);
        }
        end
    }
}

/// Ends the child with us, as closely as the system allows.
fn bind_to(parent: Pid) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        if rustix::process::getppid() != Some(parent) {
            // Too late to be told.
            kill_process(rustix::process::getpid(), Signal::KILL)?;
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = parent;
    Ok(())
}

/// Takes signals for the child until it ends.
fn stand_in(child: u32, signals: &Signals) -> WrapEnd {
    let Some(pid) = i32::try_from(child).ok().and_then(Pid::from_raw) else {
        return WrapEnd::NotStarted(io::ErrorKind::InvalidData.into());
    };
    let mut was_stopped = false;
    loop {
        let received = signals.wait();
        if received.signal == libc::SIGCHLD {
            match changes(pid) {
                Change::Ended(end) => return end,
                Change::Stopped(signal) => {
                    stop_as(signal);
                    was_stopped = true;
                }
                Change::None => {}
            }
        } else if is_for_child_alone(received, child, was_stopped)
            && let Some(signal) = Signal::from_named_raw(received.signal)
        {
            kill_process(pid, signal).ok();
        }
        if received.signal == libc::SIGCONT {
            was_stopped = false;
        }
    }
}

/// True if only we got the signal, so that the child must get it from us.
fn is_for_child_alone(received: Received, child: u32, was_stopped: bool) -> bool {
    let Some(sender) = received.sender else {
        // A terminal that goes away tells the session's leader alone.
        return received.signal == libc::SIGHUP && is_session_leader();
    };
    if received.signal == libc::SIGCONT && was_stopped {
        // A shell continues the whole group; if the child runs, it was meant too.
        return stays_stopped(child);
    }
    !is_family(sender, child)
}

fn is_session_leader() -> bool {
    rustix::process::getsid(None).is_ok_and(|leader| leader == rustix::process::getpid())
}

/// Whether the child or something below it sent a signal to its whole group, us included.
fn is_family(mut sender: u32, child: u32) -> bool {
    for _ in 0..FAMILY {
        if sender == child {
            return true;
        }
        match process::stat(sender) {
            Some(stat) if stat.parent > 1 => sender = stat.parent,
            _ => return false,
        }
    }
    false
}

fn stays_stopped(child: u32) -> bool {
    let until = Instant::now() + CONTINUING;
    while process::stat(child).is_some_and(|stat| stat.state == b'T') {
        if Instant::now() >= until {
            return true;
        }
        thread::sleep(CONTINUING / 10);
    }
    false
}

/// What became of the child.
enum Change {
    Ended(WrapEnd),
    Stopped(i32),
    None,
}

fn changes(pid: Pid) -> Change {
    match waitpid(Some(pid), WaitOptions::NOHANG | WaitOptions::UNTRACED) {
        Ok(Some((_, status))) => {
            if let Some(code) = status.exit_status() {
                Change::Ended(WrapEnd::Exited(code))
            } else if let Some(signal) = status.terminating_signal() {
                Change::Ended(WrapEnd::Signalled(signal))
            } else {
                status.stopping_signal().map_or(Change::None, Change::Stopped)
            }
        }
        _ => Change::None,
    }
}

/// A thread that begins its work only when it is told to: by then the child runs.
fn pump_thread(
    name: &str,
    start: &mut Vec<mpsc::SyncSender<()>>,
    work: impl FnOnce() -> Outcome + Send + 'static,
) -> Option<JoinHandle<Outcome>> {
    let (sender, receiver) = mpsc::sync_channel(1);
    start.push(sender);
    thread::Builder::new()
        .name(name.into())
        .stack_size(PUMP_STACK)
        .spawn(move || receiver.recv().ok().and_then(|()| work()))
        .ok()
}

fn pipe() -> Option<(OwnedFd, OwnedFd)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).ok()?;
    // Not granted to a user who has many large pipes already; then it stays small.
    #[cfg(target_os = "linux")]
    rustix::pipe::fcntl_setpipe_size(&writer, super::super::pump::PIPE_SIZE).ok();
    Some((reader, writer))
}

/// Only for our own ends: the flag is shared by all who hold the same end.
fn non_blocking(end: &OwnedFd) -> Option<()> {
    rustix::io::ioctl_fionbio(end, true).ok()
}

/// A terminal or a device is left to the child itself: it may ask what it is.
fn is_pumped(input: rustix::fd::BorrowedFd<'_>) -> bool {
    rustix::fs::fstat(input).is_ok_and(|stat| {
        matches!(
            FileType::from_raw_mode(stat.st_mode),
            FileType::Fifo | FileType::Socket | FileType::RegularFile
        )
    })
}
