//! Since when hooks are in a settings file.
//!
//! Agents read their hooks when they start, so a session is heard only if it was started later. The file's
//! own time does not tell: anybody may have changed something else in it. So an installation leaves a note
//! in the state folder. The note is only for `hooks status`; nothing else depends on it, and where it cannot
//! be written the installation is good all the same.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::paths::{Paths, create_private};

/// The file in the state folder.
const NAME: &str = "hooks.json";

/// What is known about the time of an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    /// It was made then.
    Then(Timestamp),
    /// The file was last changed then; the installation is that old or older.
    Before(Timestamp),
    /// Nothing.
    Unknown,
}

type Notes = BTreeMap<String, Timestamp>;

/// Notes that the file at `path` has hooks of ours from `at` on, or none any more.
pub(super) fn note(path: &Path, at: Option<Timestamp>) {
    let Some(state) = Paths::find_state() else { return };
    let mut notes = read(&state);
    let key = path.to_string_lossy().into_owned();
    let before = match at {
        Some(at) => notes.insert(key, at),
        None => notes.remove(&key),
    };
    if before != at {
        // Without the note the time is told less exactly, and that is said.
        write(&state, &notes).ok();
    }
}

/// Since when the file at `path` has hooks of ours.
pub(super) fn since(path: &Path) -> Since {
    let noted = Paths::find_state().and_then(|state| read(&state).remove(&*path.to_string_lossy()));
    if let Some(at) = noted {
        return Since::Then(at);
    }
    let changed = fs::metadata(path).and_then(|data| data.modified()).ok();
    match changed.and_then(|time| Timestamp::try_from(time).ok()) {
        Some(at) => Since::Before(at),
        None => Since::Unknown,
    }
}

fn read(state: &Path) -> Notes {
    let text = fs::read(state.join(NAME)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

fn write(state: &Path, notes: &Notes) -> io::Result<()> {
    if notes.is_empty() {
        return fs::remove_file(state.join(NAME));
    }
    create_private(state)?;
    let temporary: PathBuf = state.join(format!(".{NAME}-{}", std::process::id()));
    let written = fs::write(&temporary, serde_json::to_vec(notes)?)
        .and_then(|()| fs::rename(&temporary, state.join(NAME)));
    if written.is_err() {
        fs::remove_file(&temporary).ok();
    }
    written
}
