//! The command line of `hooks`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use linelamp_drivers::claude_code::settings;

/// `hooks …`
#[derive(Debug, Subcommand)]
pub(crate) enum HooksCommand {
    /// Add our hooks; what is there stays
    Install(InstallArgs),
    /// Remove our hooks and nothing else
    Uninstall(UninstallArgs),
    /// Say what is installed, and whether it is heard of
    Status(StatusArgs),
}

/// `hooks install`
#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    #[command(flatten)]
    pub(crate) files: FilesArgs,
    /// The agent's version; without it the installed program is asked
    #[arg(long, value_name = "VERSION")]
    pub(crate) agent_version: Option<String>,
    /// Print what would change, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `hooks uninstall`
#[derive(Debug, Args)]
pub(crate) struct UninstallArgs {
    #[command(flatten)]
    pub(crate) files: FilesArgs,
    /// Print what would change, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `hooks status`
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) files: FilesArgs,
    /// The agent's version; without it the installed program is asked
    #[arg(long, value_name = "VERSION")]
    pub(crate) agent_version: Option<String>,
}

/// Whose settings, and which.
#[derive(Debug, Args)]
pub(crate) struct FilesArgs {
    /// Which agent
    #[arg(long, value_name = "NAME", default_value = "claude-code")]
    pub(crate) agent: String,
    /// Which settings; can be repeated. Without it the user's; `status` looks at all that exist
    #[arg(long, value_enum, value_name = "LEVEL", value_delimiter = ',')]
    pub(crate) level: Vec<Level>,
    /// The agent's own folder, in place of the one its environment names or ~/.claude; can be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) config_dir: Vec<PathBuf>,
    /// This settings file and no other
    #[arg(long, value_name = "FILE", conflicts_with_all = ["level", "config_dir"])]
    pub(crate) settings: Option<PathBuf>,
}

/// The level of a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    /// For all your sessions
    User,
    /// For all who work in this project: .claude/settings.json
    Project,
    /// For you in this project: .claude/settings.local.json
    Local,
}

impl From<Level> for settings::Level {
    fn from(level: Level) -> Self {
        match level {
            Level::User => Self::User,
            Level::Project => Self::Project,
            Level::Local => Self::Local,
        }
    }
}
