//! The command line of `wrapper`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use linelamp_drivers::claude_code::editor;

/// `wrapper …`
#[derive(Debug, Subcommand)]
pub(crate) enum WrapperCommand {
    /// Set our launcher; another tool's is called by it
    Install(ChangeArgs),
    /// Take our launcher out and give back what stood there
    Uninstall(ChangeArgs),
    /// Say what each editor starts
    Status(WhereArgs),
}

/// `wrapper install` and `wrapper uninstall`
#[derive(Debug, Args)]
pub(crate) struct ChangeArgs {
    #[command(flatten)]
    pub(crate) place: WhereArgs,
    /// Print what would change, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Which settings.
#[derive(Debug, Args)]
pub(crate) struct WhereArgs {
    /// Which editor; can be repeated. Without it all that are there
    #[arg(long, value_enum, value_name = "EDITOR", value_delimiter = ',')]
    pub(crate) editor: Vec<Editor>,
    /// This settings file and no other
    #[arg(long, value_name = "FILE", conflicts_with = "editor")]
    pub(crate) settings: Option<PathBuf>,
}

/// An editor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Editor {
    /// Visual Studio Code
    Stable,
    /// Visual Studio Code Insiders
    Insiders,
    /// Cursor
    Cursor,
    /// `VSCodium`
    Vscodium,
    /// The servers these start here when they are used from another machine
    Remote,
}

impl From<Editor> for editor::Editor {
    fn from(editor: Editor) -> Self {
        match editor {
            Editor::Stable => Self::Stable,
            Editor::Insiders => Self::Insiders,
            Editor::Cursor => Self::Cursor,
            Editor::Vscodium => Self::Vscodium,
            Editor::Remote => Self::Remote,
        }
    }
}
