//! `hooks install|uninstall|status`: our entries in an agent's settings.
//!
//! What an entry is, and how it gets into a file and out of it without a trace, is the driver's business.
//! Here stands what depends on the machine: which files are meant, under which path this program is to be
//! called, which version of the agent is installed, and whether anything has been heard since.

mod agent;
mod change;
pub(super) mod diff;
mod files;
mod heard;
mod installed;
pub(super) mod program;
mod status;

use std::process::ExitCode;

use anyhow::Result;

use crate::args::hooks::HooksCommand;

/// Installs, removes or shows.
pub(crate) fn run(command: HooksCommand) -> Result<ExitCode> {
    match command {
        HooksCommand::Install(args) => change::install(&args),
        HooksCommand::Uninstall(args) => change::uninstall(&args),
        HooksCommand::Status(args) => status::run(&args),
    }
}
