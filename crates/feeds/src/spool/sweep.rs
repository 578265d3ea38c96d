//! Keeping the spool bounded, with or without a daemon, and counting what that costs.
//!
//! Age is counted on the boot's clock: a jump of the wall clock makes no file old. A file of an
//! earlier boot is at least as old as this boot.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::header::{Header, read_header};
#[cfg(unix)]
use super::unix as platform;
#[cfg(windows)]
use super::windows as platform;
use super::write::{FOLDER, list, list_bad, pid_in};
use crate::process;

/// Where the counts are kept until the daemon takes them.
const DROPPED: &str = ".dropped";

/// A header line is read for its age only up to this size.
const LONGEST_HEADER: u64 = 16 * 1024;

/// A client's temporary file is not touched before this age, even if the client seems gone.
const TEMPORARY_GRACE: Duration = Duration::from_secs(60);

/// How much may lie in the spool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Older files are dropped.
    pub age: Duration,
    /// The oldest are dropped until no more bytes than this are left.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { age: Duration::from_secs(24 * 60 * 60), bytes: 64 * 1024 * 1024 }
    }
}

/// Why something was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It lay too long.
    Age,
    /// The spool held too much.
    Bytes,
    /// One payload was over the limit of a single file.
    TooLarge,
}

/// A count of dropped files, for the daemon to tell as a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// Why.
    pub reason: Reason,
    /// How many files.
    pub files: u64,
    /// How many bytes they had.
    pub bytes: u64,
}

/// Drops what is over the limits and counts it. Also removes temporary files of clients that died, and
/// what was put aside and is over the same limits.
pub fn sweep(state: &Path, limits: Limits) -> Vec<Dropped> {
    let (files, temporary) = list(state);
    for path in temporary {
        if is_abandoned(&path) {
            std::fs::remove_file(&path).ok();
        }
    }

    let dropped = drop_over(files, limits, |_| false);
    for count in &dropped {
        count_dropped(state, *count);
    }
    sweep_bad(state, limits);
    dropped
}

/// Drops what was put aside and is over the limits. Not counted: it was when it was put aside.
pub(crate) fn sweep_bad(state: &Path, limits: Limits) {
    // What has no header that says when it was written has its file's time.
    let is_old_file = |path: &Path| {
        let time = path.symlink_metadata().and_then(|metadata| metadata.modified());
        time.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > limits.age))
    };
    drop_over(list_bad(state), limits, is_old_file);
}

/// Drops what is over the limits among `files`, oldest first. `is_old_file` decides where the header does
/// not say how old a file is.
fn drop_over(
    files: Vec<PathBuf>,
    limits: Limits,
    is_old_file: impl Fn(&Path) -> bool,
) -> Vec<Dropped> {
    let mut kept: Vec<(PathBuf, u64)> = files
        .into_iter()
        .filter_map(|path| path.symlink_metadata().ok().map(|metadata| (path, metadata.len())))
        .collect();
    let mut dropped = Vec::new();
    let (boot, now) = (process::boot_id(), process::boottime_ns());
    let young = kept
        .iter()
        .position(|(path, _)| {
            !is_older(path, limits.age, boot.as_deref(), now).unwrap_or_else(|| is_old_file(path))
        })
        .unwrap_or(kept.len());
    dropped.extend(remove(kept.drain(..young), Reason::Age));

    let mut total: u64 = kept.iter().map(|(_, bytes)| bytes).sum();
    let fits = kept
        .iter()
        .position(|(_, bytes)| {
            let fits = total <= limits.bytes;
            total -= bytes;
            fits
        })
        .unwrap_or(kept.len());
    dropped.extend(remove(kept.drain(..fits), Reason::Bytes));
    dropped
}

/// Adds one count to the file the daemon takes them from.
pub fn count_dropped(state: &Path, dropped: Dropped) {
    let Ok(mut line) = serde_json::to_vec(&dropped) else { return };
    line.push(b'\n');
    if let Ok(mut file) = platform::append_private(&state.join(FOLDER).join(DROPPED)) {
        // One write of a short line at the end of the file is not torn by another client's.
        file.write_all(&line).ok();
    }
}

