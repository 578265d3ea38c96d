//! Masks, waiting, and dying of a signal, through libc.
#![expect(unsafe_code, reason = "signal masks and waiting for signals have no safe interface")]

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use libc::{c_int, sigset_t};

/// What the wrapper takes in the child's stead.
const TAKEN: [c_int; 10] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGTSTP,
    libc::SIGCONT,
    libc::SIGWINCH,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGCHLD,
];

/// Whether SIGPIPE was ignored when this process began, before Rust's start-up code ignored it.
static PIPE_IGNORED: AtomicBool = AtomicBool::new(false);

/// Runs before `main`.
extern "C" fn record_start() {
    PIPE_IGNORED.store(is_ignored(libc::SIGPIPE), Ordering::Relaxed);
}

// SAFETY: the section holds pointers to functions without arguments that run before `main`; this one makes
// one system call and stores into an atomic.
#[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_os = "macos"), unsafe(link_section = ".init_array"))]
#[used]
static RECORD_START: extern "C" fn() = record_start;

/// One signal that came for the wrapper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Received {
    /// Its number.
    pub(in super::super) signal: c_int,
    /// Who sent it with `kill` or the like; none if the kernel did, as a terminal does to a whole group.
    pub(in super::super) sender: Option<u32>,
}

/// The signals, blocked; what they were before is kept for the child.
#[derive(Clone, Copy)]
pub(in super::super) struct Signals {
    before: sigset_t,
    taken: sigset_t,
    child_ignored: bool,
    pipe_ignored: bool,
}

impl Signals {
    /// Blocks the signals in this thread and those it will start.
    pub(in super::super) fn block() -> Self {
        let taken = set_of(&TAKEN);
        let before = change_mask(libc::SIG_BLOCK, &taken);
        let child_ignored = is_ignored(libc::SIGCHLD);
        if child_ignored {
            // Else the child's end could not be waited for.
            set_disposition(libc::SIGCHLD, libc::SIG_DFL);
        }
        Self { before, taken, child_ignored, pipe_ignored: PIPE_IGNORED.load(Ordering::Relaxed) }
    }

    /// Puts everything back as this process found it. For a forked child before it runs its program,
    /// and for this process before it becomes another; async-signal-safe.
    pub(in super::super) fn restore(&self) {
        let disposition = |ignored| if ignored { libc::SIG_IGN } else { libc::SIG_DFL };
        set_disposition(libc::SIGPIPE, disposition(self.pipe_ignored));
        set_disposition(libc::SIGCHLD, disposition(self.child_ignored));
        change_mask(libc::SIG_SETMASK, &self.before);
    }

    /// Waits for the next signal.
    pub(in super::super) fn wait(&self) -> Received {
        loop {
            if let Some(received) = wait_for(&self.taken) {
                return received;
            }
        }
    }
}

/// Stops this process by `signal`, as the child was; returns when it is continued.
pub(in super::super) fn stop_as(signal: c_int) {
    let one = set_of(&[signal]);
    send_self(signal);
    if TAKEN.contains(&signal) {
        change_mask(libc::SIG_UNBLOCK, &one);
        change_mask(libc::SIG_BLOCK, &one);
    }
}

/// Ends this process by `signal`, without leaving a core file. Returns if that cannot be done, as in the
/// first process of a container.
pub(in super::super) fn die_of(signal: c_int) {
    use rustix::process::{Resource, Rlimit, setrlimit};
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) }).ok();
    set_disposition(signal, libc::SIG_DFL);
    send_self(signal);
    change_mask(libc::SIG_UNBLOCK, &set_of(&[signal]));
}

/// A copy of this process that goes on in its place, with only the calling thread.
///
/// Gives true in the copy. The copy must take no lock that another thread may have held at that moment;
/// the allocator's are safe, the C library sees to that.
pub(in super::super) fn fork_self() -> io::Result<bool> {
    // SAFETY: the caller keeps the copy from locks that nobody is left to release, as asked above.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(pid == 0),
    }
}

/// Ends the copy made by [`fork_self`], running nothing of this process's exit work.
pub(in super::super) fn leave_copy() -> ! {
    // SAFETY: `_exit` may be called at any time.
    unsafe { libc::_exit(0) }
}

/// Ends this process by a signal after so many seconds, whatever it does then.
pub(in super::super) fn live_at_most(seconds: u32) {
    // SAFETY: touches no memory.
    unsafe {
        libc::alarm(seconds);
    }
}

/// Closes every descriptor from `first` on, as far as that can be done at once.
pub(in super::super) fn close_from(first: libc::c_uint) {
    #[cfg(target_os = "linux")]
    // SAFETY: the caller uses none of these descriptors afterwards.
    unsafe {
        libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0);
    }
    #[cfg(not(target_os = "linux"))]
    for descriptor in first..256 {
        // SAFETY: the caller uses none of these descriptors afterwards.
        unsafe { libc::close(descriptor.cast_signed()) };
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn wait_for(set: &sigset_t) -> Option<Received> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: both pointers are valid for the call; zeroes are a valid `siginfo_t`.
    let signal = unsafe { libc::sigwaitinfo(set, info.as_mut_ptr()) };
    if signal <= 0 {
        // Interrupted, as by being stopped and continued.
        return None;
    }
    // SAFETY: zeroed before and filled by the call.
    let info = unsafe { info.assume_init() };
    // Not positive: sent by a process, whose pid the kernel then filled in.
    let sender = (info.si_code <= 0).then(|| {
        // SAFETY: signals sent by a process carry its pid.
        unsafe { info.si_pid() }.cast_unsigned()
    });
    Some(Received { signal, sender })
}

/// Without the sender nothing can be told apart, and a signal twice is better than none.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn wait_for(set: &sigset_t) -> Option<Received> {
    let mut signal: c_int = 0;
    // SAFETY: both pointers are valid for the call.
    let result = unsafe { libc::sigwait(set, &mut signal) };
    (result == 0).then_some(Received { signal, sender: Some(0) })
}

fn set_of(signals: &[c_int]) -> sigset_t {
    let mut set = MaybeUninit::<sigset_t>::uninit();
    // SAFETY: `sigemptyset` makes it whole; the numbers are real signals.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), *signal);
        }
        set.assume_init()
    }
}

fn change_mask(how: c_int, set: &sigset_t) -> sigset_t {
    let mut before = MaybeUninit::<sigset_t>::zeroed();
    // SAFETY: both pointers are valid; zeroes are a valid set if the call should fail.
    unsafe {
        libc::pthread_sigmask(how, set, before.as_mut_ptr());
        before.assume_init()
    }
}

fn is_ignored(signal: c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null new action only asks; zeroes are a valid answer if the call should fail.
    unsafe {
        libc::sigaction(signal, ptr::null(), action.as_mut_ptr());
        action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

fn set_disposition(signal: c_int, disposition: libc::sighandler_t) {
    // SAFETY: the disposition is one of the two constants, so no handler is ever called.
    unsafe {
        libc::signal(signal, disposition);
    }
}

fn send_self(signal: c_int) {
    // SAFETY: sending a signal to ourselves touches no memory.
    unsafe {
        libc::kill(libc::getpid(), signal);
    }
}

impl std::fmt::Debug for Signals {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Signals").finish_non_exhaustive()
    }
}
