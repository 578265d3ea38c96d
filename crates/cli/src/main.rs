//! The `linelamp` program: reads the command line and hands over.

mod agents;
mod args;
mod client;
mod commands;
mod config;
mod daemon;
mod early;
mod env;
mod exit;
mod output;
mod paths;
mod private;
mod socket;
mod stage;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    // Where there is no earlier step, the hook client still starts before anything else is set up.
    let is_hook = std::env::args_os().nth(1).is_some_and(|command| command == "hook");
    if is_hook && !commands::hook::is_question() {
        return commands::hook::run();
    }
    match commands::run(args::Cli::parse().command) {
        Ok(code) => code,
        Err(error) => exit::report(&error),
    }
}
