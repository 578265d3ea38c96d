//! Cuts a byte stream into lines, whatever the bytes are.
//!
//! The splitter holds at most one unfinished line and never more of it than its limit: a longer
//! line is counted, skipped to its newline, and the lines after it are whole again. It does not
//! look inside a line: JSON, glued objects and bad UTF-8 are the decoder's business. It does no
//! I/O either; whoever reads the pipe hands the chunks in. Start with [`Splitter::push`].

use memchr::memchr;

/// Longest line that is handed on, in bytes without its newline.
pub const DEFAULT_LIMIT: usize = 8 * 1024 * 1024;

/// A buffer that grew for one long line is given back above this capacity.
const KEPT_CAPACITY: usize = 256 * 1024;

/// What the splitter found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// One line without its line end (`\n` or `\r\n`). Never blank.
    Line(&'a [u8]),
    /// A line over the limit; its bytes are gone, only their number is known.
    TooLong {
        /// Length of the line without its newline.
        bytes: u64,
    },
}

/// Cuts chunks into lines; see the module page.
///
/// ```
/// use linelamp_drivers::line::{Piece, Splitter};
///
/// let mut splitter = Splitter::new();
/// let mut lines = Vec::new();
/// let mut keep = |piece: Piece<'_>| {
///     if let Piece::Line(line) = piece {
///         lines.push(line.to_vec());
///     }
/// };
/// splitter.push(b"{\"a\":1}\r\n\n{\"b\"", &mut keep);
/// splitter.push(b":2}", &mut keep);
/// splitter.finish(&mut keep);
/// assert_eq!(lines, [b"{\"a\":1}".to_vec(), b"{\"b\":2}".to_vec()]);
/// ```
#[derive(Debug)]
pub struct Splitter {
    /// The unfinished line; empty while one over the limit is being skipped.
    held: Vec<u8>,
    /// Bytes of the line being skipped.
    skipped: Option<u64>,
    limit: usize,
}

impl Splitter {
    /// A splitter with [`DEFAULT_LIMIT`].
    pub fn new() -> Self {
        Self::with_limit(DEFAULT_LIMIT)
    }

    /// A splitter whose lines hold at most `limit` bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self { held: Vec::new(), skipped: None, limit }
    }

    /// Takes the next chunk and hands every line that is now complete to `sink`. A line that lies
    /// whole in the chunk is not copied.
    pub fn push(&mut self, mut chunk: &[u8], sink: &mut impl FnMut(Piece<'_>)) {
        while let Some(at) = memchr(b'\n', chunk) {
            let (head, tail) = chunk.split_at(at);
            self.close(head, sink);
            chunk = tail.get(1..).unwrap_or_default();
        }
        self.hold(chunk);
    }

    /// The stream is over: hands on a last line that had no newline.
    pub fn finish(&mut self, sink: &mut impl FnMut(Piece<'_>)) {
        self.close(&[], sink);
    }

    /// Forgets an unfinished line, for a reader that lost bytes: the next line begins here only if
    /// `resync` says the following bytes start a line, else they are skipped to the next newline.
    pub fn gap(&mut self, resync: bool) {
        self.held.clear();
        self.skipped = if resync { None } else { Some(0) };
    }

    /// Bytes held for the unfinished line.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    fn close(&mut self, head: &[u8], sink: &mut impl FnMut(Piece<'_>)) {
        if let Some(skipped) = self.skipped.take() {
            sink(Piece::TooLong { bytes: skipped + head.len() as u64 });
            return;
        }
        if self.held.len() + head.len() > self.limit {
            let bytes = (self.held.len() + head.len()) as u64;
            self.held = Vec::new();
            sink(Piece::TooLong { bytes });
            return;
        }
        if self.held.is_empty() {
            emit(head, sink);
            return;
        }
        self.held.extend_from_slice(head);
        emit(&self.held, sink);
        self.held.clear();
        self.held.shrink_to(KEPT_CAPACITY);
    }

    fn hold(&mut self, rest: &[u8]) {
        if let Some(skipped) = &mut self.skipped {
            *skipped += rest.len() as u64;
        } else if self.held.len() + rest.len() > self.limit {
            self.skipped = Some((self.held.len() + rest.len()) as u64);
            self.held = Vec::new();
        } else {
            self.held.extend_from_slice(rest);
        }
    }
}

impl Default for Splitter {
    fn default() -> Self {
        Self::new()
    }
}

