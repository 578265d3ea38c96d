//! `up`: starts the daemon in the background and says whether it came up.

use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::client::Client;
use crate::exit::{FAILED, Failure, TIMEOUT};
use crate::paths::Paths;

/// How long a start may take (a large database is read first).
const LIMIT: Duration = Duration::from_secs(20);

/// Starts the daemon, unless it runs already.
pub(crate) fn run() -> Result<ExitCode> {
    let paths = Paths::find()?;
    if let Ok(client) = Client::connect(&paths.state) {
        say(client.daemon.pid, "already runs")?;
        return Ok(ExitCode::SUCCESS);
    }
    paths.create()?;
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    // Its own process group: a Ctrl-C at this terminal is not meant for the daemon.
    let mut child = Command::new(program)
        .arg("serve")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .current_dir("/")
        .spawn()
        .context("cannot start the daemon")?;
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(status) = child.try_wait().context("cannot wait for the daemon")? {
            let mut words = String::new();
            if let Some(mut stderr) = child.stderr.take() {
                stderr.read_to_string(&mut words).context("cannot read what the daemon said")?;
            }
            let words = words.trim().trim_start_matches("error: ");
            return Err(Failure::new(
                FAILED,
                format!("the daemon did not start ({status}): {words}"),
            )
            .into());
        }
        if let Ok(client) = Client::connect(&paths.state) {
            say(client.daemon.pid, "is up")?;
            return Ok(ExitCode::SUCCESS);
        }
        if Instant::now() > deadline {
            return Err(Failure::new(TIMEOUT, "the daemon starts, but does not answer yet")
                .hint("see `linelamp logs`")
                .into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn say(pid: Option<u32>, what: &str) -> Result<()> {
    let pid = pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
    writeln!(std::io::stdout(), "linelamp {what}{pid}").context("cannot print")
}
