//! A daemon of the test's making: it listens, and does with a wrapper what it is told to.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::Value;

/// A daemon that answers, and keeps what it heard.
pub(crate) struct Daemon {
    heard: Arc<Mutex<Vec<Value>>>,
}

/// Listens on a wrapper's behalf and does nothing else, like a daemon that was stopped.
pub(crate) fn hung(state: &Path) -> UnixListener {
    std::fs::create_dir_all(state.join("run")).expect("a folder");
    UnixListener::bind(state.join("run/events.sock")).expect("a socket")
}

impl Daemon {
    /// Answers every batch; wants `want`.
    pub(crate) fn start(state: &Path, want: &'static str) -> Self {
        Self::answer(hung(state), want)
    }

    /// Answers on a listener that was hung so far.
    pub(crate) fn answer(listener: UnixListener, want: &'static str) -> Self {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let daemon = Self { heard: Arc::clone(&heard) };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut writer = stream.try_clone().expect("a copy");
                let hello =
                    format!(r#"{{"linelamp":1,"role":"daemon","version":"0","want":"{want}"}}"#);
                writeln!(writer, "{hello}").ok();
                for line in BufReader::new(stream).lines() {
                    let Ok(line) = line else { break };
                    let value: Value = serde_json::from_str(&line).expect("json");
                    let number = value["n"].as_u64();
                    heard.lock().expect("unpoisoned").push(value);
                    if let Some(number) = number {
                        writeln!(writer, r#"{{"committed":{number}}}"#).ok();
                    }
                }
                heard.lock().expect("unpoisoned").push(Value::Null);
            }
        });
        daemon
    }

    fn heard(&self) -> MutexGuard<'_, Vec<Value>> {
        self.heard.lock().expect("unpoisoned")
    }

    /// Everything heard until the wrapper hung up: its first line, then its batches.
    pub(crate) fn whole(&self) -> (Value, Vec<Value>) {
        let mut all = super::support::wait_for("the wrapper hanging up", || {
            let heard = self.heard();
            heard.last().is_some_and(Value::is_null).then(|| heard.clone())
        });
        all.retain(|value| !value.is_null());
        let hello = all.remove(0);
        (hello, all)
    }

    /// The batches heard so far.
    pub(crate) fn batches(&self) -> Vec<Value> {
        self.heard().iter().filter(|value| value["n"].is_u64()).cloned().collect()
    }
}
