//! A home, a project and an environment of its own for one run of the CLI.
//!
//! The environment is built from nothing: a dummy key, the stand-in API as the only address, no
//! telemetry, no updates. The questions of a first start (theme, key, trust in the folder) are
//! answered beforehand, so that an interactive start goes straight to the prompt.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::api::Api;
use crate::wait;

const KEY: &str = "sk-ant-test";

/// `-p` with the stream on stdout, and the prompt as the last argument.
pub(crate) const ONE_SHOT: [&str; 4] = ["-p", "--output-format", "stream-json", "--verbose"];

/// The stream both ways, with permissions asked on it.
pub(crate) const TWO_WAY: [&str; 8] = [
    "-p",
    "--output-format",
    "stream-json",
    "--verbose",
    "--input-format",
    "stream-json",
    "--permission-prompt-tool",
    "stdio",
];

/// Asks before tools run, whatever the version's default is.
pub(crate) const ASKING: [&str; 2] = ["--permission-mode", "default"];

/// One temporary world; gone with the value.
#[derive(Debug)]
pub(crate) struct Sandbox {
    pub(crate) api: Api,
    claude: PathBuf,
    environment: BTreeMap<&'static str, OsString>,
    root: PathBuf,
    _folder: TempDir,
}

impl Sandbox {
    /// Makes a fresh one around the CLI's program.
    pub(crate) fn new(claude: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        // The CLI remembers trust by the real path.
        let root = folder.path().canonicalize().expect("the folder was just made");
        for name in ["home/.claude", "project", "lamp", "bin", "tmp"] {
            fs::create_dir_all(root.join(name)).expect("the sandbox is ours");
        }
        let programs =
            [("claude", claude), ("linelamp", Path::new(env!("CARGO_BIN_EXE_linelamp")))];
        for (name, program) in programs {
            symlink(program, root.join("bin").join(name)).expect("the sandbox is ours");
        }
        let project = root.join("project").display().to_string();
        let answered = json!({
            "hasCompletedOnboarding": true,
            "theme": "dark",
            "numStartups": 5,
            "customApiKeyResponses": {"approved": [KEY], "rejected": []},
            "projects": {project: {
                "hasTrustDialogAccepted": true,
                "hasCompletedProjectOnboarding": true,
            }},
        });
        fs::write(root.join("home/.claude.json"), answered.to_string())
            .expect("the sandbox is ours");
        let api = Api::start();
        let environment = environment(&root, &api.url());
        Self { api, claude: claude.to_owned(), environment, root, _folder: folder }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// A program in this world, in the project's folder.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.current_dir(self.project()).env_clear().envs(&self.environment);
        command
    }

    /// The CLI, with nothing around it.
    pub(crate) fn claude(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&self.claude);
        command.args(arguments);
        command
    }

    /// The CLI under `linelamp wrap`.
    pub(crate) fn wrapped(&self, arguments: &[&str]) -> Command {
        let mut command = self.linelamp(&["wrap", "--agent", "claude-code", "--"]);
        command.arg(&self.claude).args(arguments);
        command
    }

    /// A command of linelamp.
    pub(crate) fn linelamp(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_linelamp"));
        command.args(arguments);
        command
    }

    /// Gives the CLI of this home linelamp's hooks.
    pub(crate) fn install_hooks(&self) {
        let installed = self.linelamp(&["hooks", "install"]).output().expect("linelamp starts");
        assert!(installed.status.success(), "{installed:?}");
    }

    /// What the running CLI says about itself; `None` before it does and after it has ended.
    pub(crate) fn status(&self) -> Option<Value> {
        let files = fs::read_dir(self.home().join(".claude/sessions")).ok()?;
        files
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            // It is rewritten in place: an empty or cut file is one being written.
            .filter_map(|path| serde_json::from_slice(&fs::read(path).ok()?).ok())
            // A killed CLI leaves its file behind.
            .find(|status| process(status).is_some_and(|pid| test_kill_process(pid).is_ok()))
    }

    /// Waits until the CLI calls itself `idle`, `busy` or `waiting`, and returns what it says.
    pub(crate) fn wait_for_status(&self, status: &str) -> Value {
        wait::until(&format!("the CLI to be {status}"), || {
            let seen = self.status();
            seen.clone().filter(|seen| seen["status"] == status).ok_or(format!("{seen:?}"))
        })
    }

    /// Waits until the CLI has started, and returns its process id.
    pub(crate) fn cli_process(&self) -> Pid {
        wait::until("the CLI's own process id", || {
            let status = self.status();
            status.as_ref().and_then(process).ok_or(format!("{status:?}"))
        })
    }
}

/// The process that a status is about.
pub(crate) fn process(status: &Value) -> Option<Pid> {
    Pid::from_raw(i32::try_from(status["pid"].as_i64()?).ok()?)
}

/// Every case holds that nothing tried to leave the machine.
impl Drop for Sandbox {
    fn drop(&mut self) {
        if !thread::panicking() {
            assert_eq!(self.api.take_outside(), Vec::<String>::new(), "calls to the outside");
        }
    }
}

fn environment(root: &Path, api: &str) -> BTreeMap<&'static str, OsString> {
    let folder = |name: &str| root.join(name).into_os_string();
    let mut path = folder("bin");
    path.push(":");
    path.push(env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into()));
    BTreeMap::from([
        ("PATH", path),
        ("HOME", folder("home")),
        ("LINELAMP_HOME", folder("lamp")),
        ("TMPDIR", folder("tmp")),
        ("LANG", "C.UTF-8".into()),
        ("SHELL", "/bin/sh".into()),
        ("ANTHROPIC_BASE_URL", api.into()),
        ("ANTHROPIC_API_KEY", KEY.into()),
        // Everything but the stand-in is refused by the stand-in.
        ("HTTP_PROXY", api.into()),
        ("HTTPS_PROXY", api.into()),
        ("NO_PROXY", "127.0.0.1,localhost".into()),
        ("DISABLE_TELEMETRY", "1".into()),
        ("DISABLE_ERROR_REPORTING", "1".into()),
        ("DISABLE_AUTOUPDATER", "1".into()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".into()),
        // Otherwise an interactive start looks for the vendor's plugin collection.
        ("CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL", "1".into()),
        // Lets it run as root, as it does in a build container.
        ("IS_SANDBOX", "1".into()),
    ])
}
