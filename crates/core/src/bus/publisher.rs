//! A feed's way into the bus.

use std::fmt;
use std::sync::Arc;

use super::feed_state::FeedState;
use super::shared::Shared;
use crate::draft::Draft;
use crate::event::Trust;
use crate::id::{FeedName, SessionKey};
use crate::journal::{Committed, Input};
use crate::state::Answer;

/// Publishes for one feed: knows its name, trust and rate limit. Cheap to clone.
#[derive(Clone)]
pub struct Publisher {
    shared: Arc<Shared>,
    feed: Arc<FeedState>,
}

impl fmt::Debug for Publisher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Publisher").field(self.feed.name()).finish()
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
    pub(super) fn new(shared: Arc<Shared>, feed: Arc<FeedState>) -> Self {
        Self { shared, feed }
    }

    /// The feed's name.
    pub fn feed(&self) -> &FeedName {
        self.feed.name()
    }

    /// How much the feed's word weighs.
    pub fn trust(&self) -> Trust {
        self.feed.trust()
    }

    /// Publishes one draft. Never waits, does no I/O, runs no user code; callable from any thread.
    ///
    /// # Errors
    ///
    /// See [`PublishError`].
    pub fn publish(&self, draft: Draft) -> Result<Answer, PublishError> {
        self.shared.publish(&self.feed, draft)
    }

    /// Publishes all drafts of one input in one step: no other event comes between them, and a journal
    /// commits them together with `input`. Invalid drafts are counted and left out. A batch is never
    /// cut by the rate limit; [`Publisher::ready`] waits longer afterwards. Without a journal `committed`
    /// is told at once.
    ///
    /// # Errors
    ///
    /// [`PublishError::Closed`] only.
    pub fn publish_all(
        &self,
        input: Option<Input>,
        drafts: Vec<Draft>,
        committed: Option<Committed>,
    ) -> Result<Vec<Result<Answer, PublishError>>, PublishError> {
        self.shared.publish_all(&self.feed, input, drafts, committed)
    }

    /// Says that the feed lost sight of a session: the stream it sat in is gone and nobody saw the process
    /// end. From here on the word of others counts for the session.
    pub fn lost(&self, session: &SessionKey) {
        self.shared.feed_closed(&self.feed, session);
    }

    /// Waits until the feed may take its next input: the journal has room and the feed is within its
    /// rate. A journal that does not commit for two seconds holds nobody up any longer. Publishing itself
    /// never waits, whether or not this was called.
    pub async fn ready(&self) {
        self.shared.backlog.room().await;
        let pause = self.feed.pause(self.shared.clock.now());
        if !pause.is_zero() && !self.shared.is_closed() {
            tokio::time::sleep(pause).await;
        }
    }
}
