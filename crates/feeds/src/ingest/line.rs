//! Lines off a socket, bounded, and safe to be interrupted while waiting for one.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// A buffer is given back to the system when it was needed for one large line only.
const USUAL: usize = 64 << 10;

/// What has been read and not given out.
#[derive(Debug)]
pub(super) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    /// Given out before.
    start: usize,
    /// Searched without finding a line end.
    searched: usize,
    longest: usize,
}

/// Why there is no further line.
#[derive(Debug, thiserror::Error)]
pub(super) enum LineError {
    #[error("line is longer than {0} bytes")]
    TooLong(usize),
    #[error("connection failed")]
    Read(#[from] io::Error),
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of at most `longest` bytes.
    pub(super) fn new(reader: R, longest: usize) -> Self {
        Self { reader, buffer: Vec::new(), start: 0, searched: 0, longest }
    }

    /// The next line without its end; none at the end, where a line that is cut does not count. Dropping the
    /// future loses nothing.
    pub(super) async fn next(&mut self) -> Result<Option<&[u8]>, LineError> {
        loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            if let Some(offset) = memchr::memchr(b'\n', unsearched) {
                let (start, end) = (self.start, self.searched + offset);
                (self.start, self.searched) = (end + 1, end + 1);
                return Ok(self.buffer.get(start..end));
            }
            self.searched = self.buffer.len();
            if self.searched - self.start > self.longest {
                return Err(LineError::TooLong(self.longest));
            }
            self.compact();
            if self.reader.read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
        }
    }

    /// Moves what is left to the front and lets a large buffer go.
    fn compact(&mut self) {
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        if self.buffer.len() < USUAL && self.buffer.capacity() > 4 * USUAL {
            self.buffer.shrink_to(USUAL);
        }
        if self.buffer.capacity() - self.buffer.len() < 4096 {
            self.buffer.reserve(self.buffer.capacity().max(4096));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], longest: usize) -> (Vec<String>, Option<String>) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let mut lines = Lines::new(bytes, longest);
            let mut found = Vec::new();
            loop {
                match lines.next().await {
                    Ok(Some(line)) => found.push(String::from_utf8_lossy(line).into_owned()),
                    Ok(None) => return (found, None),
                    Err(error) => return (found, Some(error.to_string())),
                }
            }
        })
    }

    #[test]
    fn lines_come_whole_and_a_cut_one_not_at_all() {
        let long = "x".repeat(100_000);
        let (lines, error) = read(format!("a\n\n{long}\ncut").as_bytes(), 200_000);
        assert_eq!((lines, error), (vec!["a".to_owned(), String::new(), long], None));
    }

    #[test]
    fn a_line_over_the_limit_ends_it_and_those_before_have_come() {
        let (lines, error) = read(format!("a\n{}\n", "x".repeat(50_000)).as_bytes(), 10_000);
        assert_eq!(lines, ["a"]);
        assert_eq!(error.as_deref(), Some("line is longer than 10000 bytes"));
    }
}
