//! A terminal for the interactive CLI: a private tmux server with one window.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};

use crate::install::skip;
use crate::sandbox::{self, Sandbox};
use crate::wait;

/// When a key that had no effect is pressed again. Long enough for a loaded machine to show the
/// effect of the first.
const PRESS_AGAIN: Duration = Duration::from_secs(1);

/// Whether there is a tmux; if not, says so as [`skip`] does.
pub(crate) fn available() -> bool {
    let found = Command::new("tmux").arg("-V").stdout(Stdio::null()).status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        skip("the interactive cases need tmux");
    }
    found
}

/// A program in a terminal; the server and all in it end with the value.
#[derive(Debug)]
pub(crate) struct Terminal<'a> {
    sandbox: &'a Sandbox,
    server: String,
}

impl<'a> Terminal<'a> {
    /// Starts a program of the sandbox in a window of its own. The window outlives the program,
    /// so that its last words can be read.
    pub(crate) fn start(sandbox: &'a Sandbox, command: &Command) -> Self {
        // A name of its own each time: the server of an earlier terminal may still be going.
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let terminal = Self { sandbox, server: format!("test-{number}") };
        // What an earlier terminal of this sandbox left.
        fs::remove_file(terminal.status_file()).ok();
        let mut arguments: Vec<OsString> = [
            "start-server",
            ";",
            "set-option",
            "-g",
            "remain-on-exit",
            "on",
            ";",
            "new-session",
            "-d",
            "-x",
            "120",
            "-y",
            "40",
            "--",
            // A shell in between, as with any user: tmux itself sometimes misses a child's end.
            "sh",
            "-c",
            r#""$@"; echo $? >"$0""#,
        ]
        .map(OsString::from)
        .into();
        arguments.push(terminal.status_file().into());
        arguments.push(command.get_program().to_owned());
        arguments.extend(command.get_args().map(ToOwned::to_owned));
        terminal.tmux(&arguments).expect("tmux starts");
        terminal
    }

    /// What stands on the screen.
    pub(crate) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"]).unwrap_or_else(|error| error)
    }

    /// Waits until the screen shows this text.
    pub(crate) fn wait_for(&self, text: &str) {
        wait::until(&format!("{text:?} on the screen"), || {
            let screen = self.screen();
            if screen.contains(text) { Ok(()) } else { Err(screen) }
        });
    }

    /// Types a line into the prompt, and presses Enter once it is shown there.
    pub(crate) fn enter(&self, line: &str) {
        self.tmux(&["send-keys", "-l", "--", line]).expect("the window is there");
        self.wait_for(line);
        self.press("Enter");
    }

    /// Waits for the dialog with this text and presses a key until it is gone.
    pub(crate) fn answer(&self, dialog: &str, key: &str) {
        self.wait_for(dialog);
        self.press_until(key, || {
            let screen = self.screen();
            if screen.contains(dialog) { Err(screen) } else { Ok(()) }
        });
    }

    /// Presses a key, in tmux's words, until it has had its effect: for a moment after the
    /// screen has changed, the CLI ignores keys, so that nobody answers a dialog by accident.
    pub(crate) fn press_until(&self, key: &str, effect: impl Fn() -> Result<(), String>) {
        let mut pressed: Option<Instant> = None;
        wait::until(&format!("the effect of {key}"), || {
            let seen = effect();
            if seen.is_err() && pressed.is_none_or(|at| at.elapsed() > PRESS_AGAIN) {
                self.press(key);
                pressed = Some(Instant::now());
            }
            seen
        });
    }

    /// Presses a key once.
    pub(crate) fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]).expect("the window is there");
    }

    /// Waits until the program has ended, and returns its exit status as a shell tells it.
    pub(crate) fn wait_for_exit(&self) -> i32 {
        wait::until("the program in the terminal to exit", || {
            let status = fs::read_to_string(self.status_file()).unwrap_or_default();
            status.trim().parse().map_err(|_| self.screen())
        })
    }

    fn status_file(&self) -> PathBuf {
        self.sandbox.root().join("exit-status")
    }

    fn tmux(&self, arguments: &[impl AsRef<std::ffi::OsStr>]) -> Result<String, String> {
        let output = self
            .sandbox
            .command("tmux")
            .env("TMUX_TMPDIR", self.sandbox.root())
            .args(["-L", &self.server, "-f", "/dev/null"])
            .args(arguments)
            .output()
            .map_err(|error| error.to_string())?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]).ok();
        // A CLI whose terminal has gone still says goodbye in files of the sandbox.
        for _ in 0..150 {
            if self.sandbox.status().is_none() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        if let Some(pid) = self.sandbox.status().as_ref().and_then(sandbox::process) {
            kill_process(pid, Signal::KILL).ok();
        }
    }
}
