//! How much of an event somebody may see.

use std::sync::Arc;

use crate::event::{Event, Redact as _};

/// A level of detail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// Kinds, ids, names, sizes, counts and outcomes; the default everywhere.
    #[default]
    Metadata,
    /// Also prompts, replies, tool input and output and other texts.
    Content,
}

impl Detail {
    /// The lesser of two levels: what is both wanted and granted.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Content, Self::Content) => Self::Content,
            _ => Self::Metadata,
        }
    }

    /// The event as this level shows it. No copy is made where nothing must be taken away.
    pub fn apply(self, event: &Arc<Event>) -> Arc<Event> {
        match self {
            Self::Metadata if event.body.holds_content() => {
                let mut bare = Event::clone(event);
                bare.body.redact();
                Arc::new(bare)
            }
            Self::Metadata | Self::Content => Arc::clone(event),
        }
    }
}
