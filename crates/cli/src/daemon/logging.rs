//! The daemon's log: one file, rotated, with repeated lines collapsed.
//!
//! Nothing that is content or a secret is ever logged; this module only writes what it is given.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use jiff::Timestamp;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

use crate::config::model::Daemon;

/// Sends everything that is traced to `path`, at the level and within the size of `settings`.
///
/// # Errors
///
/// If the file cannot be opened or the level is no filter.
pub(crate) fn start(path: &Path, settings: &Daemon) -> Result<()> {
    let level = &settings.log_level;
    let log = Log::open(path, settings.log_size_mib << 20, settings.log_files)
        .with_context(|| format!("cannot open the log {}", path.display()))?;
    let filter = EnvFilter::try_new(level)
        .with_context(|| format!("`{level}` is no log level (try info, debug or warn)"))?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        // A log that cannot be written (a full disk) must not make noise elsewhere, let alone a panic.
        .log_internal_errors(false)
        .with_target(false)
        .with_timer(Clock)
        .with_writer(Shared(Arc::new(Mutex::new(log))))
        .try_init()
        .map_err(|error| anyhow::anyhow!("cannot start the log: {error}"))?;
    // The daemon's error output may lead nowhere.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(String::new, ToString::to_string);
        tracing::error!("panic at {place}");
    }));
    Ok(())
}

struct Clock;

impl FormatTime for Clock {
    fn format_time(&self, writer: &mut Writer<'_>) -> std::fmt::Result {
        write!(writer, "{}", Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ"))
    }
}

/// The rotated file.
#[derive(Debug)]
struct Log {
    path: PathBuf,
    file: File,
    size: u64,
    limit: u64,
    files: usize,
    last: Vec<u8>,
    repeats: u64,
}

impl Log {
    fn open(path: &Path, limit: u64, files: usize) -> io::Result<Self> {
        let file = append(path)?;
        let size = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, size, limit, files, last: Vec::new(), repeats: 0 })
    }

    /// Writes one record. A record equal to the last one but for its time is only counted.
    fn record(&mut self, line: &[u8]) -> io::Result<()> {
        let text = after_time(line);
        if text == self.last {
            self.repeats += 1;
            return Ok(());
        }
        if self.repeats > 0 {
            let note = format!("  … and {} more times\n", self.repeats);
            self.repeats = 0;
            self.append(note.as_bytes())?;
        }
        text.clone_into(&mut self.last);
        self.append(line)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.size > 0 && self.size + bytes.len() as u64 > self.limit {
            self.rotate()?;
        }
        self.file.write_all(bytes)?;
        self.size += bytes.len() as u64;
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        for number in (1..self.files).rev() {
            let from = if number == 1 { self.path.clone() } else { self.numbered(number - 1) };
            if from.exists() {
                std::fs::rename(&from, self.numbered(number))?;
            }
        }
        // With a single file nothing was put aside: it begins anew.
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.file = append(&self.path)?;
        self.size = 0;
        Ok(())
    }

    fn numbered(&self, number: usize) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{number}"));
        name.into()
    }
}

fn append(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

fn after_time(line: &[u8]) -> &[u8] {
    line.iter().position(|&byte| byte == b' ').map_or(line, |space| &line[space..])
}

#[derive(Clone, Debug)]
struct Shared(Arc<Mutex<Log>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // What cannot be written is lost; there is nobody to tell.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).record(bytes).ok();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Shared {
    type Writer = Self;

    fn make_writer(&'a self) -> Self::Writer {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_lines_are_counted_instead_of_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let mut log = Log::open(&path, 1 << 20, 3).expect("a log");
        for second in 0..5 {
            log.record(format!("{second} INFO same\n").as_bytes()).expect("written");
        }
        log.record(b"9 INFO other\n").expect("written");
        let text = std::fs::read_to_string(&path).expect("text");
        assert_eq!(text, "0 INFO same\n  … and 4 more times\n9 INFO other\n");
    }

    #[test]
    fn the_log_never_grows_beyond_its_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let mut log = Log::open(&path, 100, 3).expect("a log");
        for number in 0..100 {
            log.record(format!("{number} INFO line {number}\n").as_bytes()).expect("written");
        }
        let mut names: Vec<_> = std::fs::read_dir(folder.path())
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["log", "log.1", "log.2"]);
        let newest = std::fs::read_to_string(&path).expect("text");
        assert!(newest.ends_with("99 INFO line 99\n"), "{newest}");
    }
}
