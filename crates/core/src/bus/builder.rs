//! Describes a bus before it runs.

use std::fmt;
use std::sync::Arc;

use super::clock::{Clock, SystemClock};
use super::engine::Engine;
use super::handle::Bus;
use super::rate::Rate;
use super::shared::Shared;
use crate::id::Seq;
use crate::journal::Journal;
use crate::state::Resolver;

/// Events the ring holds for pumps that are behind.
const RING: usize = 4_096;

/// What a bus is made of. Everything has a default: an empty resolver, no journal, the wall clock.
pub struct Builder {
    engine: Box<dyn Engine>,
    next: Seq,
    journal: Option<Arc<dyn Journal>>,
    clock: Arc<dyn Clock>,
    host: Arc<str>,
    rate: Rate,
    ring: usize,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            engine: Box::new(Resolver::restore(Seq(1), [])),
            next: Seq(1),
            journal: None,
            clock: Arc::new(SystemClock),
            host: Arc::from("localhost"),
            rate: Rate::default(),
            ring: RING,
        }
    }
}

impl Builder {
    /// Makes every published batch durable.
    #[must_use]
    pub fn journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = Some(journal);
        self
    }

    /// Goes on with saved evidence; `next_seq` is the number the resolver was restored with.
    #[must_use]
    pub fn restore(mut self, resolver: Resolver, next_seq: Seq) -> Self {
        self.next = next_seq.max(resolver.next_seq());
        self.engine = Box::new(resolver);
        self
    }

    /// This machine's name, for the origin of events.
    #[must_use]
    pub fn host(mut self, name: impl Into<Arc<str>>) -> Self {
        self.host = name.into();
        self
    }

    /// Another clock than the machine's.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// What each feed may publish.
    #[must_use]
    pub fn feed_rate(mut self, rate: Rate) -> Self {
        self.rate = rate;
        self
    }

    #[cfg(test)]
    pub(super) fn engine(mut self, engine: Box<dyn Engine>) -> Self {
        self.engine = engine;
        self
    }

    #[cfg(test)]
    pub(super) fn ring(mut self, capacity: usize) -> Self {
        self.ring = capacity;
        self
    }

    /// The bus, ready to publish. Needs no runtime until a sink is added.
    pub fn build(self) -> Bus {
        let Self { engine, next, journal, clock, host, rate, ring } = self;
        Bus::new(Shared::new(engine, next, ring, journal, clock, host), rate)
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Builder").field("host", &self.host).finish_non_exhaustive()
    }
}
