//! Whole lines of something that grows, in bounded memory.
//!
//! A [`Tail`] is a place between two lines. Reading moves it past whole lines only: a line without its end
//! waits until the end is there, and is not looked through twice meanwhile. Lines are bytes, whatever
//! they hold. Which file it is, and whether it is still the same, is the business of others.

use std::io::{self, Read, Seek, SeekFrom};

/// A line longer than this is left out.
pub(super) const LONGEST: u64 = 8 << 20;

/// So much is read at once, unless one line is longer.
const CHUNK: usize = 64 << 10;

/// A buffer larger than this is not kept for the next file.
const KEPT: usize = 1 << 20;

/// A place between two lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tail {
    offset: u64,
    /// Between `offset` and here no line ends.
    scanned: u64,
}

/// One line, without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// All of it.
    Whole(&'a [u8]),
    /// It is over the limit.
    TooLong,
}

impl Tail {
    /// The place `offset`, which must be a line's first byte.
    pub(super) fn at(offset: u64) -> Self {
        Self { offset, scanned: offset }
    }

    /// Everything before this was read.
    pub(super) fn offset(self) -> u64 {
        self.offset
    }

    /// True if a source of `size` bytes holds nothing that was not looked at.
    pub(super) fn has_seen(self, size: u64) -> bool {
        self.scanned == size
    }

