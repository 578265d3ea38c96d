//! The way raw signals come in.
//!
//! A feed owns a transport and nothing else: it asks a driver for a decoder, hands it what it read and
//! publishes what comes out. It never decides state.

use std::fmt;

use tokio_util::sync::CancellationToken;

use crate::bus::Publisher;
use crate::sink::{BoxError, BoxFuture, BuildError};

/// Brings signals in until it is cancelled or its source ends.
pub trait Feed: Send {
    /// Runs to the end. Must return soon after `context.cancel` is cancelled.
    fn run(self: Box<Self>, context: FeedContext) -> BoxFuture<'static, Result<(), FeedError>>;
}

/// What a running feed is given.
#[derive(Debug)]
pub struct FeedContext {
    /// Where drafts go; carries the feed's name and trust.
    pub publisher: Publisher,
    /// Cancelled when the feed is to stop.
    pub cancel: CancellationToken,
}

/// Why a feed ended before it was told to.
#[derive(Debug)]
pub struct FeedError(pub BoxError);

impl fmt::Display for FeedError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "feed ended: {}", self.0)
    }
}

impl std::error::Error for FeedError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.0)
    }
}

/// Makes feeds of one kind from their configuration.
pub trait FeedFactory: Send + Sync {
    /// The word that stands for this kind in the configuration.
    fn kind(&self) -> &str;

    /// Builds a feed.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if the options are wrong or the feed cannot start.
    fn build(&self, options: &serde_json::Value) -> Result<Box<dyn Feed>, BuildError>;
}
