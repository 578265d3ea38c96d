//! Strings and trees from bytes that are almost JSON.
//!
//! JavaScript writes half of a surrogate pair as an escape of its own (`\ud83d`) when a text was
//! cut inside an emoji; strict parsers refuse the whole line for it. Here the half becomes U+FFFD
//! and the rest is kept. The same goes for bytes that are no UTF-8.

use std::borrow::Cow;

use serde_json::Value;

/// The text of a string literal given without its quotes.
pub(super) fn string(inner: &[u8]) -> Cow<'_, str> {
    if memchr::memchr(b'\\', inner).is_none() {
        return String::from_utf8_lossy(inner);
    }
    let mut literal = Vec::with_capacity(inner.len() + 2);
    literal.push(b'"');
    literal.extend_from_slice(inner);
    literal.push(b'"');
    match serde_json::from_slice::<String>(&literal) {
        Ok(text) => Cow::Owned(text),
        Err(_) => match serde_json::from_str::<String>(&mended(&literal)) {
            Ok(text) => Cow::Owned(text),
            Err(_) => Cow::Owned(String::from_utf8_lossy(inner).into_owned()),
        },
    }
}

/// The tree of a value; text of it where serde will not build one.
pub(super) fn value(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes)
        .or_else(|_| serde_json::from_str(&mended(bytes)))
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(bytes).into_owned()))
}

/// `bytes` with bad UTF-8 and halves of surrogate pairs replaced.
fn mended(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        rest = match unit(escape) {
            Some(high @ 0xd800..=0xdbff) => {
                let (first, after) = escape.split_at(6);
                if let Some(0xdc00..=0xdfff) = unit(after) {
                    let (second, after) = after.split_at(6);
                    out.push_str(first);
                    out.push_str(second);
                    after
                } else {
                    debug_assert!(high >= 0xd800);
                    out.push_str("\\ufffd");
                    after
                }
            }
            Some(0xdc00..=0xdfff) => {
                out.push_str("\\ufffd");
                escape.split_at(6).1
            }
            Some(_) => {
                let (first, after) = escape.split_at(6);
                out.push_str(first);
                after
            }
            None => {
                // A two-character escape such as `\\` or `\n`; keep both characters together.
                let end = escape.char_indices().nth(2).map_or(escape.len(), |(end, _)| end);
                let (first, after) = escape.split_at(end);
                out.push_str(first);
                after
            }
        };
    }
    out.push_str(rest);
    out
}

/// The code unit of an escape `\u` and four hexadecimal digits that `text` starts with.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bad_bytes_and_half_pairs_are_replaced_and_the_rest_is_kept() {
        assert_eq!(string(b"a\xff\xfeb"), "a\u{fffd}\u{fffd}b");
        assert_eq!(string(br"x\ud83d\n\\ud83d"), "x\u{fffd}\n\\ud83d");
        assert_eq!(string(br"\ud83d\ud83d\ude00"), "\u{fffd}😀");
    }

    proptest! {
        #[test]
        fn every_text_comes_back(text in ".*") {
            let literal = serde_json::to_string(&text).expect("serializes");
            prop_assert_eq!(string(&literal.as_bytes()[1..literal.len() - 1]), text);
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(
            prop_oneof![Just(b'\\'), Just(b'u'), Just(b'd'), Just(b'8'), any::<u8>()], 0..40)) {
            string(&bytes);
            value(&bytes);
        }
    }
}
