//! Judgements over one line by itself: may it be left out, and whose is it.
//!
//! Deltas and whole messages carry detail: losing them costs text, never state. Everything else
//! (control, result, system, user, what the host sends, and what is not recognised) must arrive.

use linelamp_core::driver::{Direction, Keep};
use memchr::memchr_iter;

use crate::json;

/// How every piece of a message begins as the program writes it.
const PIECE: &[u8] = br#"{"type":"stream_event","event":{"type""#;

/// The same in words: other writers put spaces between them.
const PIECE_WORDS: [&[u8]; 9] =
    [b"{", b"\"type\"", b":", b"\"stream_event\"", b",", b"\"event\"", b":", b"{", b"\"type\""];

/// Judges one line; on the wrapper's path of bytes, so the common line must cost little. It is a piece of a
/// message, known by how it begins, and nothing may be glued behind it. Of others that begin with their type
/// a look at it is enough to keep them; what may be dropped otherwise has its top level walked, because of
/// a repeated key the last one counts.
pub(crate) fn keep(direction: Direction, line: &[u8]) -> Keep {
    if direction == Direction::ToAgent {
        return Keep::Must;
    }
    if is_piece(line) && line.ends_with(b"}") && !may_be_glued(line) {
        return Keep::May;
    }
    if let Some(word) = line.strip_prefix(br#"{"type":""#)
        && !word.starts_with(b"stream_event\"")
        && !word.starts_with(b"assistant\"")
    {
        return Keep::Must;
    }
    match json::fields(line, &["type"]) {
        Some(walked) if walked.rest.is_empty() => match walked.values {
            [Some(kind)] if kind.is("stream_event") || kind.is("assistant") => Keep::May,
            _ => Keep::Must,
        },
        _ => Keep::Must,
    }
}

fn is_piece(line: &[u8]) -> bool {
    line.starts_with(PIECE) || begins(line, &PIECE_WORDS)
}

/// Whether a line begins with these words, with or without spaces before each.
fn begins(mut line: &[u8], words: &[&[u8]]) -> bool {
    words.iter().all(|word| {
        while let [b' ', rest @ ..] = line {
            line = rest;
        }
        line.strip_prefix(*word).map(|rest| line = rest).is_some()
    })
}

/// Whether a second object may follow within the line: a brace opens where the last thing closed one.
/// A text with such braces only costs the longer way.
pub(crate) fn may_be_glued(line: &[u8]) -> bool {
    memchr_iter(b'{', line).any(|at| {
        let before = line.get(..at).unwrap_or_default();
        before.trim_ascii_end().ends_with(b"}")
    })
}

/// Whether a line can only be Claude Code's: the `init` that names the program's version.
pub(crate) fn is_unmistakable(direction: Direction, line: &[u8]) -> bool {
    if direction == Direction::ToAgent {
        return false;
    }
    let keys = ["type", "subtype", "claude_code_version"];
    match json::fields(line, &keys).map(|walked| walked.values) {
        Some([Some(kind), Some(subtype), Some(_)]) => kind.is("system") && subtype.is("init"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_init_is_unmistakable() {
        for (line, expected) in [
            (r#"{"type":"system","subtype":"init","claude_code_version":"2.1.332"}"#, true),
            (r#"{"type":"system","subtype":"init","other_version":"1"}"#, false),
            (r#"{"type":"result","claude_code_version":"2"}"#, false),
            (r#"{"claude_code_version":"x"}"#, false),
            ("garbage", false),
        ] {
            assert_eq!(is_unmistakable(Direction::FromAgent, line.as_bytes()), expected, "{line}");
            assert!(!is_unmistakable(Direction::ToAgent, line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn only_deltas_and_messages_of_the_agent_may_be_shed() {
        for (line, expected) in [
            (r#"{"type":"stream_event","event":{}}"#, Keep::May),
            (r#"{"type":"assistant","message":{}}"#, Keep::May),
            (r#"{"type":"stream_event","event":{"type":"x","text":"a }{ b"}}"#, Keep::May),
            (r#"{"type": "stream_event", "event": {"type": "x"}, "uuid": "u"}"#, Keep::May),
            (r#"{"type": "stream_event", "event": {"type": "x"}} {"type": "result"}"#, Keep::Must),
            (r#"{"type":"stream_event","event":{"type":"x"}}{"type":"result"}"#, Keep::Must),
            (r#"{"type":"stream_event","event":{"type":"x"#, Keep::Must),
            (r#"{"type":"stream_event","event":{}}{"type":"result"}"#, Keep::Must),
            (r#"{"type":"stream_event","event":{}} {"type":"result"}"#, Keep::Must),
            (
                "{\"type\":\"stream_event\",\"event\":{\"type\":\"x\"}}\t {\"type\":\"result\"}",
                Keep::Must,
            ),
            (r#"{"type":"stream_event","event":{"#, Keep::Must),
            (r#"{"message":{"type":"result"},"type":"assistant"}"#, Keep::May),
            (r#"{"type":"user","message":{}}"#, Keep::Must),
            (r#"{"type":"result"}"#, Keep::Must),
            (r#"{"message":{"type":"assistant"},"type":"result"}"#, Keep::Must),
            (r#"{"type":"system","subtype":"init"}"#, Keep::Must),
            (r#"{"type":"control_request"}"#, Keep::Must),
            (r#"{"type":"assistant","message":{}}{"type":"result"}"#, Keep::Must),
            (r#"{"type":"assistant","message":{},"type":"result"}"#, Keep::Must),
            (r#"{"type":"assistant","mess"#, Keep::Must),
            (r#"{"no":"type"}"#, Keep::Must),
            ("garbage", Keep::Must),
            ("", Keep::Must),
        ] {
            assert_eq!(keep(Direction::FromAgent, line.as_bytes()), expected, "{line}");
            assert_eq!(keep(Direction::ToAgent, line.as_bytes()), Keep::Must, "{line}");
        }
    }
}
