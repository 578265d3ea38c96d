//! `config …`

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// `config …`
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Write a commented configuration file to start from; never overwrites one
    Init(InitArgs),
    /// Say whether the configuration is valid, and if not, what is wrong where
    Check(CheckArgs),
    /// Print the configuration as it comes to be; secrets are not shown
    Show(ShowArgs),
}

/// `config init`
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Print the file instead of writing it
    #[arg(long)]
    pub(crate) print: bool,
}

/// Which layers are read.
#[derive(Debug, Args)]
pub(crate) struct SourceArgs {
    /// Read this file in place of the user's
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Also read the project's file of this folder [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Set a key on top of everything else
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

/// `config check`
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Which layers
    #[command(flatten)]
    pub(crate) sources: SourceArgs,
}

/// `config show`
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Also say which layer decided each value, and where
    #[arg(long)]
    pub(crate) origin: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ConfigFormat,
    /// Which layers
    #[command(flatten)]
    pub(crate) sources: SourceArgs,
}

/// How a configuration is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConfigFormat {
    /// A line for each value
    #[default]
    Table,
    /// One JSON array of `{key, value, layer, place}`
    Json,
}
