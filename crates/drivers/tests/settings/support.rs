//! What the tests share.

use std::fs;
use std::path::{Path, PathBuf};

use linelamp_core::Timestamp;
use linelamp_drivers::claude_code::settings::{SettingsFile, install};

pub(crate) const COMMAND: &str = "'/usr/bin/linelamp' hook --agent claude-code";
pub(crate) const EVENTS: [&str; 3] = ["SessionStart", "Stop", "PermissionRequest"];

pub(crate) fn installed(text: &str) -> String {
    install(text, COMMAND, &EVENTS).expect("valid settings")
}

pub(crate) fn at() -> Timestamp {
    "2026-11-30T11:32:44Z".parse().expect("a timestamp")
}

pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("one").file_name().display().to_string()).collect();
    names.sort();
    names
}

pub(crate) fn install_into(path: &Path) -> Option<PathBuf> {
    let change = SettingsFile::new(path).plan_install(COMMAND, &EVENTS).expect("mergeable");
    change.apply(at()).expect("writable").backup
}

pub(crate) fn uninstall_from(path: &Path) {
    let change = SettingsFile::new(path).plan_uninstall().expect("readable");
    change.apply(at()).expect("writable");
}
