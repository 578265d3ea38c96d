//! A durable place in a file, and how to tell that it is still the same file.
//!
//! A mark is the offset of the next line, a digest of what stands at the file's start and right before the
//! offset, and the time when that was read. A file that was shortened, rewritten or replaced has another
//! digest there, or no such offset; it is read from its start. Inode numbers would tell less: an editor that
//! saves under the same name changes them, and a file that is cut and grows again does not.

use std::fmt;
use std::io::{self, Read, Seek};
use std::str::FromStr;

use linelamp_core::Timestamp;

use super::tail::fill;

/// So many bytes at the start and before the offset are compared.
const WINDOW: u64 = 256;

/// A durable place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// Everything before this was read.
    pub(super) offset: u64,
    /// The digest of what stands before it.
    pub(super) print: Print,
    /// When the file was seen like this.
    pub(super) at: Timestamp,
}

/// A digest of parts of a file. It is stored, so it must stay the same over versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Print(u64);

impl Print {
    /// The digest for `offset`; none if the source does not reach that far.
    pub(super) fn of<S: Read + Seek>(
        source: &mut S,
        buffer: &mut Vec<u8>,
        offset: u64,
    ) -> io::Result<Option<Self>> {
        let length = offset.min(WINDOW);
        let wanted = usize::try_from(length).expect("a small window");
        let mut hash = Fnv::default();
        for begin in [0, offset - length] {
            let bytes = fill(source, buffer, begin, wanted)?;
            if bytes.len() < wanted {
                return Ok(None);
            }
            hash.add(bytes);
        }
        Ok(Some(Self(hash.0)))
    }
}

/// FNV-1a.
pub(super) struct Fnv(pub(super) u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {:016x} {}", self.offset, self.print.0, self.at.as_millisecond())
    }
}

/// A cursor's text that is no mark: of another version, or broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoMark;

impl FromStr for Mark {
    type Err = NoMark;

    fn from_str(text: &str) -> Result<Self, NoMark> {
        let mut words = text.split(' ');
        let mut next = || words.next().ok_or(NoMark);
        let offset = next()?.parse().map_err(|_| NoMark)?;
        let print = Print(u64::from_str_radix(next()?, 16).map_err(|_| NoMark)?);
        let at = next()?.parse().map_err(|_| NoMark)?;
        let at = Timestamp::from_millisecond(at).map_err(|_| NoMark)?;
        Ok(Self { offset, print, at })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn print(source: &[u8], offset: u64) -> Option<Print> {
        Print::of(&mut Cursor::new(source), &mut Vec::new(), offset).expect("memory can be read")
    }

    #[test]
    fn a_mark_is_read_as_it_is_written() {
        let at = Timestamp::constant(1_800_000_000, 5_000_000);
        let mark = Mark { offset: 4_711, print: Print(0xab), at };
        assert_eq!(mark.to_string(), "4711 00000000000000ab 1800000000005");
        assert_eq!(mark.to_string().parse(), Ok(mark));
        for broken in ["", "1", "1 2", "x 2 3", "1 zz 3", "-1 2 3", "1 2 x"] {
            assert_eq!(broken.parse::<Mark>(), Err(NoMark), "{broken}");
        }
    }

    #[test]
    fn growth_keeps_the_print_and_any_other_change_does_not() {
        let long: Vec<u8> = (0..2_000_u32).flat_map(|n| format!("{n}\n").into_bytes()).collect();
        let offset = 4_000;
        let before = print(&long, offset).expect("it reaches so far");
        let mut grown = long.clone();
        grown.extend(b"more\n");
        assert_eq!(print(&grown, offset), Some(before));
        assert_eq!(print(&long[..3_999], offset), None, "shortened");
        let mut rewritten = long.clone();
        rewritten[7] = b'x';
        assert_ne!(print(&rewritten, offset), Some(before), "another beginning");
        let mut inserted = long;
        inserted.splice(2_000..2_000, *b"one more line\n");
        assert_ne!(print(&inserted, offset), Some(before), "a line put in further down");
        assert_eq!(print(b"", 0), print(b"anything", 0), "nothing was read: nothing to compare");
    }
}
