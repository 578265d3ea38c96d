//! A recording folder, read into steps.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use linelamp_core::driver::{Direction, HookContext};
use linelamp_core::process::{ProcessExit, ProcessRef};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::feeds::{FeedSet, RecordedFeed};
use super::file::LineFile;
use super::interleave::interleave;
use super::timeline::{Entry, Source, What, exit_of};

/// Why a folder cannot be replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// A file cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The folder is not there or is none.
    #[error("{0} is no folder")]
    NoFolder(PathBuf),
    /// The folder holds nothing that can be replayed.
    #[error(
        "{0} holds no recording: neither stdout.ndjson nor stdin.ndjson nor hooks.ndjson is in it"
    )]
    Nothing(PathBuf),
}

/// One thing that was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Step<'a> {
    /// Milliseconds since the recording began.
    pub ms: u64,
    /// Which feed saw it.
    pub feed: RecordedFeed,
    /// What it was.
    pub signal: Signal<'a>,
    /// What was around a hook call, as far as that was recorded.
    pub context: HookContext,
}

/// What was seen. Processes of a recording are numbered from 1.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal<'a> {
    /// A process began.
    Start {
        /// Which.
        process: u32,
        /// Its arguments, without the program.
        arguments: &'a [String],
        /// Its pid and start time, if they were recorded.
        reference: Option<ProcessRef>,
    },
    /// A line of its standard streams.
    Line {
        /// Which process.
        process: u32,
        /// Which way it went.
        direction: Direction,
        /// The line, without its end.
        bytes: &'a [u8],
    },
    /// A hook payload.
    Hook {
        /// The payload.
        payload: &'a [u8],
    },
    /// A line of a session file.
    Record {
        /// The file's path below the agent's session folder.
        file: &'a str,
        /// The line, without its end.
        bytes: &'a [u8],
    },
    /// A status file as it was read; no bytes once it was gone.
    Report {
        /// The file's name.
        file: Cow<'a, str>,
        /// What it held.
        bytes: &'a [u8],
    },
    /// A process ended.
    Exit {
        /// Which.
        process: u32,
        /// How.
        exit: ProcessExit,
    },
}

/// A recording in memory.
#[derive(Debug)]
pub struct Recording {
    entries: Vec<Entry>,
    stdin: BTreeMap<u32, LineFile>,
    stdout: BTreeMap<u32, LineFile>,
    hooks: Option<LineFile>,
    contexts: Option<LineFile>,
    transcripts: BTreeMap<Arc<str>, LineFile>,
    reports: Option<LineFile>,
    program: Option<String>,
    has_timeline: bool,
    end_ms: u64,
}

impl Recording {
    /// Reads the folder.
    ///
    /// # Errors
    ///
    /// [`RecordingError`] if a file cannot be read or nothing in it can be replayed. What is odd within a
    /// file is no error: a timeline line that cannot be read is skipped.
    pub fn open(folder: &Path) -> Result<Self, RecordingError> {
        if !folder.is_dir() {
            return Err(RecordingError::NoFolder(folder.to_owned()));
        }
        let read = |name: &str| {
            let path = folder.join(name);
            LineFile::read(&path).map_err(|source| RecordingError::Read { path, source })
        };
        let numbered = |name: &str| {
            let mut files = BTreeMap::new();
            for process in 1_u32.. {
                let suffix = if process == 1 { String::new() } else { format!("-{process}") };
                match read(&format!("{name}{suffix}.ndjson"))? {
                    Some(file) => _ = files.insert(process, file),
                    // Numbers may be left out where a process had no such stream.
                    None if process >= MOST_PROCESSES => break,
                    None => {}
                }
            }
            Ok::<_, RecordingError>(files)
        };
        let (stdin, stdout, hooks) =
            (numbered("stdin")?, numbered("stdout")?, read("hooks.ndjson")?);
        let timeline = read("timeline.ndjson")?;
        if stdin.is_empty() && stdout.is_empty() && hooks.is_none() && timeline.is_none() {
            return Err(RecordingError::Nothing(folder.to_owned()));
        }
        let meta = Meta::new(read("meta.json")?);
        let mut recording = Self {
            entries: Vec::new(),
            stdin,
            stdout,
            hooks,
            contexts: read("hook-context.ndjson")?,
            transcripts: BTreeMap::new(),
            reports: read("sessions.ndjson")?,
            program: meta.program(),
            has_timeline: timeline.is_some(),
            end_ms: 0,
        };
        match timeline {
            Some(timeline) => {
                recording.follow(&timeline);
                recording.read_transcripts(&folder.join("transcript"))?;
            }
            None => recording.guess(&meta),
        }
        recording.end_ms = recording.entries.last().map_or(0, |entry| entry.ms);
        Ok(recording)
    }

