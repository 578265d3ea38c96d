//! The wrapper's lines, read: over the socket and out of the spool they are the same.

use linelamp_core::Draft;
use linelamp_core::event::wire::WireError;
use linelamp_core::journal::Position;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A line may be so long. A wrapper closes a batch far below; one draft alone can be larger.
pub(super) const LONGEST_LINE: usize = 32 << 20;

/// A single draft may be so large: the largest line an agent may write, and its frame.
const LARGEST_DRAFT: usize = 16 << 20;

/// Why a line is no batch.
#[derive(Debug, thiserror::Error)]
pub(super) enum BatchError {
    #[error("line is not readable")]
    Json(#[from] serde_json::Error),
    #[error("line is neither a batch nor a keepalive")]
    NoBatch,
    #[error("draft {index} of batch {number} has {bytes} bytes, over the limit of {LARGEST_DRAFT}")]
    LargeDraft { number: u64, index: usize, bytes: usize },
    #[error("draft {index} of batch {number} is not readable")]
    Draft { number: u64, index: usize, source: WireError },
}

/// What was counted since the wrapper's start, where it says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Counts {
    /// Lines of detail left out.
    pub(super) shed: u64,
    /// Lines that may have carried state and found no room.
    pub(super) lost: u64,
    /// Times the decoder failed.
    pub(super) panics: u64,
}

/// One line of a wrapper.
#[derive(Debug)]
pub(super) enum Message {
    /// A numbered batch.
    Batch(Batch),
    /// It is alive, and that is all.
    Keepalive,
}

/// Drafts that are taken together.
#[derive(Debug)]
pub(super) struct Batch {
    /// Its number, counted by the wrapper from 1.
    pub(super) number: u64,
    /// The drafts.
    pub(super) drafts: Vec<Draft>,
    /// The wrapper's counts, if they changed.
    pub(super) counts: Option<Counts>,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(default)]
    n: Option<u64>,
    #[serde(borrow, default)]
    drafts: Vec<&'a RawValue>,
    #[serde(default)]
    counts: Option<Counts>,
    #[serde(default)]
    keepalive: bool,
}

impl Message {
    /// Reads a line.
    pub(super) fn read(line: &[u8]) -> Result<Self, BatchError> {
        let line: Line<'_> = serde_json::from_slice(line)?;
        let Some(number) = line.n else {
            return if line.keepalive { Ok(Self::Keepalive) } else { Err(BatchError::NoBatch) };
        };
        let mut drafts = Vec::with_capacity(line.drafts.len());
        for (index, draft) in line.drafts.iter().enumerate() {
            let bytes = draft.get().len();
            if bytes > LARGEST_DRAFT {
                return Err(BatchError::LargeDraft { number, index, bytes });
            }
            drafts.push(Draft::from_json(draft.get()).map_err(|source| BatchError::Draft {
                number,
                index,
                source,
            })?);
        }
        Ok(Self::Batch(Batch { number, drafts, counts: line.counts }))
    }
}

/// The position of a wrapper's batch.
pub(super) fn position(instance: &str, number: u64) -> Position {
    Position::new(format!("wrap/{instance}/{number}"))
}

/// True for a name a wrapper gives itself: it becomes part of positions.
pub(super) fn is_instance(name: &str) -> bool {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=128).contains(&name.len()) && name.bytes().all(is_of_name)
}

#[cfg(test)]
mod tests {
    use linelamp_core::event::ModeChanged;
    use linelamp_core::{SessionKey, Timestamp};

    use super::*;

    #[test]
    fn batches_and_keepalives_are_read_and_anything_else_says_why_not() {
        let mode = ModeChanged { mode: "plan".into(), from: None };
        let draft = Draft::new(SessionKey::new("a", "s"), Timestamp::UNIX_EPOCH, mode);
        let line =
            format!(r#"{{"n":7,"counts":{{"shed":3}},"drafts":[{}],"x":1}}"#, draft.to_json());
        let Ok(Message::Batch(batch)) = Message::read(line.as_bytes()) else { panic!("a batch") };
        assert_eq!((batch.number, batch.drafts), (7, vec![draft]));
        assert_eq!(batch.counts, Some(Counts { shed: 3, ..Counts::default() }));
        assert!(matches!(Message::read(br#"{"keepalive":true}"#), Ok(Message::Keepalive)));
        for bad in ["", "[]", "{}", r#"{"n":-1}"#, r#"{"n":1,"drafts":[{}]}"#, "\u{0}"] {
            Message::read(bad.as_bytes()).expect_err(bad);
        }
    }

    #[test]
    fn an_instance_is_a_plain_name() {
        assert!(is_instance("6fd2-Ab_9.x"));
        assert!(!is_instance(""));
        assert!(!is_instance("a/b"));
        assert!(!is_instance(&"a".repeat(129)));
    }
}
