//! The recording's files while they grow.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use linelamp_core::driver::HookContext;
use linelamp_core::process::{ProcessExit, ProcessRef};
use serde_json::{Map, Value, json};

#[cfg(unix)]
use super::unix as platform;
#[cfg(windows)]
use super::windows as platform;

/// A stream of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stream {
    /// What it reads.
    Stdin,
    /// What it writes.
    Stdout,
}

impl Stream {
    fn name(self) -> &'static str {
        match self {
            Self::Stdin => "stdin",
            Self::Stdout => "stdout",
        }
    }
}

/// All files, in the order things are seen. Shared by the threads that see them.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    start: Instant,
    files: Mutex<Files>,
}

#[derive(Debug)]
struct Files {
    timeline: File,
    streams: HashMap<Stream, StreamFile>,
    hooks: Option<(File, File)>,
    calls: u64,
    reports: Option<(File, u64)>,
    records: HashMap<String, (File, u64)>,
    stderr: Option<File>,
    /// The first write that failed; nothing is written after it.
    failed: Option<io::Error>,
    /// The recording is over; a thread that still hears something is too late.
    is_over: bool,
}

#[derive(Debug)]
struct StreamFile {
    file: File,
    lines: u64,
    /// Bytes since the last line end.
    is_open: bool,
}

impl Folder {
    /// Begins the recording in a folder that is there already and empty.
    pub(super) fn begin(path: &Path) -> io::Result<Self> {
        let files = Files {
            timeline: create(path, "timeline.ndjson")?,
            streams: HashMap::new(),
            hooks: None,
            calls: 0,
            reports: None,
            records: HashMap::new(),
            stderr: None,
            failed: None,
            is_over: false,
        };
        Ok(Self { path: path.to_owned(), start: Instant::now(), files: Mutex::new(files) })
    }

