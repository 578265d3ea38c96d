//! Finds where a JSON value ends. Safe code only: eight bytes at a time, memchr for long strings.

use memchr::memchr2;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// After this many bytes without a quote or escape a string is searched by memchr, whose set-up
/// costs more than it saves on the short ones that make up most of a line.
const SHORT: usize = 48;

/// Bit 7 of each byte of `word` that equals `byte` (exact for the lowest such byte).
const fn equal(word: u64, byte: u8) -> u64 {
    let x = word ^ (ONES * byte as u64);
    x.wrapping_sub(ONES) & !x & HIGHS
}

/// The first position at or after `at` that is not JSON white space.
#[inline]
pub(super) fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(at) {
        at += 1;
    }
    at
}

/// Position after the closing quote of the string whose first content byte is at `at`, and whether
/// the string holds an escape. Raw control characters are not looked for.
#[inline]
pub(super) fn skip_string(bytes: &[u8], mut at: usize) -> Option<(usize, bool)> {
    let mut escaped = false;
    let mut run = at;
    loop {
        if let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
            let word = u64::from_le_bytes(*chunk);
            let hits = equal(word, b'"') | equal(word, b'\\');
            if hits == 0 {
                at += 8;
                if at - run >= SHORT {
                    at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
                    run = at;
                }
                continue;
            }
            at += (hits.trailing_zeros() / 8) as usize;
        }
        match bytes.get(at)? {
            b'"' => return Some((at + 1, escaped)),
            b'\\' => {
                escaped = true;
                at = skip_escape(bytes, at + 1)?;
                run = at;
            }
            _ => at += 1,
        }
    }
}

/// Whether `bytes` hold a control character, which may stand between tokens but not in a string.
pub(super) fn has_controls(bytes: &[u8]) -> bool {
    // No early exit inside a chunk, so that the compiler can compare many bytes at once.
    bytes.chunks(64).any(|chunk| chunk.iter().fold(u8::MAX, |low, byte| low.min(*byte)) < 0x20)
}

#[inline]
fn skip_escape(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 1),
        b'u' => {
            let digits = bytes.get(at + 1..at + 5)?;
            digits.iter().all(u8::is_ascii_hexdigit).then_some(at + 5)
        }
        _ => None,
    }
}

/// Position after the value that starts at `at` (no leading space allowed).
#[inline]
pub(super) fn skip_value(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'{' | b'[' => skip_nested(bytes, at),
        b'"' => skip_string(bytes, at + 1).map(|(end, _)| end),
        _ => skip_scalar(bytes, at),
    }
}

fn skip_scalar(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b't' => literal(bytes, at, b"true"),
        b'f' => literal(bytes, at, b"false"),
        b'n' => literal(bytes, at, b"null"),
        _ => skip_number(bytes, at),
    }
}

fn literal(bytes: &[u8], at: usize, word: &[u8]) -> Option<usize> {
    bytes.get(at..)?.starts_with(word).then_some(at + word.len())
}

fn skip_number(bytes: &[u8], mut at: usize) -> Option<usize> {
    if bytes.get(at) == Some(&b'-') {
        at += 1;
    }
    at = match bytes.get(at)? {
        b'0' => at + 1,
        b'1'..=b'9' => skip_digits(bytes, at)?,
        _ => return None,
    };
    if bytes.get(at) == Some(&b'.') {
        at = skip_digits(bytes, at + 1)?;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        at += 1;
        if let Some(b'+' | b'-') = bytes.get(at) {
            at += 1;
        }
        at = skip_digits(bytes, at)?;
    }
    Some(at)
}

/// Position after one or more digits.
fn skip_digits(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    while let Some(b'0'..=b'9') = bytes.get(at) {
        at += 1;
    }
    (at > start).then_some(at)
}

/// Position after the string that is a member's key at `at`, its colon and space.
fn skip_key(bytes: &[u8], at: usize) -> Option<usize> {
    if *bytes.get(at)? != b'"' {
        return None;
    }
    let (end, _) = skip_string(bytes, at + 1)?;
    let at = skip_space(bytes, end);
    if *bytes.get(at)? != b':' {
        return None;
    }
    Some(skip_space(bytes, at + 1))
}

/// Which kinds of brackets are open: one bit each, objects set. The innermost 64 stand in a word,
/// so that no ordinary line allocates and no depth overflows the stack.
#[derive(Default)]
struct Nesting {
    word: u64,
    depth: usize,
    spilled: Vec<u64>,
}

impl Nesting {
    fn open(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.spilled.push(self.word);
        }
        self.word = (self.word << 1) | u64::from(object);
        self.depth += 1;
    }

    /// Closes the innermost; returns whether the one around it is an object, or `None` at the top.
    fn close(&mut self) -> Option<bool> {
        self.depth -= 1;
        self.word >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.word = self.spilled.pop().unwrap_or_default();
        }
        (self.depth > 0).then_some(self.word & 1 == 1)
    }
}

/// Position after the object or array that opens at `at`.
fn skip_nested(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut nesting = Nesting::default();
    loop {
        // A value starts at `at`.
        let byte = *bytes.get(at)?;
        let mut in_object = match byte {
            b'{' | b'[' => {
                let object = byte == b'{';
                nesting.open(object);
                at = skip_space(bytes, at + 1);
                if *bytes.get(at)? == if object { b'}' } else { b']' } {
                    at += 1;
                    match nesting.close() {
                        None => return Some(at),
                        Some(outer) => outer,
                    }
                } else {
                    if object {
                        at = skip_key(bytes, at)?;
                    }
                    continue;
                }
            }
            b'"' => {
                at = skip_string(bytes, at + 1)?.0;
                nesting.word & 1 == 1
            }
            _ => {
                at = skip_scalar(bytes, at)?;
                nesting.word & 1 == 1
            }
        };
        // A value ended; brackets may close behind it.
        loop {
            at = skip_space(bytes, at);
            match (bytes.get(at)?, in_object) {
                (b',', true) => {
                    at = skip_space(bytes, at + 1);
                    at = skip_key(bytes, at)?;
                    break;
                }
                (b',', false) => {
                    at = skip_space(bytes, at + 1);
                    break;
                }
                (b'}', true) | (b']', false) => {
                    at += 1;
                    match nesting.close() {
                        None => return Some(at),
                        Some(outer) => in_object = outer,
                    }
                }
                _ => return None,
            }
        }
    }
}
