//! Puts a recorded session on: the wrapper around a program that says what the agent said, and the hook
//! client with what its hooks said, each at its time. To linelamp it looks like the session itself.
//!
//! Only real paths are used: the same wrapper and the same hook client that an agent meets.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use linelamp_core::driver::Direction;
use linelamp_feeds::replay::{FeedSet, RecordedFeed, Recording, Signal};

/// One recorded session and how to put it on.
#[derive(Debug)]
pub(crate) struct Stage {
    /// The recording's folder.
    pub(crate) folder: PathBuf,
    /// Which of its feeds are played.
    pub(crate) feeds: FeedSet,
    /// How many times faster than recorded; none is as fast as it goes.
    pub(crate) speed: Option<f64>,
    /// Whether there is a stream to play; a session in a terminal has only hooks.
    pub(crate) stream: bool,
    /// Environment for the programs that are started, such as the folder of another daemon.
    pub(crate) environment: Vec<(String, PathBuf)>,
}

impl Stage {
    /// Plays the whole session; returns when it is over.
    pub(crate) fn play(&self) -> Result<()> {
        let recording = Recording::open(&self.folder)?;
        let program = std::env::current_exe().context("cannot find this program's own file")?;
        let mut agent = if self.stream && self.feeds.contains(RecordedFeed::Stream) {
            Some(self.start_agent(&program)?)
        } else {
            None
        };
        let mut input = agent.as_mut().and_then(|agent| agent.stdin.take());
        let start = Instant::now();
        for step in recording.steps() {
            wait_until(start, step.ms, self.speed);
            match step.signal {
                Signal::Line { direction: Direction::ToAgent, bytes, .. } => say(&mut input, bytes),
                Signal::Hook { payload, .. } if self.feeds.contains(RecordedFeed::Hooks) => {
                    self.call_hook(&program, payload)?;
                }
                _ => {}
            }
        }
        drop(input);
        if let Some(mut agent) = agent {
            agent.wait().context("cannot wait for the wrapped program")?;
        }
        Ok(())
    }

    fn start_agent(&self, program: &Path) -> Result<Child> {
        let mut command = self.command(program);
        command.args(["wrap", "--agent", "claude-code", "--"]).arg(program).arg("play-agent");
        match self.speed {
            Some(speed) => command.arg("--speed").arg(speed.to_string()),
            None => command.arg("--speed").arg("0"),
        };
        command
            .arg(&self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .context("cannot start the wrapper")
    }

    fn call_hook(&self, program: &Path, payload: &[u8]) -> Result<()> {
        let mut hook = self
            .command(program)
            .args(["hook", "--agent", "claude-code"])
            .stdin(Stdio::piped())
            .spawn()
            .context("cannot start the hook client")?;
        let written = hook.stdin.take().map(|mut stdin| stdin.write_all(payload));
        hook.wait().context("cannot wait for the hook client")?;
        written.transpose().context("cannot write to the hook client")?;
        Ok(())
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// Sleeps until the recording's clock, started at `start`, shows `ms`; not at all without a speed.
pub(crate) fn wait_until(start: Instant, ms: u64, speed: Option<f64>) {
    let Some(speed) = speed.filter(|speed| *speed > 0.0) else { return };
    // A recording is hours long at most: no precision is lost.
    #[expect(clippy::cast_precision_loss, reason = "milliseconds of one recording")]
    let offset = Duration::try_from_secs_f64(ms as f64 / 1_000.0 / speed).unwrap_or_default();
    let due = start + offset;
    std::thread::sleep(due.saturating_duration_since(Instant::now()));
}

/// The agent may have ended already; that is its right.
fn say(input: &mut Option<ChildStdin>, line: &[u8]) {
    if let Some(stdin) = input {
        let mut whole = line.to_vec();
        whole.push(b'\n');
        if stdin.write_all(&whole).is_err() {
            *input = None;
        }
    }
}
