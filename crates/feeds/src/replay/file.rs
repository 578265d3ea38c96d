//! One file of a recording: its lines, by number.

use std::io;
use std::ops::Range;
use std::path::Path;

/// A file's bytes and where its lines are. Line ends are `\n`; a last line without one counts.
#[derive(Debug, Default)]
pub(super) struct LineFile {
    bytes: Vec<u8>,
    lines: Vec<Range<usize>>,
}

impl LineFile {
    /// Reads the file, or nothing if there is none.
    pub(super) fn read(path: &Path) -> io::Result<Option<Self>> {
        match std::fs::read(path) {
            Ok(bytes) => Ok(Some(Self::new(bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn new(bytes: Vec<u8>) -> Self {
        let mut lines = Vec::new();
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', &bytes).chain([bytes.len()]) {
            if start < bytes.len() {
                let carriage = end > start && bytes[end - 1] == b'\r';
                lines.push(start..end - usize::from(carriage));
            }
            start = end + 1;
        }
        Self { bytes, lines }
    }

    /// The whole file.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many lines there are.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Line number `number`, from 1.
    pub(super) fn line(&self, number: usize) -> Option<&[u8]> {
        self.lines.get(number.checked_sub(1)?).map(|range| &self.bytes[range.clone()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
        let file = LineFile::new(bytes.to_vec());
        (1..=file.len()).map(|number| file.line(number).expect("a line").to_vec()).collect()
    }

    #[test]
    fn lines_are_found_whatever_ends_them() {
        assert_eq!(lines(b""), [b""; 0]);
        assert_eq!(lines(b"one\n\ntwo\r\n"), [&b"one"[..], b"", b"two"]);
        assert_eq!(lines(b"one\ncut"), [&b"one"[..], b"cut"]);
        assert_eq!(LineFile::new(b"x\n".to_vec()).line(0), None);
        assert_eq!(LineFile::new(b"x\n".to_vec()).line(2), None);
    }
}
