//! Processes through `/proc`. On a Unix without it everything is absent, and callers live with that.

use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;

use linelamp_core::process::{Ancestor, ProcessRef};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Pid;

use super::Presence;

/// A command line is read up to here; the system allows less.
const LONGEST_COMMAND_LINE: u64 = 8 << 20;

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

/// Whether `process` is still there. One that has exited and was not waited for is not.
pub fn presence(process: ProcessRef) -> Presence {
    let mut buffer = [0; 1024];
    match try_read_small(&format!("/proc/{}/stat", process.pid), &mut buffer) {
        Ok(text) => match parse_stat(text) {
            Some(stat) if matches!(stat.state, b'Z' | b'X' | b'x') => Presence::Gone,
            Some(stat) if process.start.is_some_and(|start| start != stat.start) => Presence::Gone,
            Some(_) => Presence::Runs,
            None => Presence::Unknown,
        },
        // Also where there is no `/proc`, or where it hides what is not ours.
        Err(Errno::NOENT | Errno::SRCH) => presence_of_pid(process.pid),
        Err(_) => Presence::Unknown,
    }
}

/// Whether anybody has the pid; who it is cannot be said.
fn presence_of_pid(pid: u32) -> Presence {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    match pid.map(rustix::process::test_kill_process) {
        Some(Err(Errno::SRCH)) => Presence::Gone,
        _ => Presence::Unknown,
    }
}

/// The arguments of `process`, without its program and, for a script, without its interpreter. None are known of
/// a process that has written a title over them. May wait: the system reads them from the process's own memory.
pub fn arguments(process: ProcessRef) -> Option<Vec<OsString>> {
    let name = stat(process.pid)?.name;
    let file = std::fs::File::open(format!("/proc/{}/cmdline", process.pid)).ok()?;
    let mut text = Vec::new();
    file.take(LONGEST_COMMAND_LINE).read_to_end(&mut text).ok()?;
    // Whoever has the pid now may not be whom it was about.
    if presence(process) != Presence::Runs {
        return None;
    }
    let words = split_arguments(&name, &text)?;
    Some(words.into_iter().map(|word| OsStr::from_bytes(word).to_owned()).collect())
}

/// None if what was read is no list of arguments, or not all of it.
fn split_arguments<'a>(name: &[u8], text: &'a [u8]) -> Option<Vec<&'a [u8]>> {
    // A list ends with one zero; a title leaves many behind it, or none.
    let text = text.strip_suffix(b"\0")?;
    if text.ends_with(b"\0\0") {
        return None;
    }
    let mut words = text.split(|byte| *byte == 0);
    words.next()?;
    if INTERPRETERS.contains(&name) {
        words.find(|word| !word.starts_with(b"-"))?;
    }
    Some(words.collect())
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
fn try_read_small<'a>(path: &str, buffer: &'a mut [u8]) -> Result<&'a [u8], Errno> {
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let length = rustix::io::read(&file, &mut *buffer)?;
    Ok(buffer.get(..length).unwrap_or_default())
}

fn read_small<'a>(path: &str, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    try_read_small(path, buffer).ok()
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

    #[test]
    fn arguments_are_what_follows_the_program_or_the_script() {
        let read = |name: &str, text: &str| {
            let words = split_arguments(name.as_bytes(), text.as_bytes())?;
            Some(
                words
                    .iter()
                    .map(|word| String::from_utf8_lossy(word))
                    .collect::<Vec<_>>()
                    .join("|"),
            )
        };
        for (name, text, expected) in [
            ("claude", "claude\0-p\0two words\0", Some("-p|two words")),
            ("claude", "/usr/bin/claude\0", Some("")),
            ("claude", "claude\0-p\0\0", Some("-p|")),
            ("node", "node\0--no-warnings\0/usr/bin/claude\0-p\0", Some("-p")),
            ("node", "node\0-\0", None),
            ("node", "claude\0\0\0\0\0\0", None),
            ("claude", "a title", None),
            ("claude", "", None),
        ] {
            assert_eq!(read(name, text).as_deref(), expected, "{text:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_there_with_its_arguments_and_nobody_else_is_taken_for_it() {
        let own = reference(std::process::id());
        assert_eq!(presence(own), Presence::Runs);
        assert_eq!(presence(ProcessRef { start: None, ..own }), Presence::Runs);
        assert_eq!(presence(ProcessRef { start: own.start.map(|s| s + 1), ..own }), Presence::Gone);
        let none = ProcessRef { pid: i32::MAX.cast_unsigned(), start: None };
        assert_eq!(presence(none), Presence::Gone);
        assert_eq!(presence(ProcessRef { pid: 0, start: None }), Presence::Unknown);
        let expected: Vec<OsString> = std::env::args_os().skip(1).collect();
        assert_eq!(arguments(own), Some(expected));
        assert_eq!(arguments(ProcessRef { start: Some(1), ..own }), None);
        assert_eq!(arguments(none), None);
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
