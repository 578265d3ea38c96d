//! Processes through `/proc`. On a Unix without it everything is absent, and callers live with that.

use linelamp_core::process::{Ancestor, ProcessRef};
use rustix::fs::{Mode, OFlags};

/// Interpreters whose own name says nothing about the program they run.
const INTERPRETERS: [&[u8]; 9] = [
    b"node",
    b"nodejs",
    b"bun",
    b"deno",
    b"MainThread",
    b"node-MainThread",
    b"python",
    b"python3",
    b"ruby",
];

/// One process as `/proc/PID/stat` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The kernel's short name of the program.
    pub name: Vec<u8>,
    /// One letter: `R`, `S`, `T` (stopped), `Z`, …
    pub state: u8,
    /// The parent's pid; 0 for none.
    pub parent: u32,
    /// Start time in clock ticks since boot.
    pub start: u64,
}

/// What `/proc` says about `pid` at this moment.
pub fn stat(pid: u32) -> Option<Stat> {
    let mut buffer = [0; 1024];
    parse_stat(read_small(&format!("/proc/{pid}/stat"), &mut buffer)?)
}

/// `pid` with its start time, as far as it can be read.
pub fn reference(pid: u32) -> ProcessRef {
    ProcessRef { pid, start: stat(pid).map(|stat| stat.start) }
}

/// The processes above this one, nearest first, at most `limit` of them.
pub fn ancestors(limit: usize) -> Vec<Ancestor> {
    let mut found = Vec::with_capacity(limit);
    let mut pid =
        rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get().cast_unsigned());
    while found.len() < limit && pid != 0 {
        let Some(stat) = stat(pid) else { break };
        found.push(Ancestor {
            process: ProcessRef { pid, start: Some(stat.start) },
            program: program(pid, &stat.name),
        });
        pid = stat.parent;
    }
    found
}

/// Names this boot of this machine.
pub fn boot_id() -> Option<String> {
    let mut buffer = [0; 64];
    let text = read_small("/proc/sys/kernel/random/boot_id", &mut buffer)?;
    Some(String::from_utf8_lossy(text.trim_ascii()).into_owned())
}

/// Nanoseconds since boot, time asleep included.
pub fn boottime_ns() -> Option<u64> {
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = rustix::time::ClockId::Monotonic;
    let now = rustix::time::clock_gettime(clock);
    let seconds = u64::try_from(now.tv_sec).ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(u64::try_from(now.tv_nsec).ok()?)
}

/// The program's name without its folder: an interpreter's script where there is one.
fn program(pid: u32, name: &[u8]) -> String {
    let mut buffer = [0; 1024];
    let script = INTERPRETERS
        .contains(&name)
        .then(|| read_small(&format!("/proc/{pid}/cmdline"), &mut buffer))
        .flatten()
        .and_then(script_name);
    String::from_utf8_lossy(script.unwrap_or(name)).into_owned()
}

/// The first argument that is no option, without its folder; the title, if the process set one.
fn script_name(command_line: &[u8]) -> Option<&[u8]> {
    let mut words = command_line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let first = words.next()?;
    let word = words.find(|word| !word.starts_with(b"-")).unwrap_or(first);
    word.rsplit(|byte| *byte == b'/').next().filter(|name| !name.is_empty())
}

/// The name stands in parentheses and may hold spaces and parentheses itself: count from the last.
fn parse_stat(text: &[u8]) -> Option<Stat> {
    let open = memchr::memchr(b'(', text)?;
    let close = memchr::memrchr(b')', text)?;
    let name = text.get(open + 1..close)?.to_vec();
    let mut fields =
        text.get(close + 1..)?.split(|byte| *byte == b' ').filter(|field| !field.is_empty());
    let state = *fields.next()?.first()?;
    let parent = number(fields.next()?)?.try_into().ok()?;
    // The start time is field 22 of the line; the parent was the fourth.
    let start = number(fields.nth(17)?)?;
    Some(Stat { name, state, parent, start })
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// One open, one read, one close: `/proc` files are made whole at the first read.
fn read_small<'a>(path: &str, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let length = rustix::io::read(&file, &mut *buffer).ok()?;
    buffer.get(..length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_parentheses_is_read_whole() {
        let line = b"42 (a) (b c) T 7 1 1 0 -1 4194304 1 0 0 0 1 0 0 0 20 0 1 0 987654 1 2 3";
        let stat = parse_stat(line).expect("a stat line");
        assert_eq!(stat.name, b"a) (b c");
        assert_eq!((stat.state, stat.parent, stat.start), (b'T', 7, 987_654));
        assert_eq!(parse_stat(b"42 (cut"), None);
    }

    #[test]
    fn an_interpreter_is_named_after_its_script() {
        assert_eq!(
            script_name(b"node\0--no-warnings\0/usr/bin/claude\0-p\0"),
            Some(&b"claude"[..])
        );
        assert_eq!(script_name(b"claude\0\0\0"), Some(&b"claude"[..]));
        assert_eq!(script_name(b""), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_and_its_parents_are_found() {
        let own = stat(std::process::id()).expect("own stat");
        assert_eq!(reference(std::process::id()).start, Some(own.start));
        let above = ancestors(8);
        assert_eq!(above.first().map(|first| first.process.pid), Some(own.parent));
        assert!(above.len() <= 8);
        assert_eq!(boot_id().map(|id| id.len()), Some(36));
        assert!(boottime_ns() > Some(0));
    }
}
