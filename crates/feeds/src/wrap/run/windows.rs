//! The same with what the standard library offers: no signals, no groups, no handover.

use std::io::{Read, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use linelamp_core::Timestamp;
use linelamp_core::driver::Direction;

use super::super::cutter::Cutter;
use super::super::end::WrapEnd;
use super::super::options::{Agent, WrapOptions};
use super::super::tap::Finish;
use super::{LONGEST_HOLD, PUMP_STACK, make_tap};
use crate::process;

/// Runs the program and gives how it ended; then nothing is left to do but [`WrapEnd::leave`].
pub fn run(options: WrapOptions) -> WrapEnd {
    use std::io::IsTerminal as _;
    let mut command = Command::new(&options.program);
    command.args(&options.arguments);
    let nothing_to_see = options.side_call
        || matches!(options.agent, Agent::None)
        || std::io::stdout().is_terminal();
    let tap = if nothing_to_see { None } else { make_tap(options) };
    let Some(tap) = tap else {
        return command.status().map_or_else(WrapEnd::NotStarted, ended);
    };
    std::panic::set_hook(Box::new(|_| {}));
    let mut child = match command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(error) => return WrapEnd::NotStarted(error),
    };
    tap.child.set(process::reference(child.id())).ok();
    if let Some(sink) = child.stdin.take() {
        let cutter = Cutter::new(Arc::clone(&tap), Direction::ToAgent);
        let copy = move || copy(std::io::stdin().lock(), sink, cutter);
        thread::Builder::new().stack_size(PUMP_STACK).spawn(copy).ok();
    }
    if let Some(source) = child.stdout.take() {
        copy(source, std::io::stdout().lock(), Cutter::new(Arc::clone(&tap), Direction::FromAgent));
    }
    let end = child.wait().map_or_else(WrapEnd::NotStarted, ended);
    if let Some(exit) = end.process_exit() {
        let deadline = Instant::now() + LONGEST_HOLD;
        tap.finish(Finish { exit, at: Timestamp::now(), deadline });
    }
    end
}

fn copy(mut source: impl Read, mut sink: impl Write, mut cutter: Cutter) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length) = source.read(&mut buffer) {
        let chunk = buffer.get(..length).unwrap_or_default();
        if chunk.is_empty() || sink.write_all(chunk).and_then(|()| sink.flush()).is_err() {
            break;
        }
        cutter.feed(chunk, Timestamp::now());
    }
    cutter.finish(Timestamp::now());
}

fn ended(status: ExitStatus) -> WrapEnd {
    WrapEnd::Exited(status.code().unwrap_or(1))
}
