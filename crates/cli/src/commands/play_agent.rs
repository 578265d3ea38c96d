//! `play-agent`: says what a recorded agent said, at its time, and ends as it ended.
//!
//! Stands in for an agent in the demo and in `replay --to-daemon`. What it is told is read and ignored.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use linelamp_core::driver::Direction;
use linelamp_feeds::replay::{Recording, Signal};

use crate::args::PlayAgentArgs;
use crate::stage::wait_until;

/// Plays the first process of the recording.
pub(crate) fn run(args: &PlayAgentArgs) -> Result<ExitCode> {
    let recording = Recording::open(&args.dir)?;
    std::thread::spawn(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
    let start = Instant::now();
    let mut out = std::io::stdout();
    let mut code = 0;
    for step in recording.steps() {
        wait_until(start, step.ms, Some(args.speed));
        match step.signal {
            Signal::Line { process: 1, direction: Direction::FromAgent, bytes } => {
                let mut line = bytes.to_vec();
                line.push(b'\n');
                out.write_all(&line)?;
            }
            Signal::Exit { process: 1, exit } => {
                code = exit.code.or(exit.signal.map(|signal| 128 + signal)).unwrap_or(0);
                break;
            }
            _ => {}
        }
    }
    Ok(ExitCode::from(u8::try_from(code & 0xff).unwrap_or(1)))
}
