//! A CLI driven over pipes, alone or under the wrapper: the host's side of the stream.
//!
//! Lines are kept as raw bytes beside their JSON, because what the wrapper promises is about
//! bytes.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use crate::wait::{self, PATIENCE};

/// The running process; its whole process group ends with the value.
#[derive(Debug)]
pub(crate) struct Piped {
    child: Child,
    stdin: Option<ChildStdin>,
    incoming: Receiver<Vec<u8>>,
    stderr: Option<JoinHandle<String>>,
    stdout: Vec<u8>,
    messages: Vec<Value>,
    questions: usize,
    ended: bool,
}

/// What is left of a process.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) messages: Vec<Value>,
    pub(crate) stderr: String,
}

impl Finished {
    /// The last line it printed.
    pub(crate) fn last(&self) -> &Value {
        self.messages.last().expect("it printed something")
    }
}

impl Piped {
    /// Starts it, in a process group of its own, as a shell would.
    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (sender, incoming) = channel();
        let stdout = child.stdout.take().expect("stdout is piped");
        thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            let mut line = Vec::new();
            while stdout.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
                if sender.send(std::mem::take(&mut line)).is_err() {
                    break;
                }
            }
        });
        let mut errors = child.stderr.take().expect("stderr is piped");
        let stderr = thread::spawn(move || {
            let mut bytes = Vec::new();
            errors.read_to_end(&mut bytes).ok();
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Self {
            stdin: child.stdin.take(),
            child,
            incoming,
            stderr: Some(stderr),
            stdout: Vec::new(),
            messages: Vec::new(),
            questions: 0,
            ended: false,
        }
    }

    /// Starts it with nothing to read.
    pub(crate) fn spawn_silent(command: Command) -> Self {
        let mut piped = Self::spawn(command);
        piped.close_input();
        piped
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Sends one line.
    pub(crate) fn send(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().expect("the input is still open");
        stdin.write_all(format!("{message}\n").as_bytes()).expect("the CLI reads its input");
    }

    /// Sends a prompt.
    pub(crate) fn prompt(&mut self, text: &str) {
        self.send(&json!({"type": "user", "message": {"role": "user", "content": text},
            "parent_tool_use_id": null, "session_id": ""}));
    }

    /// Answers a question of the CLI.
    pub(crate) fn answer(&mut self, request: &Value, response: &Value) {
        self.send(&json!({"type": "control_response", "response": {"subtype": "success",
            "request_id": request["request_id"], "response": response}}));
    }

    /// Asks the CLI something and waits for the answer.
    pub(crate) fn ask(&mut self, subtype: &str) -> Value {
        self.questions += 1;
        let id = format!("question-{}", self.questions);
        self.send(&json!({"type": "control_request", "request_id": id,
            "request": {"subtype": subtype}}));
        self.wait_for(&format!("the answer to {subtype}"), |message| {
            message["type"] == "control_response" && message["response"]["request_id"] == *id
        })
    }

    /// Waits until the CLI names its session: at the start of a turn.
    pub(crate) fn session(&mut self) -> String {
        let init = self.wait_for("the start of a turn", |message| kind(message) == "system/init");
        init["session_id"].as_str().expect("a session has an id").to_owned()
    }

    /// Waits until the CLI asks whether it may use a tool.
    pub(crate) fn permission_request(&mut self) -> Value {
        self.wait_for("a permission request", |message| {
            message["type"] == "control_request" && message["request"]["subtype"] == "can_use_tool"
        })
    }

    /// Waits for the end of a turn.
    pub(crate) fn result(&mut self) -> Value {
        self.wait_for("a result", |message| message["type"] == "result")
    }

    /// Reads on until a line fits. What an earlier wait has passed is not looked at again.
    ///
    /// # Panics
    ///
    /// When none comes, or the output ends first.
    pub(crate) fn wait_for(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            match self.incoming.recv_timeout(PATIENCE) {
                Ok(line) => {
                    let message = self.keep(&line);
                    if fits(&message) {
                        return message;
                    }
                }
                Err(reason) => panic!("no {what}: {}", self.describe(reason)),
            }
        }
    }

    pub(crate) fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Closes its input and waits for its end.
    pub(crate) fn finish(mut self) -> Finished {
        self.close_input();
        loop {
            match self.incoming.recv_timeout(PATIENCE) {
                Ok(line) => drop(self.keep(&line)),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("does not end: {}", self.describe(RecvTimeoutError::Timeout))
                }
            }
        }
        let status = wait::until("the process to exit", || {
            self.child.try_wait().expect("a child can be waited for").ok_or("running".to_owned())
        });
        self.ended = true;
        let stderr = self.stderr.take().expect("it is read once");
        Finished {
            status,
            stdout: std::mem::take(&mut self.stdout),
            messages: std::mem::take(&mut self.messages),
            stderr: stderr.join().expect("reading stderr cannot panic"),
        }
    }

    fn keep(&mut self, line: &[u8]) -> Value {
        self.stdout.extend_from_slice(line);
        // A line that is no JSON stays visible in failure messages.
        let message = serde_json::from_slice(line)
            .unwrap_or_else(|_| json!({"not_json": String::from_utf8_lossy(line)}));
        self.messages.push(message.clone());
        message
    }

    fn describe(&mut self, reason: RecvTimeoutError) -> String {
        let seen: Vec<_> = self.messages.iter().map(kind).collect();
        let running = matches!(self.child.try_wait(), Ok(None));
        kill_process_group(self.pid(), Signal::KILL).ok();
        let stderr = self.stderr.take().and_then(|stderr| stderr.join().ok());
        format!("{reason}; running: {running}; seen {seen:?}; stderr {stderr:?}")
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        if !self.ended {
            kill_process_group(self.pid(), Signal::KILL).ok();
            self.child.wait().ok();
        }
    }
}

/// What kind of message it is: `type` or `type/subtype`.
pub(crate) fn kind(message: &Value) -> String {
    let kind = message["type"].as_str().unwrap_or("?");
    let subtype = message["subtype"].as_str().or(message["request"]["subtype"].as_str());
    subtype.map_or_else(|| kind.to_owned(), |subtype| format!("{kind}/{subtype}"))
}
