//! Running the probe, and reading what it left behind.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use linelamp_feeds::spool::{self, Header};
use serde_json::Value;

/// Longest wait for something that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The probe's path.
pub(crate) const PROBE: &str = env!("CARGO_BIN_EXE_linelamp-feeds-probe");

/// `probe wrap STATE OPTIONS -- CMD…`.
pub(crate) fn wrap(state: &Path, options: &[&str], words: &[&str]) -> Command {
    let mut command = Command::new(PROBE);
    command.arg("wrap").arg(state).args(options).arg("--").args(words);
    command
}

/// The same for a script.
pub(crate) fn wrap_sh(state: &Path, script: &str) -> Command {
    wrap(state, &[], &["sh", "-c", script])
}

/// Waits until `found` gives something.
pub(crate) fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(value) = found() {
            return value;
        }
        assert!(Instant::now() < until, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Every spool file of `state`, oldest first.
pub(crate) fn spool_files(state: &Path) -> Vec<(Header, Vec<u8>)> {
    let Ok(entries) = std::fs::read_dir(state.join(spool::FOLDER)) else { return Vec::new() };
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| spool::is_spool_name(&entry.file_name()))
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths
        .iter()
        .map(|path| {
            let file = std::fs::read(path).expect("a file");
            let (header, body) = spool::read_header(&file).expect("a header");
            (header, body.to_vec())
        })
        .collect()
}

/// The batches of all wrapper files in the spool.
pub(crate) fn spooled_batches(state: &Path) -> Vec<Value> {
    spool_files(state)
        .iter()
        .flat_map(|(_, body)| {
            let lines = body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            lines.map(|line| serde_json::from_slice(line).expect("a batch")).collect::<Vec<_>>()
        })
        .collect()
}

/// What the probe's decoder said in these batches, in order.
pub(crate) fn seen(batches: &[Value]) -> Vec<Value> {
    batches
        .iter()
        .flat_map(|batch| batch["drafts"].as_array().expect("drafts"))
        .map(|draft| {
            let text = draft["data"]["name"].as_str().expect("a name");
            serde_json::from_str(text).expect("what was seen")
        })
        .collect()
}

/// The numbers in the lines `{"must":N}` among `seen`.
pub(crate) fn musts(seen: &[Value]) -> Vec<u64> {
    seen.iter()
        .filter_map(|value| serde_json::from_str::<Value>(value["line"].as_str()?).ok())
        .filter_map(|line| line["must"].as_u64())
        .collect()
}

/// Sends a signal by the system's `kill`, as another process would.
pub(crate) fn kill(signal: &str, pid: u32) {
    let status = Command::new("kill").arg(format!("-{signal}")).arg(pid.to_string()).status();
    assert!(status.expect("kill runs").success(), "kill -{signal} {pid}");
}

/// A process's state letter; none if it is gone.
pub(crate) fn state_of(pid: u32) -> Option<char> {
    linelamp_feeds::process::stat(pid).map(|stat| char::from(stat.state))
}

/// The one child of a process, once it has one.
pub(crate) fn child_of(parent: &Child) -> u32 {
    wait_for("a child", || {
        let tasks = format!("/proc/{0}/task/{0}/children", parent.id());
        std::fs::read_to_string(tasks).ok()?.split_whitespace().next()?.parse().ok()
    })
}

/// Runs `work` with a state folder on a tiny disk; gives its result and the number of files left in the
/// spool. Where mounting is not allowed the spool's folder cannot be made instead.
pub(crate) fn on_a_full_disk<T>(work: impl FnOnce(&Path) -> T) -> (T, usize) {
    let root = tempfile::tempdir().expect("a folder");
    let full = root.path().join("full");
    std::fs::create_dir(&full).expect("a folder");
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=16k", "tmpfs"])
        .arg(&full)
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !mounted {
        std::fs::write(full.join(spool::FOLDER), "in the way").expect("a file");
    }
    let result = work(&full);
    let left = std::fs::read_dir(full.join(spool::FOLDER)).into_iter().flatten().count();
    if mounted {
        Command::new("umount").arg(&full).status().expect("umount runs");
    }
    (result, left)
}
