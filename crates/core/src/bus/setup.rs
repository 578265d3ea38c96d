//! What a host says about a sink when it adds one.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::filter::Filter;
use super::guard::contain;
use crate::detail::Detail;
use crate::id::SinkName;
use crate::sink::{BuildError, Sink, SinkFactory, SinkNeeds};

/// Where a sink comes from.
pub enum SinkSource {
    /// A sink that is already built. If it breaks it is quarantined: nobody can build it anew.
    Built(Box<dyn Sink>),
    /// A factory with the options it gets, every time anew.
    Factory(Arc<dyn SinkFactory>, serde_json::Value),
}

impl SinkSource {
    /// A sink, built if need be. Afterwards only a factory can give another one.
    pub(super) fn build(self) -> Result<(Box<dyn Sink>, Option<Rebuild>), BuildError> {
        match self {
            Self::Built(sink) => Ok((sink, None)),
            Self::Factory(factory, options) => {
                let rebuild = Rebuild { factory, options };
                Ok((rebuild.build()?, Some(rebuild)))
            }
        }
    }
}

impl fmt::Debug for SinkSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Built(_) => formatter.write_str("Built(…)"),
            // Options may hold references to secrets.
            Self::Factory(factory, _) => write!(formatter, "Factory({})", factory.kind()),
        }
    }
}

impl<S: Sink + 'static> From<S> for SinkSource {
    fn from(sink: S) -> Self {
        Self::Built(Box::new(sink))
    }
}

/// Builds a sink again.
pub(super) struct Rebuild {
    factory: Arc<dyn SinkFactory>,
    options: serde_json::Value,
}

impl Rebuild {
    pub(super) fn build(&self) -> Result<Box<dyn Sink>, BuildError> {
        contain(|| self.factory.build(&self.options))
            .unwrap_or_else(|panic| Err(BuildError::Unavailable(panic.into())))
    }
}

/// How much may wait for one sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MailboxLimits {
    /// Events, at least one.
    pub items: usize,
    /// Bytes, roughly: text and a fixed part for each event.
    pub bytes: usize,
}

impl Default for MailboxLimits {
    fn default() -> Self {
        Self { items: 1_024, bytes: 4 * 1_024 * 1_024 }
    }
}

/// How failing deliveries are tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The longest first wait; the real one is random below it.
    pub first: Duration,
    /// The longest wait.
    pub longest: Duration,
    /// After so long without progress a batch is given up. Durable sinks never give up.
    pub give_up: Duration,
    /// A broken sink is built anew so often before it is quarantined.
    pub rebuilds: u32,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(250),
            longest: Duration::from_secs(30),
            give_up: Duration::from_secs(300),
            rebuilds: 3,
        }
    }
}

/// A sink to add: what it is, what it gets, how much may wait for it.
#[derive(Debug)]
pub struct SinkSetup {
    pub(super) name: SinkName,
    pub(super) source: SinkSource,
    pub(super) filter: Filter,
    pub(super) detail: Detail,
    pub(super) needs: Option<SinkNeeds>,
    pub(super) limits: MailboxLimits,
    pub(super) retry: RetryPolicy,
}

impl SinkSetup {
    /// A sink that gets metadata of everything, in the portions it asks for.
    pub fn new(name: impl Into<SinkName>, source: impl Into<SinkSource>) -> Self {
        Self {
            name: name.into(),
            source: source.into(),
            filter: Filter::all(),
            detail: Detail::Metadata,
            needs: None,
            limits: MailboxLimits::default(),
            retry: RetryPolicy::default(),
        }
    }

    /// Only what passes `filter`.
    #[must_use]
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }

    /// What the configuration grants. The sink gets that or what it needs, whichever is less.
    #[must_use]
    pub fn detail(mut self, detail: Detail) -> Self {
        self.detail = detail;
        self
    }

    /// Portions and pieces, instead of what the sink itself asks for.
    #[must_use]
    pub fn needs(mut self, needs: SinkNeeds) -> Self {
        self.needs = Some(needs);
        self
    }

    /// How much may wait for it.
    #[must_use]
    pub fn limits(mut self, limits: MailboxLimits) -> Self {
        self.limits = MailboxLimits { items: limits.items.max(1), ..limits };
        self
    }

    /// How failures are retried.
    #[must_use]
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }
}

/// Why a sink could not be added.
#[derive(Debug, thiserror::Error)]
pub enum AddSinkError {
    /// There is one of that name.
    #[error("sink `{0}` is there already")]
    Exists(SinkName),
    /// The bus is closed.
    #[error("bus is closed, sink `{0}` was not added")]
    Closed(SinkName),
    /// It could not be built.
    #[error("sink `{name}` could not be built")]
    Build {
        /// Which.
        name: SinkName,
        /// Why.
        #[source]
        source: BuildError,
    },
}
