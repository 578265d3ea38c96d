//! Writing one spool file: whole or not at all.
//!
//! The file is not forced to the disk: what counts is that it outlives the daemon and the client, and
//! the page cache does. Waiting for a disk would make somebody's agent wait.

use std::ffi::OsStr;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, IoSlice, Write as _};
use std::path::{Path, PathBuf};

use linelamp_core::Timestamp;

use super::header::Header;
use super::sweep::{Limits, sweep};
#[cfg(unix)]
use super::unix as platform;
#[cfg(windows)]
use super::windows as platform;

/// The spool's folder within the state folder.
pub const FOLDER: &str = "spool";

/// Where the daemon puts files that cannot be taken in, within [`FOLDER`].
const BAD: &str = "bad";

/// What the daemon adds to the name of a file on which a decoder has failed once.
pub(crate) const FAILED: &str = "~1";

/// One write in so many sweeps, chosen by the name's random part.
const SWEEP_ONE_IN: u64 = 256;

/// Writes `header` and `payload` as one file and gives its name.
///
/// The folder is made if it is missing. If anything fails nothing is left behind.
pub fn write(state: &Path, header: &Header, payload: &[u8]) -> io::Result<String> {
    let (name, random) = fresh_name(header.at);
    let mut line = serde_json::to_vec(header)?;
    line.push(b'\n');

    let folder = state.join(FOLDER);
    let temporary = folder.join(format!(".{name}"));
    let mut file = match platform::create_private(&temporary) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            platform::create_private_folder(&folder)?;
            platform::create_private(&temporary)?
        }
        other => other?,
    };
    let written = write_both(&mut file, &line, payload)
        .and_then(|()| std::fs::rename(&temporary, folder.join(&name)));
    drop(file);
    if let Err(error) = written {
        std::fs::remove_file(&temporary).ok();
        return Err(error);
    }
    if random.is_multiple_of(SWEEP_ONE_IN) {
        sweep(state, Limits::default());
    }
    Ok(name)
}

/// True for a name that [`write()`] gives to a whole file.
pub fn is_spool_name(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| {
        let mut parts = name.split('-');
        let digits = |part: Option<&str>, length| {
            part.is_some_and(|part: &str| {
                part.len() >= length && part.bytes().all(|byte| byte.is_ascii_hexdigit())
            })
        };
        digits(parts.next(), 20)
            && digits(parts.next(), 10)
            && digits(parts.next(), 16)
            && parts.next().is_none()
    })
}

/// The folder for what cannot be taken in, made if it is missing.
pub(crate) fn bad_folder(state: &Path) -> io::Result<PathBuf> {
    let folder = state.join(FOLDER).join(BAD);
    platform::create_private_folder(&folder)?;
    Ok(folder)
}

/// All files that were put aside, oldest first by name.
pub(super) fn list_bad(state: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(state.join(FOLDER).join(BAD)) else { return Vec::new() };
    let is_ours = |name: &OsStr| {
        let name = name.to_str().unwrap_or_default();
        is_spool_name(OsStr::new(name.strip_suffix(FAILED).unwrap_or(name)))
    };
    let files = entries.flatten().filter(|entry| is_ours(&entry.file_name()));
    let mut paths: Vec<_> = files.map(|entry| entry.path()).collect();
    paths.sort_unstable();
    paths
}

/// The pid in a spool name or temporary name.
pub(super) fn pid_in(name: &str) -> Option<u32> {
    name.split('-').nth(1)?.parse().ok()
}

/// All whole files of the spool, oldest first by name; `.`-names apart.
pub(super) fn list(state: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut whole, mut temporary) = (Vec::new(), Vec::new());
    let Ok(entries) = std::fs::read_dir(state.join(FOLDER)) else {
        return (whole, temporary);
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if is_spool_name(&name) {
            whole.push(entry.path());
        } else if name.to_str().is_some_and(|name| {
            name.strip_prefix('.').is_some_and(|rest| is_spool_name(OsStr::new(rest)))
        }) {
            temporary.push(entry.path());
        }
    }
    whole.sort_unstable();
    (whole, temporary)
}

/// A name that sorts by time and is like no other, and its random part.
fn fresh_name(at: Timestamp) -> (String, u64) {
    let nanoseconds = at.as_nanosecond().max(0);
    let pid = std::process::id();
    // The state is seeded by the system and differs for every call.
    let random = RandomState::new().hash_one((nanoseconds, pid));
    (format!("{nanoseconds:020}-{pid:010}-{random:016x}"), random)
}

fn write_both(file: &mut std::fs::File, mut line: &[u8], mut payload: &[u8]) -> io::Result<()> {
    while !line.is_empty() {
        let written = match file.write_vectored(&[IoSlice::new(line), IoSlice::new(payload)]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => written,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let of_line = written.min(line.len());
        line = &line[of_line..];
        payload = &payload[written - of_line..];
    }
    file.write_all(payload)
}

#[cfg(test)]
mod tests {
    use super::super::{Role, read_header};
    use super::*;

    fn header(at: Timestamp) -> Header {
        Header::new(Role::Hook, "claude-code".into(), at)
    }

    #[test]
    fn a_file_is_whole_private_and_alone() {
        let state = tempfile::tempdir().expect("a folder");
        let payload = vec![b'x'; 300_000];
        let name = write(&state.path().join("new"), &header(Timestamp::UNIX_EPOCH), &payload)
            .expect("written");
        let folder = state.path().join("new").join(FOLDER);
        let names: Vec<_> = std::fs::read_dir(&folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        assert_eq!(names, [OsStr::new(&name)]);
        let file = std::fs::read(folder.join(&name)).expect("a file");
        assert_eq!(read_header(&file).expect("a header").1, payload);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode =
                |path: &Path| path.metadata().expect("metadata").permissions().mode() & 0o777;
            assert_eq!((mode(&folder), mode(&folder.join(&name))), (0o700, 0o600));
        }
    }

    #[test]
    fn names_sort_by_time_and_never_repeat() {
        let early = fresh_name("2026-11-30T09:55:09.5Z".parse().expect("a time")).0;
        let late = fresh_name("2026-11-30T09:55:09.500000001Z".parse().expect("a time")).0;
        assert!(early < late);
        assert!(is_spool_name(OsStr::new(&early)));
        assert!(!is_spool_name(OsStr::new(&format!(".{early}"))));
        assert!(!is_spool_name(OsStr::new("bad")));
        assert_eq!(pid_in(&early), Some(std::process::id()));
        let at = Timestamp::UNIX_EPOCH;
        assert_ne!(fresh_name(at).0, fresh_name(at).0);
    }

    #[test]
    fn a_folder_that_cannot_be_made_leaves_nothing() {
        let state = tempfile::tempdir().expect("a folder");
        let file = state.path().join("file");
        std::fs::write(&file, b"in the way").expect("a file");
        write(&file, &header(Timestamp::UNIX_EPOCH), b"{}").expect_err("no folder");
        assert_eq!(std::fs::read(&file).expect("still there"), b"in the way");
    }
}
