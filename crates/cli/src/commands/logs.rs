//! `logs`: the daemon's own log.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::args::LogsArgs;
use crate::exit::{FAILED, Failure};
use crate::paths::Paths;

/// Prints the end of the log and, if asked, what comes.
pub(crate) fn run(args: &LogsArgs) -> Result<ExitCode> {
    let path = Paths::find()?.log();
    let mut out = std::io::stdout().lock();
    let mut reader = open(&path)?;
    let mut tail = std::collections::VecDeque::new();
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        tail.push_back(std::mem::take(&mut line));
        if tail.len() > args.lines {
            tail.pop_front();
        }
    }
    for line in tail {
        out.write_all(&line)?;
    }
    if !args.follow {
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        out.flush()?;
        if reader.read_until(b'\n', &mut line)? > 0 {
            out.write_all(&line)?;
            line.clear();
        } else {
            std::thread::sleep(Duration::from_millis(200));
            if was_rotated(&mut reader, &path) {
                reader = open(&path)?;
            }
        }
    }
}

fn open(path: &Path) -> Result<BufReader<File>> {
    match File::open(path) {
        Ok(file) => Ok(BufReader::new(file)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(Failure::new(FAILED, format!("there is no log yet: {}", path.display()))
                .hint("a daemon writes it; start one with `linelamp up`")
                .into())
        }
        Err(error) => Err(error).with_context(|| format!("cannot open {}", path.display())),
    }
}

fn was_rotated(reader: &mut BufReader<File>, path: &Path) -> bool {
    let (Ok(ours), Ok(theirs)) = (reader.get_ref().metadata(), std::fs::metadata(path)) else {
        return false;
    };
    let position = reader.stream_position().unwrap_or(0);
    ours.ino() != theirs.ino() || theirs.len() < position
}
