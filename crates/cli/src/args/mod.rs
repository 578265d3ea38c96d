//! The command line: types only. What a command does stands in `commands`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) mod config;
pub(crate) mod hooks;
pub(crate) mod wrapper;

/// Sees every coding-agent session, knows its true state, and tells whoever should know.
#[derive(Debug, Parser)]
#[command(name = "linelamp", version, propagate_version = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the whole thing at work, with recorded sessions, in a throw-away folder
    Demo(DemoArgs),
    /// Run the daemon in the foreground
    Serve,
    /// Start the daemon in the background
    Up,
    /// Stop the daemon
    Down,
    /// Print the daemon's log
    Logs(LogsArgs),
    /// Run an agent unchanged and report what its stream says
    Wrap(WrapArgs),
    /// Report one hook payload from standard input (called by agents)
    Hook(HookArgs),
    /// Put linelamp's hooks into an agent's settings, or take them out
    #[command(subcommand)]
    Hooks(hooks::HooksCommand),
    /// Set linelamp's launcher in the settings of editors, or take it out
    #[command(subcommand)]
    Wrapper(wrapper::WrapperCommand),
    /// List sessions, those that want somebody first
    Ls(ListArgs),
    /// Show one session
    Show(ShowArgs),
    /// Say why a session is in its state, and what would change it
    Explain(ExplainArgs),
    /// Follow sessions as they change
    Watch(WatchArgs),
    /// Print past events
    History(HistoryArgs),
    /// Play a recording and print what linelamp makes of it
    Replay(ReplayArgs),
    /// Compare what replays tell with what the agent itself told
    Score(ScoreArgs),
    /// Run an agent that speaks a stream and record its session
    Record(RecordArgs),
    /// Write, check or show the configuration
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Print a recording's stream as the agent did (used by the demo)
    #[command(name = "play-agent", hide = true)]
    PlayAgent(PlayAgentArgs),
    /// Print the JSON Schema of events
    #[command(hide = true)]
    Schema,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Table,
    /// One JSON document
    Json,
    /// One JSON object a line
    Ndjson,
}

/// `demo`
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// How many times faster than recorded
    #[arg(long, default_value_t = 1.0, value_name = "N")]
    pub(crate) speed: f64,
}

/// `logs`
#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// How many lines from the end
    #[arg(short = 'n', long, default_value_t = 100)]
    pub(crate) lines: usize,
    /// Go on printing as lines come
    #[arg(short, long)]
    pub(crate) follow: bool,
}

/// `wrap`
#[derive(Debug, Args)]
pub(crate) struct WrapArgs {
    /// Which agent it is; otherwise the program's name or its first line tells
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "CMD"
    )]
    pub(crate) command: Vec<OsString>,
}

/// `hook`; listed for `--help` only, the command itself is dispatched before the command line is parsed.
#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// Whose hook it is
    #[arg(long, value_name = "NAME", default_value = "claude-code")]
    pub(crate) agent: String,
}

/// `ls`
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Also sessions that ended a while ago, that nobody knows to live, and of which nothing was ever asked
    #[arg(short, long)]
    pub(crate) all: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// `show`
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The session's id, or the beginning of it
    pub(crate) id: String,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// `explain`
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The session's id, or the beginning of it
    pub(crate) id: String,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// `watch`
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// How to print; `ndjson` gives every event
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// `history`
#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// Only this session: its id, or the beginning of it
    pub(crate) id: Option<String>,
    /// Only these kinds; `*` stands for anything, as in `turn.*`
    #[arg(short, long, value_name = "KIND")]
    pub(crate) kind: Vec<String>,
    /// Only events after this order number
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    pub(crate) after: u64,
    /// At most so many, the newest; 0 is all
    #[arg(short = 'n', long, default_value_t = 0)]
    pub(crate) limit: usize,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// `score`
#[derive(Debug, Args)]
pub(crate) struct ScoreArgs {
    /// Recordings that hold the agent's status files
    #[arg(required = true)]
    pub(crate) dirs: Vec<PathBuf>,
    /// Which feeds to play, separated by commas; repeat it to compare several sets
    #[arg(long, value_name = "FEEDS")]
    pub(crate) feeds: Vec<String>,
    /// Every sample that was wrong
    #[arg(long)]
    pub(crate) verbose: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// `replay`
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The recording's folder
    pub(crate) dir: PathBuf,
    /// Which feeds to play, separated by commas; without it all that the folder holds
    #[arg(long, value_delimiter = ',', value_name = "FEED")]
    pub(crate) feeds: Vec<String>,
    /// Every event instead of state changes
    #[arg(long, conflicts_with_all = ["stats", "to_daemon"])]
    pub(crate) events: bool,
    /// Counts of lines and events instead of state changes
    #[arg(long, conflicts_with = "to_daemon")]
    pub(crate) stats: bool,
    /// Feed the running daemon instead of printing
    #[arg(long)]
    pub(crate) to_daemon: bool,
    /// Play so many times faster than recorded; without it as fast as possible, into the daemon as recorded
    #[arg(long, value_name = "N")]
    pub(crate) speed: Option<f64>,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// `record`
#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// Which agent it is; otherwise the program's name tells
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Where the recording goes; must not exist or be empty
    pub(crate) dir: PathBuf,
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "CMD"
    )]
    pub(crate) command: Vec<OsString>,
}

/// `play-agent`
#[derive(Debug, Args)]
pub(crate) struct PlayAgentArgs {
    /// The recording's folder
    pub(crate) dir: PathBuf,
    /// How many times faster than recorded
    #[arg(long, default_value_t = 1.0)]
    pub(crate) speed: f64,
}
