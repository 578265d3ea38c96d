//! `wrap`: an agent, run as it would run alone, while its stream is read from the side.
//!
//! Reads no configuration and hosts no bus. Prints nothing of its own: the terminal belongs to the
//! agent. The one exception is a program that cannot be started, which a shell would report as well.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use linelamp_core::driver::{Direction, Driver};
use linelamp_feeds::wrap::{self, Agent, WrapEnd, WrapOptions};

use crate::agents;
use crate::args::WrapArgs;
use crate::exit::{Failure, USAGE};
use crate::paths::Paths;

/// Runs the program and ends as it does.
pub(crate) fn run(args: WrapArgs) -> Result<ExitCode> {
    let mut command = args.command.into_iter();
    // The command line demands at least one word.
    let program = command.next().unwrap_or_default();
    refuse_option(&program)?;
    let arguments: Vec<OsString> = command.collect();
    let recognised = agents::by_program(Path::new(&program));
    let side_call = is_side_call(recognised.as_ref(), &arguments);
    let state = Paths::find_state();
    let agent = match &state {
        None => Agent::None,
        Some(_) => agent(args.agent.as_deref(), recognised),
    };
    let state = state.unwrap_or_else(|| PathBuf::from("/nonexistent"));
    let key_folder = state.clone();
    let end = wrap::run(WrapOptions {
        program: program.clone(),
        arguments,
        state,
        agent,
        side_call,
        digester: Box::new(move || agents::digester(&key_folder)),
    });
    if let WrapEnd::NotStarted(error) = &end {
        not_started(&program, error);
    }
    end.leave()
}

/// Only the agent's own program has side calls; a script named with `--agent` is always a session. Another
/// tool's launcher is neither: the agent's program follows it, as an editor calls such a one.
fn is_side_call(recognised: Option<&Arc<dyn Driver>>, arguments: &[OsString]) -> bool {
    if let Some(driver) = recognised {
        return driver.is_side_call(arguments);
    }
    let Some((program, arguments)) = arguments.split_first() else { return false };
    let program = Path::new(program);
    program.is_absolute()
        && agents::by_program(program).is_some_and(|driver| driver.is_side_call(arguments))
}

/// A word that looks like an option and stands where the program should is a mistake in setting up, which is better
/// told than run.
pub(super) fn refuse_option(program: &OsStr) -> Result<()> {
    if program.as_encoded_bytes().starts_with(b"-") {
        let message = format!("unknown option `{}`", program.to_string_lossy());
        let hint = "options of linelamp stand before the program: `--agent NAME -- PROGRAM …`";
        return Err(Failure::new(USAGE, message).hint(hint).into());
    }
    Ok(())
}

/// Whose stream it is: as told, else by the program's name, else by its first lines. A name that is not
/// known is no reason to keep the agent from starting.
fn agent(name: Option<&str>, recognised: Option<Arc<dyn Driver>>) -> Agent {
    match (name.and_then(agents::by_name), recognised) {
        (Some(driver), _) | (None, Some(driver)) => Agent::Known(driver),
        (None, None) => {
            let drivers = agents::all();
            Agent::ByFirstLines(Box::new(move |direction, line| choose(&drivers, direction, line)))
        }
    }
}

fn choose(
    drivers: &[Arc<dyn Driver>],
    direction: Direction,
    line: &[u8],
) -> Option<Arc<dyn Driver>> {
    drivers.iter().find(|driver| driver.speaks(direction, line)).cloned()
}

#[expect(clippy::print_stderr, reason = "a shell reports a program that cannot be started as well")]
fn not_started(program: &OsStr, error: &std::io::Error) {
    eprintln!("linelamp: cannot run {}: {error}", program.to_string_lossy());
}
