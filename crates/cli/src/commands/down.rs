//! `down`: asks the daemon to drain and end, and waits until it is gone.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::client::Client;
use crate::daemon::lock::Lock;
use crate::daemon::protocol::Request;
use crate::exit::{Failure, TIMEOUT};
use crate::paths::Paths;

/// The daemon drains for at most 5 s; after twice that it hangs.
const LIMIT: Duration = Duration::from_secs(10);

/// Stops the daemon.
pub(crate) fn run() -> Result<ExitCode> {
    let paths = Paths::find()?;
    let mut client = Client::connect(&paths.state)?;
    let pid = client.daemon.pid;
    client.ask(&Request::Stop)?;
    let deadline = Instant::now() + LIMIT;
    while Lock::is_held(&paths.state) {
        if Instant::now() > deadline {
            let who = pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
            return Err(Failure::new(TIMEOUT, format!("the daemon{who} does not end"))
                .hint("see `linelamp logs` for what it waits for")
                .into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    writeln!(std::io::stdout(), "linelamp is down")?;
    Ok(ExitCode::SUCCESS)
}