fn emit(line: &[u8], sink: &mut impl FnMut(Piece<'_>)) {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if !line.trim_ascii().is_empty() {
        sink(Piece::Line(line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, PartialEq, Eq, Clone)]
    enum Owned {
        Line(Vec<u8>),
        TooLong(u64),
    }

    fn split(limit: usize, chunks: &[&[u8]]) -> Vec<Owned> {
        let mut splitter = Splitter::with_limit(limit);
        let mut out = Vec::new();
        let mut keep = |piece: Piece<'_>| {
            out.push(match piece {
                Piece::Line(line) => Owned::Line(line.to_vec()),
                Piece::TooLong { bytes } => Owned::TooLong(bytes),
            });
        };
        for chunk in chunks {
            splitter.push(chunk, &mut keep);
        }
        splitter.finish(&mut keep);
        out
    }

    fn line(text: &str) -> Owned {
        Owned::Line(text.as_bytes().to_vec())
    }

    #[test]
    fn blank_lines_and_carriage_returns_are_not_lines() {
        assert_eq!(split(99, &[b"a\r\n\r\n  \n\nb\n"]), [line("a"), line("b")]);
    }

    #[test]
    fn last_line_without_newline_is_a_line() {
        assert_eq!(split(99, &[b"a\nb"]), [line("a"), line("b")]);
        assert_eq!(split(99, &[b"a\n"]), [line("a")]);
        assert_eq!(split(99, &[]), []);
    }

    #[test]
    fn line_at_the_limit_passes_and_one_over_is_skipped_whole() {
        assert_eq!(split(3, &[b"abc\nabcd\nx\n"]), [line("abc"), Owned::TooLong(4), line("x")]);
        assert_eq!(split(3, &[b"ab", b"cd", b"ef\nx"]), [Owned::TooLong(6), line("x")]);
        assert_eq!(split(3, &[b"abcdef"]), [Owned::TooLong(6)]);
    }

    #[test]
    fn lines_around_the_pipe_buffer_come_out_whole() {
        for size in [65_535, 65_536, 65_537, 1024 * 1024 + 1, DEFAULT_LIMIT] {
            let mut bytes = vec![b'x'; size];
            bytes.push(b'\n');
            let chunks: Vec<&[u8]> = bytes.chunks(65_536).collect();
            assert_eq!(split(DEFAULT_LIMIT, &chunks), [Owned::Line(vec![b'x'; size])]);
        }
    }

    #[test]
    fn a_60_mb_line_is_never_held() {
        let mut splitter = Splitter::new();
        let chunk = vec![b'x'; 1024 * 1024];
        let mut pieces = Vec::new();
        for _ in 0..60 {
            splitter.push(&chunk, &mut |_| panic!("no line has ended"));
            assert!(splitter.held() <= DEFAULT_LIMIT);
        }
        splitter.push(b"\n{}\n", &mut |piece| {
            pieces.push(match piece {
                Piece::Line(line) => Owned::Line(line.to_vec()),
                Piece::TooLong { bytes } => Owned::TooLong(bytes),
            });
        });
        assert_eq!(pieces, [Owned::TooLong(60 * 1024 * 1024), line("{}")]);
    }

    #[test]
    fn memory_of_a_long_line_is_given_back() {
        let mut splitter = Splitter::new();
        splitter.push(&vec![b'x'; 4 * 1024 * 1024], &mut |_| ());
        splitter.push(b"\n", &mut |_| ());
        assert!(splitter.held.capacity() <= KEPT_CAPACITY);
    }

    #[test]
    fn a_gap_drops_the_torn_line_only() {
        let mut splitter = Splitter::new();
        let mut out = Vec::new();
        splitter.push(b"{\"torn", &mut |_| panic!("no line has ended"));
        splitter.gap(false);
        splitter.push(b"tail\"}\n{}\n", &mut |piece| out.push(format!("{piece:?}")));
        assert_eq!(out.len(), 2);
        assert_eq!(out[1], format!("{:?}", Piece::Line(b"{}")));
    }

    proptest! {
        #[test]
        fn any_cut_of_the_bytes_gives_the_same_lines(
            bytes in proptest::collection::vec(
                prop_oneof![Just(b'\n'), Just(b'\r'), Just(b' '), any::<u8>()], 0..200),
            cuts in proptest::collection::vec(0usize..200, 0..8),
            limit in 1usize..40,
        ) {
            let whole = split(limit, &[&bytes]);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut from = 0;
            for cut in cuts {
                chunks.push(&bytes[from..cut]);
                from = cut;
            }
            chunks.push(&bytes[from..]);
            prop_assert_eq!(split(limit, &chunks), whole);
        }
    }
}
