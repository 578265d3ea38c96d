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
    /// The event as this level shows it. No copy is made where nothing must be taken away.
    pub fn apply(self, event: &Arc<Event>) -> Arc<Event> {
        match self {
            Self::Content => Arc::clone(event),
            Self::Metadata => {
                let mut bare = Event::clone(event);
                bare.body.redact();
                Arc::new(bare)
            }
        }
    }
}
