//! `demo`: the whole thing at work on a machine that may have no agent at all.
//!
//! The real daemon under a private folder; two recorded sessions through the real wrapper and the real
//! hook client, at the speed they were recorded; the live table; then what each sink got and what to
//! type to do it for real. Ends by itself and leaves no process and no file.

mod material;
mod receiver;
mod show;

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use linelamp_feeds::replay::FeedSet;

use crate::args::DemoArgs;
use crate::client::Client;
use crate::daemon::protocol::Request;
use crate::env::LINELAMP_HOME;
use crate::paths::Paths;
use crate::private::PrivateFolder;
use crate::stage::Stage;

use self::receiver::Receiver;
use self::show::Show;

/// How long the daemon may take to start.
const START_LIMIT: Duration = Duration::from_secs(10);
/// How long to wait for what was said to reach every sink.
const SETTLE_LIMIT: Duration = Duration::from_secs(3);

/// Runs the demo.
pub(crate) fn run(args: &DemoArgs) -> Result<ExitCode> {
    let folder = PrivateFolder::create("linelamp-demo")?;
    let paths = Paths::under(folder.path());
    paths.create()?;
    let receiver = Receiver::start()?;
    configure(&paths, &receiver)?;
    let recordings = material::unpack(&folder.path().join("recordings"))?;
    let mut out = std::io::stdout();
    writeln!(
        out,
        "linelamp demo: two recorded sessions, a real daemon in {}",
        folder.path().display()
    )?;
    writeln!(out, "  website  runs under `linelamp wrap`; a host program answers its requests")?;
    writeln!(out, "  game     runs in a terminal; linelamp knows it from its hooks alone")?;
    writeln!(out)?;
    let mut daemon = Daemon::start(folder.path(), &paths)?;
    let show = Show::start(&paths, out.is_terminal())?;
    let played = play(&recordings, args.speed, folder.path());
    settle(&paths, &receiver);
    show.end()?;
    played?;
    show::summary(&mut out, &paths, &receiver.received())?;
    daemon.stop(&paths)?;
    drop(folder);
    show::next_steps(&mut out)?;
    Ok(ExitCode::SUCCESS)
}

/// Both sessions at once.
fn play(recordings: &[PathBuf; 2], speed: f64, home: &Path) -> Result<()> {
    std::thread::scope(|scope| {
        let players: Vec<_> = recordings
            .iter()
            .map(|folder| {
                let stage = Stage {
                    folder: folder.clone(),
                    feeds: FeedSet::all(),
                    speed: Some(speed),
                    environment: vec![(LINELAMP_HOME.to_owned(), home.to_owned())],
                    stream: folder.join("stdout.ndjson").exists(),
                };
                scope.spawn(move || stage.play())
            })
            .collect();
        for player in players {
            match player.join() {
                Ok(played) => played?,
                Err(_) => bail!("the player of a recording has panicked"),
            }
        }
        Ok(())
    })
}

fn configure(paths: &Paths, receiver: &Receiver) -> Result<()> {
    let secret = paths.state.join("demo-secret");
    std::fs::write(&secret, "a secret only for this demo")
        .with_context(|| format!("cannot write {}", secret.display()))?;
    // Only what is played: the user's own sessions are none of the demo's business.
    let text = format!(
        "[feeds.transcript]\nenabled = false\n\n[feeds.status]\nenabled = false\n\n\
         [sinks.store]\nkind = \"store\"\n\n\
         [sinks.file]\nkind = \"jsonl\"\npath = {file:?}\n\n\
         [sinks.web]\nkind = \"webhook\"\nurl = {url:?}\nsecret = {secret:?}\n\
         filter = {{ kinds = [\"status.changed\", \"permission.*\", \"turn.ended\"] }}\n\n\
         [sinks.desktop]\nkind = \"desktop\"\n",
        file = paths.state.join("events.jsonl").display().to_string(),
        url = receiver.url(),
        secret = format!("file:{}", secret.display()),
    );
    let path = paths.user_file();
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Waits until everything that was said is taken in, and the webhook had a moment to deliver.
fn settle(paths: &Paths, receiver: &Receiver) {
    let deadline = Instant::now() + SETTLE_LIMIT;
    if let Ok(mut client) = Client::connect(&paths.state) {
        // What cannot be settled shows in the summary.
        client.ask(&Request::Settle).ok();
    }
    let mut count = receiver.received().count;
    while Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(300));
        let now = receiver.received().count;
        if now == count {
            return;
        }
        count = now;
    }
}

/// The demo's daemon; it never outlives the demo.
#[derive(Debug)]
struct Daemon(Child);

impl Daemon {
    fn start(home: &Path, paths: &Paths) -> Result<Self> {
        let program = std::env::current_exe().context("cannot find this program's own file")?;
        let child = Command::new(program)
            .arg("serve")
            .env(LINELAMP_HOME, home)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .context("cannot start the daemon")?;
        let mut daemon = Self(child);
        let deadline = Instant::now() + START_LIMIT;
        while Client::connect(&paths.state).is_err() {
            if let Some(status) = daemon.0.try_wait().context("cannot wait for the daemon")? {
                bail!("the daemon did not start ({status})");
            }
            if Instant::now() > deadline {
                bail!("the daemon does not answer");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(daemon)
    }

    fn stop(&mut self, paths: &Paths) -> Result<()> {
        Client::connect(&paths.state)?.ask(&Request::Stop)?;
        self.0.wait().context("cannot wait for the daemon")?;
        Ok(())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Already gone after `stop`; otherwise something failed and nobody needs it any more.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}
