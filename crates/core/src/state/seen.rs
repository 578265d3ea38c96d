//! A bounded memory of things that have a key and nothing else worth keeping.
//!
//! Messages, usage and whole payloads are recognised by a 64-bit digest of their key. The oldest are
//! forgotten first. A digest tells nothing about content: keys are ids, or digests already.

use std::collections::VecDeque;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::id::Seq;

/// How many keys are remembered.
const LIMIT: usize = 128;

/// The newest keys, each with the number it was published under and its time in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Seen(VecDeque<(Key, Seq, i64)>);

/// The digest of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key(u64);

impl Serialize for Key {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:x}", self.0))
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        u64::from_str_radix(&text, 16).map(Self).map_err(serde::de::Error::custom)
    }
}

impl Key {
    /// The digest of a key's parts. It is stored, so it must stay the same over versions: FNV-1a, each
    /// part followed by a byte that no text holds.
    pub(crate) fn of(parts: &[&[u8]]) -> Self {
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        for part in parts {
            for &byte in part.iter().chain(&[0xff]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        Self(hash)
    }
}

impl Seen {
    /// What is known of `key`.
    pub(crate) fn find(&self, key: Key) -> Option<(Seq, i64)> {
        self.0.iter().rev().find(|(known, _, _)| *known == key).map(|&(_, seq, at)| (seq, at))
    }

    /// Remembers `key`.
    pub(crate) fn add(&mut self, key: Key, seq: Seq, at: Timestamp) {
        if self.0.len() == LIMIT {
            self.0.pop_front();
        }
        self.0.push_back((key, seq, at.as_millisecond()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_key_is_forgotten_first() {
        let mut seen = Seen::default();
        let key = |n: usize| Key::of(&[&n.to_be_bytes()]);
        for n in 0..=LIMIT {
            seen.add(key(n), Seq(n as u64), Timestamp::UNIX_EPOCH);
        }
        assert_eq!(seen.find(key(0)), None);
        assert_eq!(seen.find(key(1)).map(|(seq, _)| seq), Some(Seq(1)));
        assert_eq!(seen.find(key(LIMIT)).map(|(seq, _)| seq), Some(Seq(LIMIT as u64)));
    }

    #[test]
    fn parts_of_a_key_do_not_run_into_each_other() {
        assert_ne!(Key::of(&[b"ab", b"c"]), Key::of(&[b"a", b"bc"]));
    }
}
