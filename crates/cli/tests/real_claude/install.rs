//! The CLI under test: one fixed version, installed once from the npm registry.
//!
//! The cache folder is `LINELAMP_TEST_CACHE`, else `agent-cache` beside Cargo's folder for test
//! files, so that it outlives a test run but not `cargo clean`. npm picks the native build for
//! this machine; its install scripts are not run, and the CLI is started as the native program.

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

const PACKAGE: &str = "@anthropic-ai/claude-code";
const VERSION: &str = "2.1.332";

/// The CLI's native program.
///
/// `None` (the case should pass without doing anything) where it cannot be had; the reason is
/// printed.
///
/// # Panics
///
/// Instead of giving `None` where `CI` is set.
pub(crate) fn claude() -> Option<&'static Path> {
    static FOUND: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match FOUND.get_or_init(|| install(&cache())) {
        Ok(path) => Some(path),
        Err(reason) => {
            skip(&format!("no Claude Code {VERSION}: {reason}"));
            None
        }
    }
}

/// Says once why cases do nothing, past the test runner's capture of output.
///
/// # Panics
///
/// Where `CI` is set.
pub(crate) fn skip(reason: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    assert!(env::var_os("CI").is_none(), "{reason} (CI is set, so this is a failure)");
    if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(reason.to_owned()) {
        writeln!(io::stderr(), "cases with the real Claude Code are skipped: {reason}").ok();
    }
}

fn cache() -> PathBuf {
    env::var_os("LINELAMP_TEST_CACHE").map_or_else(
        || Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("agent-cache"),
        PathBuf::from,
    )
}

fn install(cache: &Path) -> Result<PathBuf, String> {
    let folder = cache.join(format!("claude-code-{VERSION}"));
    let context = |error: io::Error| format!("{}: {error}", cache.display());
    fs::create_dir_all(cache).map_err(context)?;
    // Test binaries may run side by side; the first one installs.
    let lock = File::create(cache.join("lock")).map_err(context)?;
    lock.lock().map_err(context)?;
    if !folder.exists() {
        let fresh = tempfile::tempdir_in(cache).map_err(context)?;
        run_npm(fresh.path())?;
        fs::rename(fresh.keep(), &folder).map_err(context)?;
    }
    find(&folder)
}

fn run_npm(folder: &Path) -> Result<(), String> {
    let done = Command::new("npm")
        .args(["install", "--ignore-scripts", "--no-fund", "--no-audit", "--no-save", "--prefix"])
        .arg(folder)
        .arg(format!("{PACKAGE}@{VERSION}"))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("npm: {error}"))?;
    if done.status.success() {
        return Ok(());
    }
    Err(format!("npm install: {}: {}", done.status, String::from_utf8_lossy(&done.stderr)))
}

/// Finds the native program: npm installs it as a package of its own, one per platform, and
/// where it cannot tell the C library apart, more than one.
fn find(folder: &Path) -> Result<PathBuf, String> {
    let scope = folder.join("node_modules/@anthropic-ai");
    let entries = fs::read_dir(&scope).map_err(|error| format!("{}: {error}", scope.display()))?;
    let mut programs: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path().join("claude")))
        .filter(|program| program.is_file())
        .collect();
    programs.sort();
    programs
        .into_iter()
        .find(|program| {
            let mut command = Command::new(program);
            let version = command.arg("--version").env_clear().env("HOME", folder).output();
            version.is_ok_and(|output| output.stdout.starts_with(VERSION.as_bytes()))
        })
        .ok_or_else(|| format!("{} has no program for this machine", scope.display()))
}
