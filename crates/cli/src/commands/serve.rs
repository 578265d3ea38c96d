//! `serve`: the daemon, in the foreground.

use std::process::ExitCode;

use anyhow::Result;

use crate::config::{Config, Sources};
use crate::daemon;
use crate::exit::Failure;
use crate::paths::Paths;

/// Runs until it is told to end.
pub(crate) fn run() -> Result<ExitCode> {
    let paths = Paths::find()?;
    let config = Config::load(&Sources::find(&paths)).map_err(Failure::from)?;
    daemon::serve::run(&paths, &config)?;
    Ok(ExitCode::SUCCESS)
}
