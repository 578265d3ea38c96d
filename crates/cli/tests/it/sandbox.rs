//! A private linelamp: a folder of its own, and a daemon that never outlives the test.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long anything may take that should take milliseconds, on a machine that is busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A private folder for configuration and state.
#[derive(Debug)]
pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
}

impl Sandbox {
    /// A sandbox whose daemon has the store and nothing else.
    pub(crate) fn new() -> Self {
        let sandbox = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        sandbox.configure("[sinks.store]\nkind = \"store\"\n");
        sandbox
    }

    /// Replaces the configuration file.
    pub(crate) fn configure(&self, text: &str) {
        std::fs::write(self.home().join("linelamp.toml"), text).expect("a configuration file");
    }

    /// Everything lies below here.
    pub(crate) fn home(&self) -> &Path {
        self.folder.path()
    }

    /// The state folder.
    pub(crate) fn state(&self) -> PathBuf {
        self.home().join("state")
    }

    /// The program with these arguments, in a clean environment.
    pub(crate) fn command<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_linelamp"));
        command
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("LINELAMP_HOME", self.home());
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Output {
        self.command(arguments).stdin(Stdio::null()).output().expect("the program runs")
    }

    /// Runs the program, which must succeed, and gives what it printed.
    pub(crate) fn text<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    /// The same, read as one JSON value a line.
    pub(crate) fn lines<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Vec<Value> {
        self.text(arguments)
            .lines()
            .map(|line| serde_json::from_str(line).expect("a JSON line"))
            .collect()
    }

    /// One hook call; it must say nothing and end with 0.
    pub(crate) fn hook(&self, payload: &str) {
        let mut child = self
            .command(["hook", "--agent", "claude-code"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the hook client starts");
        child.stdin.take().expect("a pipe").write_all(payload.as_bytes()).expect("written");
        let output = child.wait_with_output().expect("the hook client ends");
        assert!(output.status.success(), "{}", output.status);
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    }

    /// A running daemon.
    pub(crate) fn daemon(&self) -> Daemon {
        let child = self
            .command(["serve"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the daemon starts");
        let mut daemon = Daemon { child };
        let deadline = Instant::now() + PATIENCE;
        while !self.run(["ls"]).status.success() {
            if let Some(status) = daemon.child.try_wait().expect("waited") {
                panic!("the daemon ended ({status})");
            }
            assert!(Instant::now() < deadline, "the daemon does not answer");
            std::thread::sleep(Duration::from_millis(5));
        }
        daemon
    }

    /// Asks until `found` gives something.
    pub(crate) fn eventually<T>(&self, what: &str, mut found: impl FnMut(&Self) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(value) = found(self) {
                return value;
            }
            assert!(Instant::now() < deadline, "never came: {what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The session with this id, as `ls` lists it.
    pub(crate) fn session(&self, id: &str) -> Option<Value> {
        self.lines(["ls", "--all", "--format", "ndjson"])
            .into_iter()
            .find(|session| session["id"] == id)
    }

    /// Waits until a session is in a state.
    pub(crate) fn until_state(&self, id: &str, state: &str) -> Value {
        self.eventually(&format!("{id} {state}"), |sandbox| {
            sandbox.session(id).filter(|session| session["state"] == state)
        })
    }
}

/// A daemon that is killed when the test is over.
#[derive(Debug)]
pub(crate) struct Daemon {
    pub(crate) child: Child,
}

impl Daemon {
    /// Sends it a signal by name.
    pub(crate) fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    /// Kills it with no chance to say goodbye.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("waited");
    }

    /// Tells it to end, and waits.
    pub(crate) fn stop(mut self) {
        self.signal("TERM");
        let status = self.child.wait().expect("waited");
        assert!(status.success(), "{status}");
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Sends a signal by name to a process this test started.
pub(crate) fn signal(pid: u32, name: &str) {
    let status =
        Command::new("kill").args(["-s", name, &pid.to_string()]).status().expect("kill is there");
    assert!(status.success(), "kill -s {name} {pid}");
}

/// The shipped recordings.
pub(crate) fn recordings() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/recordings");
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("recordings are shipped")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    found.sort();
    found
}

/// A hook payload of a session.
pub(crate) fn payload(session: &str, event: &str, more: &str) -> String {
    format!(
        r#"{{"session_id":"{session}","transcript_path":"/tmp/{session}.jsonl","cwd":"/tmp/project","hook_event_name":"{event}"{more}}}"#
    )
}
