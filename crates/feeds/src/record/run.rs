//! Running the agent with its streams in our hands.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use linelamp_core::process::ProcessExit;
use linelamp_core::{AgentName, Timestamp};
use serde_json::json;

use super::files::{self, AgentFiles};
use super::folder::{Folder, Stream};
#[cfg(unix)]
use super::unix as platform;
#[cfg(windows)]
use super::windows as platform;
use crate::process;
use crate::spool::{FOLDER, is_spool_name, read_header};

/// How often the private spool and the agent's own files are looked at.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(10);

/// After the program's end its last output is waited for so long: a process it left behind may hold the pipe.
const REST: Duration = Duration::from_secs(2);

/// One program to run and record.
pub struct RecordOptions {
    /// Where the recording goes: a folder that does not exist, or is empty.
    pub folder: PathBuf,
    /// The agent it is, for whoever replays it.
    pub agent: Option<AgentName>,
    /// The program, looked up as a shell would.
    pub program: OsString,
    /// Its arguments, as they are recorded.
    pub arguments: Vec<OsString>,
    /// More arguments that are not recorded: those that make its hooks report to us.
    pub hidden_arguments: Vec<OsString>,
    /// Changes to its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The state folder its hooks report to, which nobody else uses.
    pub hooks: Option<PathBuf>,
    /// Where it writes about itself.
    pub files: Option<AgentFiles>,
}

impl fmt::Debug for RecordOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Arguments may hold a prompt, the environment a secret.
        formatter
            .debug_struct("RecordOptions")
            .field("folder", &self.folder)
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}

/// How a recorded run ended.
#[derive(Debug)]
pub struct RecordEnd {
    /// How the program ended.
    pub exit: ProcessExit,
    /// Why the recording is not whole, if it is not.
    pub incomplete: Option<io::Error>,
}

/// Why nothing was run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The folder holds something already.
    #[error("{0} is not empty")]
    NotEmpty(PathBuf),
    /// The folder or a file in it cannot be made.
    #[error("cannot write to {path}")]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The program cannot be run.
    #[error("cannot run {program}")]
    Run {
        /// Which.
        program: String,
        /// Why.
        source: io::Error,
    },
}

/// Runs the program between `input`, `output` and `errors`, and records it until it ends.
///
/// `input` may be waited for by a thread that outlives the call.
///
/// # Errors
///
/// [`RecordError`] if it could not begin. Once the program runs, nothing that goes wrong with the recording
/// touches it; the answer says so.
pub fn record(
    options: &RecordOptions,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    errors: impl Write + Send + 'static,
) -> Result<RecordEnd, RecordError> {
    let folder = Arc::new(prepare(&options.folder)?);
    let arguments: Vec<String> =
        options.arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut meta = json!({
        "recorded_by": concat!("linelamp ", env!("CARGO_PKG_VERSION")),
        "agent": options.agent,
        "argv": [options.program.to_string_lossy()],
        "args": [arguments],
        "cwd": std::env::current_dir().ok(),
        "started_at": Timestamp::now(),
        "exit_codes": [],
    });
    let written = |result: io::Result<()>| {
        result.map_err(|source| RecordError::Write { path: options.folder.clone(), source })
    };
    written(folder.meta(&meta))?;

    let mut child = Command::new(&options.program)
        .args(&options.arguments)
        .args(&options.hidden_arguments)
        .envs(options.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| RecordError::Run {
            program: options.program.to_string_lossy().into_owned(),
            source,
        })?;
    let process = process::reference(child.id());
    folder.started(&arguments, process);

    let is_over = Arc::new(AtomicBool::new(false));
    let hooks = options.hooks.as_deref().map(|state| {
        let (folder, spool, is_over) =
            (Arc::clone(&folder), state.join(FOLDER), Arc::clone(&is_over));
        std::thread::spawn(move || watch_hooks(&folder, &spool, &is_over))
    });
    let files = options.files.clone().map(|files| {
        let (folder, is_over) = (Arc::clone(&folder), Arc::clone(&is_over));
        std::thread::spawn(move || files::watch(&folder, &files, process, &is_over))
    });
    if let Some(stdin) = child.stdin.take() {
        let folder = Arc::clone(&folder);
        std::thread::spawn(move || {
            pass(input, stdin, Gone::Stop, |bytes| folder.bytes(Stream::Stdin, bytes));
            folder.end_of(Stream::Stdin);
        });
    }
    let stdout = child.stdout.take().map(|stdout| {
        let folder = Arc::clone(&folder);
        std::thread::spawn(move || {
            pass(stdout, output, Gone::GoOn, |bytes| folder.bytes(Stream::Stdout, bytes));
            folder.end_of(Stream::Stdout);
        })
    });
    let stderr = child.stderr.take().map(|stderr| {
        let folder = Arc::clone(&folder);
        std::thread::spawn(move || {
            pass(stderr, errors, Gone::GoOn, |bytes| folder.error_output(bytes));
        })
    });
    let status = child.wait();
    let until = Instant::now() + REST;
    for thread in [stdout, stderr].into_iter().flatten() {
        while !thread.is_finished() && Instant::now() < until {
            std::thread::sleep(LOOK_EVERY);
        }
    }
    is_over.store(true, Ordering::Release);
    for thread in [hooks, files].into_iter().flatten() {
        thread.join().ok();
    }
    let exit = status.map_or(ProcessExit { code: Some(1), signal: None }, platform::exit);
    folder.ended(exit);
    let code = exit.code.or(exit.signal.map(|signal| -signal));
    if let Some(codes) = meta.get_mut("exit_codes") {
        *codes = json!([code]);
    }
    let meta = folder.meta(&meta);
    Ok(RecordEnd { exit, incomplete: folder.finish().or(meta.err()) })
}

fn prepare(path: &Path) -> Result<Folder, RecordError> {
    let failed = |source| RecordError::Write { path: path.to_owned(), source };
    platform::create_private_folder(path).map_err(failed)?;
    if std::fs::read_dir(path).map_err(failed)?.next().is_some() {
        return Err(RecordError::NotEmpty(path.to_owned()));
    }
    Folder::begin(path).map_err(failed)
}

/// What to do when nobody takes the bytes any more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gone {
    /// What is not taken was not said.
    Stop,
    /// The rest is read and seen all the same, so that the recording is whole.
    GoOn,
}

/// Passes bytes on, and shows them afterwards.
fn pass(mut from: impl Read, to: impl Write, gone: Gone, mut seen: impl FnMut(&[u8])) {
    let mut buffer = vec![0; 64 << 10];
    let mut to = Some(to);
    loop {
        let bytes = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => buffer.get(..length).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        if let Some(writer) = &mut to
            && writer.write_all(bytes).and_then(|()| writer.flush()).is_err()
        {
            if gone == Gone::Stop {
                return;
            }
            to = None;
        }
        seen(bytes);
    }
}

/// Takes hook calls from the private spool, oldest first, until the program is over and all are taken.
fn watch_hooks(folder: &Folder, spool: &Path, is_over: &AtomicBool) {
    loop {
        let was_over = is_over.load(Ordering::Acquire);
        let mut files: Vec<PathBuf> = std::fs::read_dir(spool)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| is_spool_name(&entry.file_name()))
            .map(|entry| entry.path())
            .collect();
        files.sort_unstable();
        for path in files {
            let Ok(file) = std::fs::read(&path) else { continue };
            if let Ok((header, payload)) = read_header(&file) {
                folder.hook(payload, &header.context());
            }
            std::fs::remove_file(path).ok();
        }
        if was_over {
            return;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}
