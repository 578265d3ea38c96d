//! The daemon under test and the commands that ask it, as a user would.
//!
//! Everything is read from the commands' documented JSON; nothing looks into linelamp's files.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::wait;

/// A running `linelamp serve`; ends with the value.
#[derive(Debug)]
pub(crate) struct Lamp<'a> {
    sandbox: &'a Sandbox,
    daemon: Child,
}

impl<'a> Lamp<'a> {
    /// Starts it and waits until it answers.
    pub(crate) fn serve(sandbox: &'a Sandbox) -> Self {
        let log = File::create(log(sandbox)).expect("the sandbox is ours");
        let daemon = sandbox
            .linelamp(&["serve"])
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a file handle can be copied"))
            .stderr(log)
            .spawn()
            .expect("linelamp starts");
        let lamp = Self { sandbox, daemon };
        wait::until("the daemon to answer", || lamp.ask(&["ls", "--format", "json"]));
        lamp
    }

    /// What `ls` says of a session, if it knows it.
    pub(crate) fn session(&self, id: &str) -> Option<Value> {
        let listed = self.json(&["ls", "--all", "--format", "json"]);
        listed.as_array().expect("ls prints an array").iter().find(|one| one["id"] == id).cloned()
    }

    /// Waits until `ls` shows the session in this state.
    pub(crate) fn wait_for_state(&self, id: &str, state: &str) -> Value {
        wait::until(&format!("session {id} to be {state}"), || {
            let seen = self.session(id);
            seen.clone().filter(|seen| seen["state"] == state).ok_or_else(|| {
                format!("{seen:?}; history {:#?}; log {}", self.kinds(id), self.log())
            })
        })
    }

    /// The session's events, oldest first.
    pub(crate) fn history(&self, id: &str) -> Vec<Value> {
        let output = self.ask(&["history", "--format", "ndjson"]).expect("history answers");
        output
            .lines()
            .map(|line| serde_json::from_str(line).expect("history prints JSON"))
            .filter(|event: &Value| event["session"]["id"] == id)
            .collect()
    }

    /// The data of the session's events of one kind, oldest first.
    pub(crate) fn events(&self, id: &str, kind: &str) -> Vec<Value> {
        let events = self.history(id).into_iter().filter(|event| event["kind"] == kind);
        events.map(|mut event| event["data"].take()).collect()
    }

    /// Waits until the session's history holds an event of this kind, and returns the data of
    /// the first.
    pub(crate) fn wait_for_event(&self, id: &str, kind: &str) -> Value {
        wait::until(&format!("{kind} of session {id}"), || {
            let first = self.events(id, kind).into_iter().next();
            first.ok_or_else(|| format!("{:#?}; log {}", self.kinds(id), self.log()))
        })
    }

    /// The states the session went through, oldest first.
    pub(crate) fn states(&self, id: &str) -> Vec<String> {
        let changes = self.events(id, "status.changed");
        changes.iter().map(|data| data["to"].as_str().unwrap_or("?").to_owned()).collect()
    }

    /// The session's history in brief, for failure messages.
    fn kinds(&self, id: &str) -> Vec<String> {
        let brief = |event: &Value| {
            format!("{} {} {}", event["origin"]["feed"], event["kind"], event["data"])
        };
        self.history(id).iter().map(brief).collect()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.ask(arguments).expect("the daemon answers");
        serde_json::from_str(&output).unwrap_or_else(|error| panic!("{error}: {output}"))
    }

    fn ask(&self, arguments: &[&str]) -> Result<String, String> {
        let output = self.sandbox.linelamp(arguments).stdin(Stdio::null()).output();
        let output = output.map_err(|error| error.to_string())?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            let errors = String::from_utf8_lossy(&output.stderr);
            Err(format!("{arguments:?}: {}: {errors}; log {}", output.status, self.log()))
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(log(self.sandbox)).unwrap_or_default()
    }
}

impl Drop for Lamp<'_> {
    fn drop(&mut self) {
        // Asked first, so that it closes its database; a daemon that does not listen is killed.
        kill_process(Pid::from_child(&self.daemon), Signal::TERM).ok();
        for _ in 0..100 {
            if !matches!(self.daemon.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        self.daemon.kill().ok();
        self.daemon.wait().ok();
    }
}

fn log(sandbox: &Sandbox) -> PathBuf {
    sandbox.root().join("serve.log")
}