    /// Writes `meta.json` anew.
    pub(super) fn meta(&self, meta: &Value) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(meta)?;
        text.push(b'\n');
        let mut options = OpenOptions::new();
        platform::make_private(options.write(true).create(true).truncate(true))
            .open(self.path.join("meta.json"))?
            .write_all(&text)
    }

    /// The process began.
    pub(super) fn started(&self, arguments: &[String], process: ProcessRef) {
        self.note(|_, _| {
            Ok(Some(json!({
                "src": "proc", "what": "start", "args": arguments,
                "pid": process.pid, "start": process.start,
            })))
        });
    }

    /// The process ended.
    pub(super) fn ended(&self, exit: ProcessExit) {
        let code = exit.code.or(exit.signal.map(|signal| -signal));
        self.note(|_, _| Ok(Some(json!({ "src": "proc", "what": "exit", "code": code }))));
    }

    /// Bytes of a stream; each line end in them is a line seen at this moment.
    pub(super) fn bytes(&self, stream: Stream, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.note(|files, path| {
                let file = files.stream(stream, path)?;
                file.file.write_all(piece)?;
                file.is_open = !piece.ends_with(b"\n");
                Ok(file.next_line(stream))
            });
        }
    }

    /// The stream is at its end; a last line without an end counts.
    pub(super) fn end_of(&self, stream: Stream) {
        self.note(|files, _| {
            let Some(file) = files.streams.get_mut(&stream) else { return Ok(None) };
            if !std::mem::take(&mut file.is_open) {
                return Ok(None);
            }
            Ok(file.next_line(stream))
        });
        self.note(|_, _| Ok(Some(json!({ "src": stream.name(), "what": "eof" }))));
    }

    /// Bytes of the error output; it is kept and has no place in the timeline.
    pub(super) fn error_output(&self, bytes: &[u8]) {
        self.note(|files, path| {
            let file = match &mut files.stderr {
                Some(file) => file,
                none => none.insert(create(path, "stderr.txt")?),
            };
            file.write_all(bytes)?;
            Ok(None)
        });
    }

    /// A hook was called. A payload with line ends in it is written without them, so that it is one line;
    /// JSON has none that matter.
    pub(super) fn hook(&self, payload: &[u8], context: &HookContext) {
        self.note(|files, path| {
            let (payloads, contexts) = match &mut files.hooks {
                Some(open) => open,
                none => none
                    .insert((create(path, "hooks.ndjson")?, create(path, "hook-context.ndjson")?)),
            };
            let mut line: Vec<u8> =
                payload.iter().copied().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
            line.push(b'\n');
            payloads.write_all(&line)?;
            let mut line = serde_json::to_vec(context)?;
            line.push(b'\n');
            contexts.write_all(&line)?;
            files.calls += 1;
            let event = serde_json::from_slice::<Value>(payload)
                .ok()
                .and_then(|payload| payload.get("hook_event_name")?.as_str().map(str::to_owned));
            Ok(Some(json!({ "src": "hook", "line": files.calls, "event": event })))
        });
    }

    /// A status file changed; none if it is gone. What it holds is JSON, and written as one line.
    pub(super) fn report(&self, name: &str, bytes: Option<&[u8]>) {
        self.note(|files, path| {
            let (file, reports) = match &mut files.reports {
                Some(open) => open,
                none => none.insert((create(path, "sessions.ndjson")?, 0)),
            };
            let data: Value = bytes.map(serde_json::from_slice).transpose()?.unwrap_or_default();
            let mut line = serde_json::to_vec(&json!({ "file": name, "data": data }))?;
            line.push(b'\n');
            file.write_all(&line)?;
            *reports += 1;
            Ok(Some(json!({ "src": "sessions", "line": reports, "file": name })))
        });
    }

    /// A line was added to a session file.
    pub(super) fn record(&self, name: &str, line: &[u8]) {
        self.note(|files, path| {
            let (file, lines) = match files.records.entry(name.to_owned()) {
                std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::hash_map::Entry::Vacant(entry) => {
                    let path = path.join("transcript").join(name);
                    let folder = path.parent().unwrap_or(&path);
                    let file_name = path.file_name().unwrap_or_default().to_string_lossy();
                    platform::create_private_folder(folder)?;
                    entry.insert((create(folder, &file_name)?, 0))
                }
            };
            file.write_all(line)?;
            file.write_all(b"\n")?;
            *lines += 1;
            Ok(Some(json!({ "src": "transcript", "file": name, "line": lines })))
        });
    }

    /// Nothing is written any more. Gives what went wrong first, if anything did.
    pub(super) fn finish(&self) -> Option<io::Error> {
        let mut files = self.files();
        files.is_over = true;
        files.failed.take()
    }

    /// Does something with the files and notes in the timeline what it was.
    fn note(&self, act: impl FnOnce(&mut Files, &Path) -> io::Result<Option<Value>>) {
        let mut files = self.files();
        if files.failed.is_some() || files.is_over {
            return;
        }
        // Taken under the lock: the timeline's order and its clock agree.
        let ms = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        let done = act(&mut files, &self.path).and_then(|entry| match entry {
            Some(Value::Object(fields)) => {
                let mut line = Map::from_iter([("ms".to_owned(), ms.into())]);
                line.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
                let mut line = serde_json::to_vec(&line)?;
                line.push(b'\n');
                files.timeline.write_all(&line)
            }
            _ => Ok(()),
        });
        if let Err(error) = done {
            files.failed = Some(error);
        }
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Files {
    fn stream(&mut self, stream: Stream, path: &Path) -> io::Result<&mut StreamFile> {
        match self.streams.entry(stream) {
            std::collections::hash_map::Entry::Occupied(entry) => Ok(entry.into_mut()),
            std::collections::hash_map::Entry::Vacant(entry) => {
                let file = create(path, &format!("{}.ndjson", stream.name()))?;
                Ok(entry.insert(StreamFile { file, lines: 0, is_open: false }))
            }
        }
    }
}

impl StreamFile {
    /// The timeline's word for a line that is whole.
    fn next_line(&mut self, stream: Stream) -> Option<Value> {
        if self.is_open {
            return None;
        }
        self.lines += 1;
        Some(json!({ "src": stream.name(), "line": self.lines }))
    }
}

fn create(folder: &Path, name: &str) -> io::Result<File> {
    platform::make_private(OpenOptions::new().write(true).create_new(true)).open(folder.join(name))
}
