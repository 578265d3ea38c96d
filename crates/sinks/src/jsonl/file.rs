//! A file that is appended to in whole lines and rotated by size.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use crate::private;

/// The file, opened when it is first written and again after every failure.
#[derive(Debug)]
pub(super) struct Rotated {
    path: PathBuf,
    max_bytes: u64,
    keep: u64,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    file: File,
    size: u64,
}

impl Rotated {
    pub(super) fn new(path: PathBuf, max_bytes: u64, keep: u64) -> Self {
        Self { path, max_bytes, keep, open: None }
    }

    /// Appends the lines in order. On an error, says how many of them are in the file: these whole, of
    /// the others nothing.
    pub(super) fn append(&mut self, lines: &[String]) -> Result<(), (usize, io::Error)> {
        let mut written = 0;
        while written < lines.len() {
            match self.append_some(&lines[written..]) {
                Ok(count) => written += count,
                Err(error) => {
                    self.open = None;
                    return Err((written, self.named(&error)));
                }
            }
        }
        Ok(())
    }

    fn named(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("cannot write {}: {error}", self.path.display()))
    }

    /// Writes as many lines as fit into the present file, at least one.
    fn append_some(&mut self, lines: &[String]) -> io::Result<usize> {
        let mut open = self.take_open()?;
        let mut text = String::new();
        let mut count = 0;
        for line in lines {
            let size = open.size + text.len() as u64;
            if size > 0 && size + line.len() as u64 >= self.max_bytes {
                break;
            }
            text.push_str(line);
            text.push('\n');
            count += 1;
        }
        if count == 0 {
            // The present file is full.
            drop(open);
            self.rotate()?;
            return Ok(0);
        }
        if let Err(error) = open.file.write_all(text.as_bytes()) {
            // No half line: the next attempt, or another reader, must not see what was begun.
            open.file.set_len(open.size)?;
            return Err(error);
        }
        open.size += text.len() as u64;
        self.open = Some(open);
        Ok(count)
    }

    fn take_open(&mut self) -> io::Result<Open> {
        if let Some(open) = self.open.take()
            && private::is_at(&open.file, &self.path)
        {
            return Ok(open);
        }
        if let Some(folder) = self.path.parent() {
            private::create_folder(folder)?;
        }
        if fs::metadata(&self.path).is_ok_and(|found| !found.is_file()) {
            return Err(io::Error::other("it is not a regular file"));
        }
        let mut file = private::open_append(&self.path)?;
        let mut size = file.metadata()?.len();
        if size > 0 && !ends_with_line_end(&self.path, size)? {
            // Somebody was killed in the middle of a line. Ours begins on a new one.
            file.write_all(b"\n")?;
            size += 1;
        }
        Ok(Open { file, size })
    }

    /// `path` becomes `path.1`, that `path.2`, and so on; the oldest goes.
    fn rotate(&mut self) -> io::Result<()> {
        if self.keep == 0 {
            return fs::remove_file(&self.path);
        }
        for number in (1..self.keep).rev() {
            match fs::rename(self.numbered(number), self.numbered(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        fs::rename(&self.path, self.numbered(1))
    }

    fn numbered(&self, number: u64) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(format!(".{number}"));
        name.into()
    }
}

fn ends_with_line_end(path: &Path, size: u64) -> io::Result<bool> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(size - 1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}
