//! What knows one agent: how to read its signals and how to recognise it.
//!
//! A [`Decoder`] is pure and synchronous and cannot fail: bad input is counted, unknown input becomes a
//! `native` draft. A [`Driver`] makes decoders and answers questions about its agent. Neither does I/O.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::digest::Digester;
use crate::draft::Draft;
use crate::event::{RunMode, Scope};
use crate::id::{AgentName, NativeId};
use crate::process::{Ancestor, ProcessExit, ProcessRef};

/// Which way a line on the agent's standard streams went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the host to the agent (its standard input).
    ToAgent,
    /// From the agent to the host (its standard output).
    FromAgent,
}

/// A surface of an agent that a decoder reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// Both directions of the agent's standard streams.
    Stream,
    /// Hook payloads.
    Hook,
    /// Lines of session files.
    Transcript,
    /// The agent's own status files.
    Status,
}

/// How much a decoder reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// Types, ids and states; content is never materialized.
    #[default]
    State,
    /// Everything.
    Full,
}

/// One raw signal.
#[derive(Clone, Copy, Debug)]
pub enum Raw<'a> {
    /// One line of the stream, without its line end.
    Line {
        /// Which way it went.
        direction: Direction,
        /// Its bytes; not necessarily text.
        bytes: &'a [u8],
    },
    /// One message of the stream that the host has already parsed.
    Value {
        /// Which way it went.
        direction: Direction,
        /// The message.
        value: &'a serde_json::Value,
    },
    /// One hook payload.
    Hook {
        /// The payload as the agent wrote it.
        payload: &'a [u8],
        /// What the hook client saw around it.
        context: &'a HookContext,
    },
    /// One whole line of a session file, without its line end.
    Record {
        /// Its bytes; not necessarily text.
        bytes: &'a [u8],
        /// True if it stood there before anybody looked: what it tells is evidence of how things stand, and no
        /// news.
        is_past: bool,
    },
    /// The whole of a status file, as it was read; empty once the file is gone.
    Report {
        /// Its bytes; not necessarily whole.
        bytes: &'a [u8],
    },
    /// Lines were left out here: shed, too long, or lost.
    Gap {
        /// How many.
        lines: u64,
        /// True if one was over the length limit.
        too_long: bool,
    },
    /// The process ended.
    Exit(ProcessExit),
}

/// What the hook client saw around one payload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookContext {
    /// Processes above the hook, nearest first.
    pub ancestors: Vec<Ancestor>,
    /// Environment values from the allow-list.
    pub env: std::collections::BTreeMap<String, String>,
}

/// What became of one raw signal. Every signal is exactly one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decoded {
    /// It was understood, whether or not it made a draft.
    Understood,
    /// It is on the list of what deliberately means nothing.
    Ignored,
    /// It is well formed and unknown; a `native` draft keeps it.
    Native,
    /// It is not what the surface carries (no JSON object, too long).
    Malformed,
}

/// Reads one surface of one process. See the module's words on purity.
pub trait Decoder: Send + fmt::Debug {
    /// Reads one signal, seen at `at`; what it says is appended to `out`.
    fn push(&mut self, raw: Raw<'_>, at: Timestamp, out: &mut Vec<Draft>) -> Decoded;

    /// The surface will say no more; what was held back comes out.
    fn end(&mut self, at: Timestamp, out: &mut Vec<Draft>) {
        let _ = (at, out);
    }

    /// The session the surface speaks of at present, once it is known.
    fn session(&self) -> Option<NativeId> {
        None
    }
}

/// How a decoder is made.
#[derive(Clone, Debug)]
pub struct DecoderOptions {
    /// How much it reads.
    pub reading: Reading,
    /// Makes digests of tool input.
    pub digester: Digester,
    /// The process whose surface it is, if known.
    pub process: Option<ProcessRef>,
    /// The program's arguments, if known: they tell a one-shot run from a hosted one.
    pub arguments: Vec<String>,
    /// The file that is read, for [`Source::Transcript`].
    pub file: Option<SessionFile>,
}

/// A session file: what its place says, and when it began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFile {
    /// The session it is named after.
    pub session: NativeId,
    /// Whose records it holds: the main agent's, or those of one subagent.
    pub scope: Scope,
    /// When the file came to be, if known. Older records were copied into it: they happened elsewhere.
    pub born: Option<Timestamp>,
}

impl DecoderOptions {
    /// Options for a surface of which nothing but itself is known.
    pub fn new(reading: Reading, digester: Digester) -> Self {
        Self { reading, digester, process: None, arguments: Vec::new(), file: None }
    }
}

/// Whether a line may be left out when the decoder is behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// It may carry state: it always reaches the decoder.
    Must,
    /// It carries detail only.
    May,
}

/// All knowledge about one agent.
pub trait Driver: Send + Sync + fmt::Debug {
    /// The agent's name.
    fn agent(&self) -> AgentName;

    /// True if a program of this name (without folder) is this agent.
    fn is_program(&self, name: &str) -> bool;

    /// A decoder for `source`, or none if the agent has no such surface.
    fn decoder(&self, source: Source, options: DecoderOptions) -> Option<Box<dyn Decoder>>;

    /// Whether a line of the stream may be shed; must be cheap and must not parse.
    fn keep(&self, direction: Direction, line: &[u8]) -> Keep {
        let _ = (direction, line);
        Keep::Must
    }

    /// True if a line of a program that nobody named is unmistakably this agent's.
    fn speaks(&self, direction: Direction, line: &[u8]) -> bool {
        let _ = (direction, line);
        false
    }

    /// True if a call with these arguments (without the program) is no session: it is passed through.
    fn is_side_call(&self, arguments: &[OsString]) -> bool {
        let _ = arguments;
        false
    }

    /// How a session is run, by the arguments of its process (without the program); none if they do not say.
    fn run_mode(&self, arguments: &[OsString]) -> Option<RunMode> {
        let _ = arguments;
        None
    }

    /// The agent's own process among a hook's ancestors.
    fn pick_process(&self, context: &HookContext) -> Option<ProcessRef> {
        let _ = context;
        None
    }

    /// The folders in which the agent keeps its settings and sessions, where the environment and the
    /// user's home say nothing else: `variable` gives an environment value.
    #[expect(unused_variables, reason = "names for those who implement it")]
    fn config_folders(
        &self,
        home: &Path,
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Vec<PathBuf> {
        Vec::new()
    }

    /// The folder below a configuration folder that holds session files, at any depth.
    fn session_folder(&self, config: &Path) -> Option<PathBuf> {
        let _ = config;
        None
    }

    /// What a file is, by its path below the session folder; none for a file that is no session's.
    /// `born` is not filled in.
    fn session_file(&self, path: &Path) -> Option<SessionFile> {
        let _ = path;
        None
    }

    /// The folder below a configuration folder in which running processes tell their state, one file each.
    fn status_folder(&self, config: &Path) -> Option<PathBuf> {
        let _ = config;
        None
    }

    /// The process whose status file has this name; none for any other file, which must not be opened.
    fn status_file(&self, name: &OsStr) -> Option<u32> {
        let _ = name;
        None
    }
}