    /// What the folder holds and can be played together. Without a timeline nobody knows when hooks were
    /// called, so beside a stream they are left out.
    pub fn feeds(&self) -> FeedSet {
        let stream = !self.stdin.is_empty() || !self.stdout.is_empty();
        let hooks = self.hooks.is_some() && (self.has_timeline || !stream);
        // What files held at what time only a timeline tells.
        let transcript = !self.transcripts.is_empty();
        let status = self.reports.is_some() && self.has_timeline;
        [
            (stream, RecordedFeed::Stream),
            (hooks, RecordedFeed::Hooks),
            (transcript, RecordedFeed::Transcript),
            (status, RecordedFeed::Status),
        ]
        .into_iter()
        .filter_map(|(is_there, feed)| is_there.then_some(feed))
        .collect()
    }

    /// The recorded program's name, if the recording says it: to choose a driver by.
    pub fn program(&self) -> Option<&str> {
        self.program.as_deref()
    }

    /// When the recording ends, which may be after the last step.
    pub fn end_ms(&self) -> u64 {
        self.end_ms
    }

    /// How many [`step`](Self::step) numbers there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// When entry number `index` is, from 0.
    pub(super) fn ms(&self, index: usize) -> Option<u64> {
        self.entries.get(index).map(|entry| entry.ms)
    }

