//! `timeline.ndjson`: the true order of what a recording holds.
//!
//! Each line names a source, the milliseconds since the recording began, and where to find the rest. Sources
//! this version does not replay (screens, key presses, …) only move the clock.

use std::sync::Arc;

use linelamp_core::process::{ProcessExit, ProcessRef};
use serde::Deserialize;
use serde_json::Value;

/// A clock that says more than 31 days is broken: no recording runs that long.
const LONGEST_MS: u64 = 31 * 24 * 3_600_000;

/// One thing the timeline tells of.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    /// Milliseconds since the recording began.
    pub(super) ms: u64,
    /// What happened.
    pub(super) what: What,
}

/// What a timeline line says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    /// A process with standard streams that are recorded began.
    Start { process: u32, arguments: Vec<String>, reference: Option<ProcessRef> },
    /// A process at a terminal began; it has no stream.
    StartAtTerminal { process: u32 },
    /// A process ended.
    Exit { process: u32, exit: ProcessExit },
    /// A line went to the process's standard input.
    Stdin { process: u32, line: usize },
    /// A line came from its standard output.
    Stdout { process: u32, line: usize },
    /// A hook was called.
    Hook { line: usize },
    /// A line of a session file was seen.
    Record { file: Arc<str>, line: usize },
    /// A status file changed.
    Report { line: usize },
    /// Nothing that is replayed.
    Other,
}

/// A file of numbered lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Source {
    /// A process's standard input.
    Stdin(u32),
    /// Its standard output.
    Stdout(u32),
    /// All hook payloads.
    Hooks,
}

impl Source {
    /// A line of this source was seen.
    pub(super) fn line(self, line: usize) -> What {
        match self {
            Self::Stdin(process) => What::Stdin { process, line },
            Self::Stdout(process) => What::Stdout { process, line },
            Self::Hooks => What::Hook { line },
        }
    }
}

impl What {
    /// The line this is about, if it is about one.
    pub(super) fn source(&self) -> Option<(Source, usize)> {
        match *self {
            Self::Stdin { process, line } => Some((Source::Stdin(process), line)),
            Self::Stdout { process, line } => Some((Source::Stdout(process), line)),
            Self::Hook { line } => Some((Source::Hooks, line)),
            _ => None,
        }
    }
}

#[derive(Deserialize)]
struct Written {
    #[serde(default)]
    ms: u64,
    src: String,
    #[serde(default, rename = "line")]
    number: Option<usize>,
    #[serde(default)]
    file: Option<String>,
    #[serde(default)]
    what: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    code: Value,
    #[serde(default)]
    pid: Option<u32>,
    #[serde(default)]
    start: Option<u64>,
}

impl Entry {
    /// Reads one line; none if it is not one of a timeline.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        let line: Written =
            serde_json::from_slice(line).ok().filter(|line: &Written| line.ms <= LONGEST_MS)?;
        let (source, process) = split_source(&line.src);
        let what = match (source, line.number, line.what.as_deref()) {
            ("stdin", Some(number), _) => What::Stdin { process, line: number },
            ("stdout", Some(number), _) => What::Stdout { process, line: number },
            ("hook", Some(number), _) => What::Hook { line: number },
            ("transcript", Some(number), _) => match line.file {
                Some(file) => What::Record { file: file.into(), line: number },
                None => What::Other,
            },
            ("sessions", Some(number), _) => What::Report { line: number },
            ("proc", _, Some("start")) => What::Start {
                process,
                arguments: line.args,
                reference: line.pid.map(|pid| ProcessRef { pid, start: line.start }),
            },
            ("proc", _, Some("start-tui")) => What::StartAtTerminal { process },
            ("proc", _, Some("exit")) => {
                exit_of(&line.code).map_or(What::Other, |exit| What::Exit { process, exit })
            }
            _ => What::Other,
        };
        Some(Self { ms: line.ms, what })
    }
}

/// A recorded exit code; a negative one stands for a signal. A text (an exit at a terminal, read off the
/// screen) is no number to rely on.
pub(super) fn exit_of(code: &Value) -> Option<ProcessExit> {
    let code = i32::try_from(code.as_i64()?).ok()?;
    Some(if code < 0 {
        ProcessExit { code: None, signal: Some(-code) }
    } else {
        ProcessExit { code: Some(code), signal: None }
    })
}

/// `stdout-2` is the standard output of the second process.
fn split_source(source: &str) -> (&str, u32) {
    match source.rsplit_once('-').map(|(name, number)| (name, number.parse())) {
        Some((name, Ok(number))) => (name, number),
        _ => (source, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_line_is_read() {
        let cases = [
            (
                r#"{"ms":5,"src":"stdout","line":2,"type":"x"}"#,
                What::Stdout { process: 1, line: 2 },
            ),
            (r#"{"ms":5,"src":"stdin-3","line":1}"#, What::Stdin { process: 3, line: 1 }),
            (r#"{"ms":5,"src":"stdin","what":"eof"}"#, What::Other),
            (r#"{"ms":5,"src":"hook","line":1,"event":"Stop"}"#, What::Hook { line: 1 }),
            (r#"{"ms":5,"src":"hook","event":"Stop","what":"done"}"#, What::Other),
            (
                r#"{"ms":5,"src":"transcript","file":"-p/s.jsonl","line":3}"#,
                What::Record { file: "-p/s.jsonl".into(), line: 3 },
            ),
            (r#"{"ms":5,"src":"transcript","line":3}"#, What::Other),
            (r#"{"ms":5,"src":"sessions","line":2}"#, What::Report { line: 2 }),
            (
                r#"{"ms":5,"src":"proc-2","what":"start","args":["-p"]}"#,
                What::Start { process: 2, arguments: vec!["-p".into()], reference: None },
            ),
            (
                r#"{"ms":5,"src":"proc","what":"start","pid":7,"start":8}"#,
                What::Start {
                    process: 1,
                    arguments: Vec::new(),
                    reference: Some(ProcessRef { pid: 7, start: Some(8) }),
                },
            ),
            (
                r#"{"ms":5,"src":"proc","what":"start-tui","args":[]}"#,
                What::StartAtTerminal { process: 1 },
            ),
            (
                r#"{"ms":5,"src":"proc","what":"exit","code":-9}"#,
                What::Exit { process: 1, exit: ProcessExit { code: None, signal: Some(9) } },
            ),
            (r#"{"ms":5,"src":"proc","what":"exit","code":"still running"}"#, What::Other),
            (r#"{"ms":5,"src":"screen","what":"exit"}"#, What::Other),
        ];
        for (line, what) in cases {
            assert_eq!(Entry::read(line.as_bytes()), Some(Entry { ms: 5, what }), "{line}");
        }
        assert_eq!(Entry::read(b"{\"ms\":5,\"src"), None);
    }
}
