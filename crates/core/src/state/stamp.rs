//! One piece of evidence: what was seen, when, and in which event.
//!
//! A stamp holds no content and no text. Two stamps are compared by their own time, so that the order
//! in which feeds deliver them does not matter.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::event::Trust;
use crate::id::EventId;

/// What kind of sign a piece of evidence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Sign {
    /// A turn began.
    Prompt,
    /// A tool call began.
    Tool,
    /// The model speaks.
    Content,
    /// A model request failed and is tried again.
    Retry,
    /// The agent says it is at work.
    SaysBusy,
    /// The agent says it waits for a human.
    SaysWaiting,
    /// The agent says it has nothing to do.
    SaysIdle,
    /// A turn ended.
    TurnEnd,
    /// Something else happened that only an agent at work does.
    Activity,
    /// A request waits for a human.
    Request,
    /// A subagent runs, or has just ended and its report is not yet taken.
    Subagent,
    /// A background task runs, or has just ended and its report is not yet taken.
    Background,
    /// The conversation is being shortened.
    Compaction,
    /// A session began.
    Start,
    /// A session ended.
    End,
}

impl Sign {
    /// True for what a process says it does.
    pub(crate) fn is_word(self) -> bool {
        matches!(self, Self::SaysBusy | Self::SaysWaiting)
    }
}

/// A sign at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    /// When, by the source's clock.
    pub(crate) at: Timestamp,
    /// Order of arrival in the session: decides between two signs of one feed at the same time.
    pub(crate) order: u64,
    /// The event that told it.
    pub(crate) event: EventId,
    /// What was seen.
    pub(crate) sign: Sign,
}

impl Stamp {
    /// Later by its own time, or, at the same time, later in its feed.
    pub(crate) fn is_after(&self, other: &Self) -> bool {
        (self.at, self.order) > (other.at, other.order)
    }
}

/// Keeps the later of two stamps.
pub(crate) fn keep_later(slot: &mut Option<Stamp>, stamp: Stamp) {
    if slot.is_none_or(|known| stamp.is_after(&known)) {
        *slot = Some(stamp);
    }
}

/// Which trusts have seen a thing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct SeenBy(u8);

impl SeenBy {
    /// Seen by nobody but `trust`.
    pub(crate) fn only(trust: Trust) -> Self {
        Self(1 << trust as u8)
    }

    /// Adds a witness.
    pub(crate) fn add(&mut self, trust: Trust) {
        self.0 |= 1 << trust as u8;
    }

    /// Adds the witnesses of `other`.
    pub(crate) fn merge(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// True if `trust` is among the witnesses.
    pub(crate) fn has(self, trust: Trust) -> bool {
        self.0 & (1 << trust as u8) != 0
    }
}