    /// Hands the whole lines after this place to `each`, with the places where they begin and end, until
    /// about `budget` bytes were read. True if there may be more.
    ///
    /// # Errors
    ///
    /// Of the source. What `each` was given counts as read.
    pub(super) fn read<S: Read + Seek>(
        &mut self,
        source: &mut S,
        buffer: &mut Vec<u8>,
        budget: u64,
        mut each: impl FnMut(std::ops::Range<u64>, Line<'_>),
    ) -> io::Result<bool> {
        let limit = self.offset.saturating_add(budget);
        while self.offset < limit {
            let wanted = if self.scanned > self.offset {
                let (end, is_found) = find_end(source, buffer, self.scanned)?;
                if !is_found {
                    self.scanned = end;
                    return Ok(false);
                }
                if end - self.offset > LONGEST {
                    each(self.offset..end + 1, Line::TooLong);
                    *self = Self::at(end + 1);
                    continue;
                }
                usize::try_from(end + 1 - self.offset).expect("at most the longest line")
            } else {
                CHUNK
            };
            let bytes = fill(source, buffer, self.offset, wanted)?;
            let (start, length) = (self.offset, bytes.len());
            let mut next = start;
            for end in memchr::memchr_iter(b'\n', bytes) {
                let end = start + end as u64;
                let line = &bytes[index(next - start)..index(end - start)];
                each(next..end + 1, Line::Whole(line.strip_suffix(b"\r").unwrap_or(line)));
                next = end + 1;
                *self = Self::at(next);
            }
            if length < wanted || next == start {
                self.scanned = start + length as u64;
            }
            if length < wanted {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The first byte of the line that holds byte `at`, or that would begin there. Looks back over one line of the
/// greatest length; of a longer one it gives a place inside, from which reading finds it too long.
fn line_start<S: Read + Seek>(source: &mut S, buffer: &mut Vec<u8>, at: u64) -> io::Result<u64> {
    let first = at.saturating_sub(LONGEST + 2);
    let mut end = at;
    while end > first {
        let begin = end.saturating_sub(CHUNK as u64).max(first);
        let bytes = fill(source, buffer, begin, index(end - begin))?;
        if let Some(found) = memchr::memrchr(b'\n', bytes) {
            return Ok(begin + found as u64 + 1);
        }
        end = begin;
    }
    Ok(first)
}

/// Where to begin in a source of `size` bytes to read about the last `length` of it, or its last line if
/// that is longer.
pub(super) fn tail_start<S: Read + Seek>(
    source: &mut S,
    buffer: &mut Vec<u8>,
    size: u64,
    length: u64,
) -> io::Result<u64> {
    let Some(begin) = size.checked_sub(length).filter(|begin| *begin > 0) else { return Ok(0) };
    let (end, is_found) = find_end(source, buffer, begin - 1)?;
    // A last line that is longer than all of this begins further up.
    if is_found && end + 1 < size { Ok(end + 1) } else { line_start(source, buffer, begin) }
}

/// Gives back what a long line made of the buffer.
pub(super) fn relax(buffer: &mut Vec<u8>) {
    if buffer.len() > KEPT {
        buffer.truncate(CHUNK);
        buffer.shrink_to_fit();
    }
}

/// Where the first line end at or after `from` is, and true; or where the source ends, and false.
fn find_end<S: Read + Seek>(
    source: &mut S,
    buffer: &mut Vec<u8>,
    mut from: u64,
) -> io::Result<(u64, bool)> {
    loop {
        let bytes = fill(source, buffer, from, CHUNK)?;
        if let Some(found) = memchr::memchr(b'\n', bytes) {
            return Ok((from + found as u64, true));
        }
        from += bytes.len() as u64;
        if bytes.len() < CHUNK {
            return Ok((from, false));
        }
    }
}

/// Up to `wanted` bytes from `from` on; fewer only where the source ends.
pub(super) fn fill<'a, S: Read + Seek>(
    source: &mut S,
    buffer: &'a mut Vec<u8>,
    from: u64,
    wanted: usize,
) -> io::Result<&'a [u8]> {
    source.seek(SeekFrom::Start(from))?;
    if buffer.len() < wanted {
        buffer.resize(wanted, 0);
    }
    let mut filled = 0;
    while filled < wanted {
        match source.read(&mut buffer[filled..wanted]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(&buffer[..filled])
}

/// A distance within a buffer.
fn index(distance: u64) -> usize {
    usize::try_from(distance).expect("within a buffer")
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;

    /// Everything a place gives up to the source's end, as text; too long is `None`.
    fn read(tail: &mut Tail, source: &[u8], budget: u64) -> Vec<Option<Vec<u8>>> {
        let (mut lines, mut buffer) = (Vec::new(), Vec::new());
        let mut source = Cursor::new(source);
        while tail
            .read(&mut source, &mut buffer, budget, |_, line| match line {
                Line::Whole(bytes) => lines.push(Some(bytes.to_vec())),
                Line::TooLong => lines.push(None),
            })
            .expect("memory can be read")
        {}
        lines
    }

    fn texts(lines: &[&str]) -> Vec<Option<Vec<u8>>> {
        lines.iter().map(|line| Some(line.as_bytes().to_vec())).collect()
    }

    #[test]
    fn a_half_written_last_line_waits_and_is_read_once_when_it_is_whole() {
        let mut tail = Tail::at(0);
        assert_eq!(read(&mut tail, b"one\n{\"type\":\"assi", 99), texts(&["one"]));
        assert_eq!(tail.offset(), 4);
        assert_eq!(read(&mut tail, b"one\n{\"type\":\"assistant\"}", 99), texts(&[]));
        assert_eq!(tail.offset(), 4);
        let whole = b"one\n{\"type\":\"assistant\"}\r\n\nend\n";
        assert_eq!(read(&mut tail, whole, 99), texts(&["{\"type\":\"assistant\"}", "", "end"]));
        assert_eq!(read(&mut tail, whole, 99), texts(&[]));
        assert!(tail.has_seen(whole.len() as u64));
    }

    #[test]
    fn places_are_bytes_and_lines_need_not_be_text() {
        let mut tail = Tail::at(0);
        let source = b"\xc3\xa9\xff\0\n\xf0\x9f\n";
        let lines = read(&mut tail, source, 99);
        assert_eq!(lines, [Some(b"\xc3\xa9\xff\0".to_vec()), Some(b"\xf0\x9f".to_vec())]);
        assert_eq!(tail.offset(), 8);
    }

    #[test]
    fn a_line_of_the_greatest_length_is_read_and_a_longer_one_is_left_out() {
        let longest = usize::try_from(LONGEST).expect("it fits");
        let mut source = vec![b'a'; longest];
        source.extend(b"\nafter\n");
        source.extend(vec![b'b'; longest + 1]);
        source.extend(b"\nlast\n");
        let mut tail = Tail::at(0);
        let lines = read(&mut tail, &source, u64::MAX);
        let lengths: Vec<_> = lines.iter().map(|line| line.as_ref().map(Vec::len)).collect();
        assert_eq!(lengths, [Some(longest), Some(5), None, Some(4)]);
    }

    #[test]
    fn a_line_that_never_ends_takes_no_memory_and_is_looked_through_once() {
        struct Endless {
            place: u64,
            read: u64,
            size: u64,
        }
        impl Read for Endless {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let left = usize::try_from(self.size - self.place).expect("it fits");
                let count = buffer.len().min(left);
                buffer[..count].fill(b'x');
                self.place += count as u64;
                self.read += count as u64;
                Ok(count)
            }
        }
        impl Seek for Endless {
            fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
                let SeekFrom::Start(place) = to else { return Err(io::ErrorKind::Other.into()) };
                self.place = place;
                Ok(place)
            }
        }
        let mut source = Endless { place: 0, read: 0, size: 0 };
        let (mut tail, mut buffer) = (Tail::at(0), Vec::new());
        for _ in 0..50 {
            source.size += 1 << 20;
            let more = tail.read(&mut source, &mut buffer, 1 << 20, |_, _| panic!("no line ends"));
            assert!(!more.expect("it can be read"));
        }
        assert_eq!(source.read, source.size, "each byte once");
        assert!(buffer.capacity() <= 2 * CHUNK, "{}", buffer.capacity());
        assert_eq!(tail.offset(), 0);
    }

    #[test]
    fn a_tail_begins_with_a_whole_line() {
        let source = b"first\nsecond\nthird\n";
        let start = |size: u64, length| {
            tail_start(&mut Cursor::new(&source[..]), &mut Vec::new(), size, length).expect("read")
        };
        for (length, expected) in [(100, 0), (19, 0), (18, 6), (13, 6), (12, 13), (6, 13), (5, 13)]
        {
            assert_eq!(start(19, length), expected, "the last {length} bytes");
        }
        let mut long = b"before\n".to_vec();
        long.extend(vec![b'a'; 3 * CHUNK]);
        let begin = |source: &[u8], at| {
            line_start(&mut Cursor::new(source), &mut Vec::new(), at).expect("read")
        };
        assert_eq!(begin(&long, long.len() as u64), 7);
        assert_eq!((begin(&long, 7), begin(&long, 6), begin(&long, 0)), (7, 0, 0));
        long.push(b'\n');
        let size = long.len() as u64;
        let tail = tail_start(&mut Cursor::new(&long), &mut Vec::new(), size, 100).expect("read");
        assert_eq!(tail, 7, "the last line, although it is longer than asked for");
    }

    proptest! {
        #[test]
        fn however_a_file_grows_every_line_is_read_once_and_in_order(
            lines in prop::collection::vec("[ab\u{e9}]{0,9}", 0..60),
            cuts in prop::collection::vec(0_usize..600, 0..40),
            budget in 1_u64..40,
        ) {
            let whole: Vec<u8> = lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(whole.len())).collect();
            cuts.sort_unstable();
            cuts.push(whole.len());
            let (mut tail, mut found) = (Tail::at(0), Vec::new());
            for cut in cuts {
                found.extend(read(&mut tail, &whole[..cut], budget));
                let offset = usize::try_from(tail.offset()).expect("it fits");
                prop_assert!(offset == 0 || whole[offset - 1] == b'\n');
            }
            let expected: Vec<_> = lines.iter().map(|line| Some(line.clone().into_bytes())).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
