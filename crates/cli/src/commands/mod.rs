//! What each command does, one file per command.

mod config;
mod demo;
mod down;
mod explain;
mod history;
pub(crate) mod hook;
mod hooks;
mod list;
mod logs;
mod play_agent;
mod record;
mod replay;
mod schema;
mod score;
mod serve;
mod show;
mod up;
mod watch;
mod wrap;
mod wrapper;

use std::process::ExitCode;

use anyhow::Result;

use crate::args::Command;

/// Runs one command.
pub(crate) fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Demo(args) => demo::run(&args),
        Command::Serve => serve::run(),
        Command::Up => up::run(),
        Command::Down => down::run(),
        Command::Logs(args) => logs::run(&args),
        Command::Wrap(args) => wrap::run(args),
        Command::Hook(_) => Ok(hook::run()),
        Command::Hooks(command) => hooks::run(command),
        Command::Wrapper(command) => wrapper::run(command),
        Command::Ls(args) => list::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::History(args) => history::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Score(args) => score::run(&args),
        Command::Record(args) => record::run(args),
        Command::Config(command) => config::run(command),
        Command::PlayAgent(args) => play_agent::run(&args),
        Command::Schema => schema::run(),
    }
}