    /// Entry number `index`, from 0; none where it is of a kind that is not replayed, or what it
    /// points to is not there.
    pub fn step(&self, index: usize) -> Option<Step<'_>> {
        let entry = self.entries.get(index)?;
        let (feed, signal) = match &entry.what {
            What::Start { process, arguments, reference } => (
                RecordedFeed::Stream,
                Signal::Start { process: *process, arguments, reference: *reference },
            ),
            What::Exit { process, exit } => {
                (RecordedFeed::Stream, Signal::Exit { process: *process, exit: *exit })
            }
            What::Stdin { process, line } => {
                let bytes = self.stdin.get(process)?.line(*line)?;
                let direction = Direction::ToAgent;
                (RecordedFeed::Stream, Signal::Line { process: *process, direction, bytes })
            }
            What::Stdout { process, line } => {
                let bytes = self.stdout.get(process)?.line(*line)?;
                let direction = Direction::FromAgent;
                (RecordedFeed::Stream, Signal::Line { process: *process, direction, bytes })
            }
            What::Hook { line } => {
                let payload = payload_of(self.hooks.as_ref()?.line(*line)?);
                (RecordedFeed::Hooks, Signal::Hook { payload })
            }
            What::Record { file, line } => {
                let bytes = self.transcripts.get(file)?.line(*line)?;
                (RecordedFeed::Transcript, Signal::Record { file, bytes })
            }
            What::Report { line } => {
                let (file, bytes) = report_of(self.reports.as_ref()?.line(*line)?)?;
                (RecordedFeed::Status, Signal::Report { file, bytes })
            }
            What::StartAtTerminal { .. } | What::Other => return None,
        };
        let context = match &entry.what {
            What::Hook { line } => self.context(*line),
            _ => HookContext::default(),
        };
        Some(Step { ms: entry.ms, feed, signal, context })
    }

    fn context(&self, line: usize) -> HookContext {
        let line = self.contexts.as_ref().and_then(|contexts| contexts.line(line));
        line.and_then(|line| serde_json::from_slice(line).ok()).unwrap_or_default()
    }

    /// All steps, in order.
    pub fn steps(&self) -> impl Iterator<Item = Step<'_>> {
        (0..self.entries.len()).filter_map(|index| self.step(index))
    }

    /// Takes the order from the timeline.
    fn follow(&mut self, timeline: &LineFile) {
        let mut at_terminal = BTreeMap::new();
        let mut now = 0;
        for number in 1..=timeline.len() {
            let Some(mut entry) = timeline.line(number).and_then(Entry::read) else { continue };
            // The order counts; a clock that went back does not.
            now = entry.ms.max(now);
            entry.ms = now;
            match &entry.what {
                What::Start { process, .. } => _ = at_terminal.insert(*process, false),
                What::StartAtTerminal { process } => _ = at_terminal.insert(*process, true),
                What::Exit { process, .. } if at_terminal.get(process) == Some(&true) => {
                    entry.what = What::Other;
                }
                _ => {}
            }
            self.entries.push(entry);
        }
        self.add_what_the_timeline_left_out();
    }

    /// The session files that the timeline names.
    fn read_transcripts(&mut self, folder: &Path) -> Result<(), RecordingError> {
        for entry in &self.entries {
            let What::Record { file, .. } = &entry.what else { continue };
            let is_inside = |part| matches!(part, Component::Normal(_));
            let is_known = self.transcripts.contains_key(file);
            if is_known || !Path::new(&**file).components().all(is_inside) {
                continue;
            }
            let path = folder.join(&**file);
            let read = LineFile::read(&path);
            if let Some(lines) = read.map_err(|source| RecordingError::Read { path, source })? {
                self.transcripts.insert(Arc::clone(file), lines);
            }
        }
        Ok(())
    }

    /// Lines that no timeline line names follow the last one that is named, one line = 1 ms, but come
    /// before their process's exit.
    fn add_what_the_timeline_left_out(&mut self) {
        let mut named: HashMap<Source, (HashSet<usize>, u64)> = HashMap::new();
        let (mut starts, mut exits) = (HashMap::new(), HashMap::new());
        for entry in &self.entries {
            match &entry.what {
                What::Start { process, .. } => _ = starts.insert(*process, entry.ms),
                What::Exit { process, .. } => _ = exits.insert(*process, entry.ms),
                what => {
                    if let Some((source, line)) = what.source() {
                        let (lines, last) = named.entry(source).or_default();
                        lines.insert(line);
                        *last = entry.ms;
                    }
                }
            }
        }
        let stdin =
            self.stdin.iter().map(|(&process, file)| (Source::Stdin(process), process, file));
        let stdout =
            self.stdout.iter().map(|(&process, file)| (Source::Stdout(process), process, file));
        let hooks = self.hooks.iter().map(|file| (Source::Hooks, 0, file));
        let mut left_out: Vec<Entry> = Vec::new();
        for (source, process, file) in stdin.chain(stdout).chain(hooks) {
            let (lines, last) = named.remove(&source).unwrap_or_default();
            let mut ms = last.max(starts.get(&process).copied().unwrap_or(0));
            for line in (1..=file.len()).filter(|line| !lines.contains(line)) {
                ms = (ms + 1).min(exits.get(&process).copied().unwrap_or(u64::MAX));
                left_out.push(Entry { ms, what: source.line(line) });
            }
        }
        if !left_out.is_empty() {
            // First in the list, so that the stable sort leaves an exit of the same time behind them.
            left_out.append(&mut self.entries);
            left_out.sort_by_key(|entry| entry.ms);
            self.entries = left_out;
        }
    }

    /// Makes an order where there is no timeline: process by process, one line = 1 ms.
    fn guess(&mut self, meta: &Meta) {
        let mut now = 0;
        let mut entries = Vec::new();
        let processes: BTreeSet<u32> =
            self.stdin.keys().chain(self.stdout.keys()).copied().collect();
        let none = LineFile::default();
        for process in processes {
            let (stdin, stdout) = (
                self.stdin.get(&process).unwrap_or(&none),
                self.stdout.get(&process).unwrap_or(&none),
            );
            entries.push(Entry {
                ms: now,
                what: What::Start { process, arguments: meta.arguments(process), reference: None },
            });
            for (direction, line) in interleave(stdin, stdout) {
                now += 1;
                let what = match direction {
                    Direction::ToAgent => What::Stdin { process, line },
                    Direction::FromAgent => What::Stdout { process, line },
                };
                entries.push(Entry { ms: now, what });
            }
            if let Some(exit) = meta.exit(process) {
                now += 1;
                entries.push(Entry { ms: now, what: What::Exit { process, exit } });
            }
        }
        // Nothing says when a hook was called; a folder with hooks alone is replayed in their order.
        for line in 1..=self.hooks.as_ref().map_or(0, LineFile::len) {
            now += 1;
            entries.push(Entry { ms: now, what: What::Hook { line } });
        }
        self.entries = entries;
    }
}

