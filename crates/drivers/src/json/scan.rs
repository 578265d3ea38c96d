//! Finds where a JSON value ends. Safe code only: eight bytes at a time, memchr for long strings.

use memchr::memchr2;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Strings longer than this many bytes are searched by memchr, whose set-up costs more than it
/// saves on the short ones that make up most of a line.
const SHORT: usize = 32;

/// Bit 7 of each byte of `word` that equals `byte` (exact for the lowest such byte).
const fn equal(word: u64, byte: u8) -> u64 {
    let x = word ^ (ONES * byte as u64);
    x.wrapping_sub(ONES) & !x & HIGHS
}

/// What a byte outside a string means to the walk over a nested value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Cannot stand outside a string.
    Bad,
    /// Digits, letters of literals, commas, colons, space.
    Plain,
    Open,
    Close,
    Quote,
}

const CLASSES: [Class; 256] = {
    let mut table = [Class::Bad; 256];
    let plain = b" \t\r\n,:+-.0123456789truefalsnE";
    let mut i = 0;
    while i < plain.len() {
        table[plain[i] as usize] = Class::Plain;
        i += 1;
    }
    table[b'{' as usize] = Class::Open;
    table[b'[' as usize] = Class::Open;
    table[b'}' as usize] = Class::Close;
    table[b']' as usize] = Class::Close;
    table[b'"' as usize] = Class::Quote;
    table
};

/// The first position at or after `at` that is not JSON white space.
pub(super) fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(at) {
        at += 1;
    }
    at
}

/// Position after the closing quote of the string whose first content byte is at `at`, and whether
/// the string holds an escape.
pub(super) fn skip_string(bytes: &[u8], mut at: usize) -> Option<(usize, bool)> {
    let mut escaped = false;
    let mut budget = SHORT;
    loop {
        while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
            let word = u64::from_le_bytes(*chunk);
            let hits = equal(word, b'"') | equal(word, b'\\');
            if hits != 0 {
                at += (hits.trailing_zeros() / 8) as usize;
                break;
            }
            at += 8;
            budget = budget.saturating_sub(8);
            if budget == 0 {
                at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
                break;
            }
        }
        match bytes.get(at)? {
            b'"' => return Some((at + 1, escaped)),
            b'\\' => {
                escaped = true;
                at += 2;
            }
            _ => at += 1,
        }
    }
}

/// Position after the value that starts at `at` (no leading space allowed).
pub(super) fn skip_value(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'"' => skip_string(bytes, at + 1).map(|(end, _)| end),
        b'{' | b'[' => skip_nested(bytes, at),
        b't' => literal(bytes, at, b"true"),
        b'f' => literal(bytes, at, b"false"),
        b'n' => literal(bytes, at, b"null"),
        b'-' | b'0'..=b'9' => {
            let mut end = at + 1;
            while let Some(b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E') = bytes.get(end) {
                end += 1;
            }
            Some(end)
        }
        _ => None,
    }
}

fn literal(bytes: &[u8], at: usize, word: &[u8]) -> Option<usize> {
    bytes.get(at..)?.starts_with(word).then_some(at + word.len())
}

/// Position after the object or array that opens at `at`. Brackets are counted, not matched by
/// kind: what is skipped is not read.
fn skip_nested(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0usize;
    loop {
        match CLASSES[usize::from(*bytes.get(at)?)] {
            Class::Plain => at += 1,
            Class::Quote => at = skip_string(bytes, at + 1)?.0,
            Class::Open => {
                depth += 1;
                at += 1;
            }
            Class::Close => {
                depth -= 1;
                at += 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            Class::Bad => return None,
        }
    }
}
