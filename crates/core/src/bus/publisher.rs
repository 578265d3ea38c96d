//! A feed's way into the bus.

use std::fmt;

use crate::draft::Draft;
use crate::journal::{Committed, Position};
use crate::state::Answer;

/// Publishes for one feed: knows its name, trust and rate limit. Cheap to clone.
#[derive(Clone)]
pub struct Publisher(());

impl fmt::Debug for Publisher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Publisher")
    }
}

/// Why a draft was not published.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// The feed is over its rate; only drafts that are not essential are refused so.
    #[error("feed is over its rate limit")]
    OverRate,
    /// The draft breaks a rule of the event model.
    #[error("draft is invalid: {0}")]
    Invalid(String),
    /// The bus is closed.
    #[error("bus is closed")]
    Closed,
}

impl Publisher {
    /// Publishes one draft. Never waits, does no I/O, runs no user code; callable from any thread.
    ///
    /// # Errors
    ///
    /// See [`PublishError`].
    pub fn publish(&self, draft: Draft) -> Result<Answer, PublishError> {
        let _ = draft;
        Err(PublishError::Closed)
    }

    /// Publishes all drafts of one input in one step: no other event comes between them, and a journal
    /// commits them together with `position`. Invalid drafts are counted and left out.
    ///
    /// # Errors
    ///
    /// [`PublishError::Closed`] only.
    pub fn publish_all(
        &self,
        position: Option<Position>,
        drafts: Vec<Draft>,
        committed: Option<Committed>,
    ) -> Result<Vec<Result<Answer, PublishError>>, PublishError> {
        let _ = (position, drafts, committed);
        Err(PublishError::Closed)
    }
}