/// Takes the counts that were left since the last call.
pub fn take_dropped(state: &Path) -> Vec<Dropped> {
    let folder = state.join(FOLDER);
    let taken = folder.join(format!("{DROPPED}-taken"));
    if std::fs::rename(folder.join(DROPPED), &taken).is_err() {
        return Vec::new();
    }
    let text = std::fs::read(&taken).unwrap_or_default();
    std::fs::remove_file(&taken).ok();
    text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

fn remove(files: impl Iterator<Item = (PathBuf, u64)>, reason: Reason) -> Option<Dropped> {
    let mut count = Dropped { reason, files: 0, bytes: 0 };
    for (path, bytes) in files {
        // Another client or the daemon may have been quicker: then it is not ours to count.
        if std::fs::remove_file(path).is_ok() {
            count.files += 1;
            count.bytes += bytes;
        }
    }
    (count.files > 0).then_some(count)
}

/// Whether a file is older by the boot's clock; none if that cannot be told.
fn is_older(path: &Path, age: Duration, boot: Option<&str>, now: Option<u64>) -> Option<bool> {
    let now = now?;
    let header = header_of(path)?;
    let written = if header.boot_id.as_deref() == boot { header.boottime_ns? } else { 0 };
    Some(u128::from(now.saturating_sub(written)) > age.as_nanos())
}

fn header_of(path: &Path) -> Option<Header> {
    // A pipe would be waited for.
    if !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let mut start = Vec::new();
    std::fs::File::open(path).ok()?.take(LONGEST_HEADER).read_to_end(&mut start).ok()?;
    match read_header(&start) {
        Ok((header, _)) => Some(header),
        // Only the start was read, so the length need not fit: the line itself is enough.
        Err(_) => serde_json::from_slice(start.split(|byte| *byte == b'\n').next()?).ok(),
    }
}

fn is_abandoned(path: &Path) -> bool {
    let old = path
        .metadata()
        .and_then(|metadata| metadata.modified())
        .is_ok_and(|time| time.elapsed().is_ok_and(|age| age > TEMPORARY_GRACE));
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    old && pid_in(name).is_some_and(|pid| process::stat(pid).is_none())
}

#[cfg(test)]
mod tests {
    use linelamp_core::Timestamp;

    use super::super::{Role, write};
    use super::*;

    fn put(
        state: &Path,
        second: i64,
        boottime_ns: u64,
        boot_id: Option<String>,
        size: usize,
    ) -> String {
        let at = Timestamp::from_second(second).expect("a time");
        let mut header = Header::new(Role::Hook, "claude-code".into(), at);
        header.boot_id = boot_id;
        header.boottime_ns = Some(boottime_ns);
        write(state, &header, &vec![b'x'; size]).expect("written")
    }

    fn names(state: &Path) -> Vec<String> {
        list(state)
            .0
            .iter()
            .map(|path| path.file_name().expect("a name").to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn what_limits_drop_is_the_oldest_and_is_counted_once() {
        let state = tempfile::tempdir().expect("a folder");
        let now = process::boottime_ns().expect("a clock");
        let boot = process::boot_id();
        let files: Vec<_> =
            (0..5).map(|second| put(state.path(), second, now, boot.clone(), 1000)).collect();
        let limits = Limits { bytes: 3000, ..Limits::default() };
        let dropped = sweep(state.path(), limits);
        assert_eq!(names(state.path()), files[3..]);
        assert_eq!((dropped.len(), dropped[0].files, dropped[0].reason), (1, 3, Reason::Bytes));
        assert_eq!(take_dropped(state.path()), dropped);
        assert_eq!(take_dropped(state.path()), []);
    }

    #[test]
    fn age_is_the_boots_and_a_jump_of_the_wall_clock_is_none() {
        let state = tempfile::tempdir().expect("a folder");
        let now = process::boottime_ns().expect("a clock");
        let boot = process::boot_id();
        // Written decades ago by the wall clock and just now by the boot's.
        let kept = put(state.path(), 0, now, boot.clone(), 10);
        let limits = Limits { age: Duration::from_secs(3600), ..Limits::default() };
        assert_eq!(sweep(state.path(), limits), []);
        assert_eq!(names(state.path()), [kept]);

        let limits = Limits { age: Duration::from_nanos(1), ..Limits::default() };
        assert_eq!(sweep(state.path(), limits).len(), 1);
        put(state.path(), 0, u64::MAX, Some("an earlier boot".into()), 10);
        assert_eq!(sweep(state.path(), limits).len(), 1);
        assert_eq!(names(state.path()), [] as [&str; 0]);
        assert_eq!(take_dropped(state.path()).len(), 2);
    }

    #[test]
    fn what_was_put_aside_keeps_to_the_same_limits_with_a_header_or_without() {
        let state = tempfile::tempdir().expect("a folder");
        let (now, boot) = (process::boottime_ns().expect("a clock"), process::boot_id());
        let bad = super::super::bad_folder(state.path()).expect("a folder");
        let aside = |name: &str, to: &str| {
            std::fs::rename(state.path().join(FOLDER).join(name), bad.join(to)).expect("moved");
        };
        let left = || list_bad(state.path()).len();
        let day = Duration::from_secs(24 * 60 * 60);
        let old = put(state.path(), 1, 0, Some("an earlier boot".into()), 10);
        aside(&old, &format!("{old}~1"));
        let broken = put(state.path(), 2, now, boot.clone(), 10);
        aside(&broken, &broken);
        let file = std::fs::File::create(bad.join(&broken)).expect("a file without a header");
        let fresh = put(state.path(), 3, now, boot, 1_000);
        aside(&fresh, &fresh);
        std::fs::write(bad.join("a note"), "of somebody's").expect("a file");

        let limits = Limits { age: Duration::from_nanos(1), bytes: 10_000 };
        file.set_modified(std::time::SystemTime::now() + day).expect("set");
        assert_eq!(sweep(state.path(), Limits { age: day * 9_999, ..limits }), []);
        assert_eq!(left(), 3);
        sweep_bad(state.path(), limits);
        assert_eq!(left(), 2, "the old one is gone, and the next is of tomorrow");
        file.set_modified(std::time::SystemTime::now() - day * 2).expect("set");
        sweep(state.path(), Limits { age: day, ..limits });
        assert_eq!(list_bad(state.path()), [bad.join(&fresh)]);
        sweep(state.path(), Limits { age: day, bytes: 500 });
        assert_eq!(left(), 0);
        assert!(bad.join("a note").exists());
        assert_eq!(take_dropped(state.path()), [], "it was counted when it was put aside");
    }

    #[test]
    fn a_temporary_file_of_a_living_client_stays() {
        let state = tempfile::tempdir().expect("a folder");
        let name = put(state.path(), 0, 0, None, 10);
        let folder = state.path().join(FOLDER);
        let temporary = folder.join(format!(".{name}"));
        std::fs::rename(folder.join(name), &temporary).expect("renamed");
        sweep(state.path(), Limits::default());
        assert!(temporary.exists());
    }
}