/// A hook's payload, which some recordings keep beside the hook's arguments.
fn payload_of(line: &[u8]) -> &[u8] {
    #[derive(Deserialize)]
    struct Call<'a> {
        #[serde(borrow)]
        argv: &'a RawValue,
        #[serde(borrow)]
        stdin: &'a RawValue,
    }
    match serde_json::from_slice::<Call<'_>>(line) {
        Ok(call) if call.argv.get().starts_with('[') => call.stdin.get().as_bytes(),
        _ => line,
    }
}

/// A status file's name and what it held: nothing once it was gone.
fn report_of(line: &[u8]) -> Option<(Cow<'_, str>, &[u8])> {
    #[derive(Deserialize)]
    struct Report<'a> {
        #[serde(borrow)]
        file: Cow<'a, str>,
        #[serde(borrow)]
        data: &'a RawValue,
    }
    let report: Report<'_> = serde_json::from_slice(line).ok()?;
    let data = report.data.get();
    Some((report.file, if data == "null" { b"" } else { data.as_bytes() }))
}

/// How far the numbers of a recording's processes go.
const MOST_PROCESSES: u32 = 64;

/// `meta.json`, as far as it helps.
struct Meta(Value);

impl Meta {
    fn new(file: Option<LineFile>) -> Self {
        let text = file.map(|file| file.bytes().to_vec()).unwrap_or_default();
        Self(serde_json::from_slice(&text).unwrap_or_default())
    }

    fn program(&self) -> Option<String> {
        let first = |key| self.0.get(key).and_then(Value::as_str);
        let argv = self.0.pointer("/argv/0").and_then(Value::as_str);
        let name = first("agent").or(first("cli")).or(argv)?;
        name.rsplit('/').next().map(str::to_owned)
    }

    /// The arguments of a process: `args` holds a list for each, `argv` the program and its arguments.
    fn arguments(&self, process: u32) -> Vec<String> {
        let of_process = self
            .0
            .get("args")
            .and_then(|lists| lists.get(process as usize - 1))
            .and_then(Value::as_array)
            .map(Vec::as_slice);
        let argv = self.0.get("argv").and_then(Value::as_array).and_then(|argv| argv.get(1..));
        of_process
            .or(argv)
            .unwrap_or_default()
            .iter()
            .filter_map(|argument| argument.as_str().map(str::to_owned))
            .collect()
    }

    fn exit(&self, process: u32) -> Option<ProcessExit> {
        let codes = self.0.get("exit_codes").and_then(|codes| codes.get(process as usize - 1));
        exit_of(codes.or_else(|| self.0.get("exit_code").filter(|_| process == 1))?)
    }
}
