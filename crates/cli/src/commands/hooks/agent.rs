//! Which version of the agent is installed, and so which events its settings may name.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Result;
use linelamp_drivers::claude_code::settings::{is_version, wanted};

use crate::exit::{Failure, USAGE};

/// How long the agent may take to say its version.
const LIMIT: Duration = Duration::from_secs(10);

/// The events to hook. A version that somebody names must be one; an agent that is not there, or says
/// nothing readable, gets the events that every version knows.
pub(super) fn events(named: Option<&str>) -> Result<Vec<&'static str>> {
    match named {
        Some(version) if is_version(version) => Ok(wanted(Some(version))),
        Some(version) => Err(Failure::new(USAGE, format!("`{version}` is no version"))
            .hint("a version is three numbers, as `claude --version` prints them: 2.1.332")
            .into()),
        None => Ok(wanted(installed_version().as_deref())),
    }
}

/// What the installed program says of itself.
fn installed_version() -> Option<String> {
    let mut child = Command::new("claude")
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let deadline = Instant::now() + LIMIT;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(10)),
            Ok(None) | Err(_) => {
                child.kill().ok();
                child.wait().ok();
                return None;
            }
        }
    };
    // A version is far shorter than a pipe holds, so all of it is there. Nobody is waited for who was started
    // on the side and keeps the pipe open.
    let mut pipe = child.stdout.take().filter(|_| status.success())?;
    rustix::io::ioctl_fionbio(&pipe, true).ok()?;
    let mut text = [0; 256];
    let length = pipe.read(&mut text).ok()?;
    let text = String::from_utf8_lossy(text.get(..length)?).into_owned();
    is_version(&text).then_some(text)
}
