//! Typed counters of the bus, its feeds and its lanes. Exporters read them; there is no global recorder.
//!
//! For each lane, at any quiet moment: `offered = delivered + merged + superseded + shed + dropped +
//! queued + filtered`. [`LaneStats::accounted`] is the right side of it.

use std::time::Duration;

use crate::event::{GapReason, SinkHealth};
use crate::id::{FeedName, Seq, SinkName};

/// Everything that is counted, at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BusStats {
    /// Events put on the ring.
    pub published: u64,
    /// The newest number given to an event.
    pub head: Seq,
    /// Published events by kind; only kinds that occurred.
    pub kinds: Vec<(&'static str, u64)>,
    /// Events on the ring that some lane has not looked at.
    pub ring_len: usize,
    /// Events handed to the journal and not durable yet.
    pub uncommitted: u64,
    /// How long publishing took, sampled: upper bounds, and how many stayed below that one only.
    pub publish_times: Vec<(Duration, u64)>,
    /// Feeds, by name.
    pub feeds: Vec<FeedStats>,
    /// Lanes, in the order they were added.
    pub lanes: Vec<LaneStats>,
}

/// What one feed's drafts became.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedStats {
    /// Which.
    pub feed: FeedName,
    /// News.
    pub published: u64,
    /// Second sightings.
    pub confirmed: u64,
    /// Broke a rule of the model.
    pub invalid: u64,
    /// Refused because of the rate.
    pub over_rate: u64,
}

/// What one lane's events became.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneStats {
    /// The sink.
    pub sink: SinkName,
    /// How it is doing.
    pub health: SinkHealth,
    /// What it failed with last. For the log of this machine: may name hosts.
    pub last_error: Option<String>,
    /// True if it reads a durable queue. Then only deliveries are counted here.
    pub durable: bool,
    /// Events the ring had for it since it was added.
    pub offered: u64,
    /// Taken by the sink.
    pub delivered: u64,
    /// Joined with an earlier piece.
    pub merged: u64,
    /// Replaced by a newer one.
    pub superseded: u64,
    /// Given up because there was no room, without a gap: none of them essential.
    pub shed: u64,
    /// Given up, by reason.
    pub dropped: Dropped,
    /// Waiting, or in a delivery that is going on.
    pub queued: u64,
    /// Not wanted.
    pub filtered: u64,
    /// Text left out because one event was larger than all that may wait.
    pub reduced: u64,
    /// Gaps and snapshots taken by the sink; they are no events of the history.
    pub notes: u64,
    /// Times the sink had to be told of a gap.
    pub gaps: u64,
    /// Deliveries tried again.
    pub retries: u64,
    /// Events the sink refused for good.
    pub rejected: u64,
    /// Times the sink was built anew.
    pub rebuilds: u64,
    /// Deliveries that ended well, and the time they took together.
    pub deliveries: u64,
    /// See `deliveries`.
    pub delivery_time: Duration,
    /// Bytes that wait, roughly.
    pub bytes: usize,
    /// How long the oldest waiting event has been known.
    pub oldest: Option<Duration>,
    /// Numbers between the newest event and the newest the lane has looked at.
    pub lag: u64,
}

impl LaneStats {
    /// Every fate an offered event can have had. Equal to `offered` at any quiet moment.
    pub fn accounted(&self) -> u64 {
        self.delivered
            + self.merged
            + self.superseded
            + self.shed
            + self.dropped.total()
            + self.queued
            + self.filtered
    }
}

/// Events given up, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// The mailbox was full of essential events.
    pub overflow: u64,
    /// The ring overtook the pump.
    pub ring_lapped: u64,
    /// Deliveries failed for too long.
    pub gave_up: u64,
    /// The sink refused them for good.
    pub rejected: u64,
    /// The sink is quarantined.
    pub quarantined: u64,
    /// Pieces left out while the bus drains.
    pub drained: u64,
}

impl Dropped {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.overflow
            + self.ring_lapped
            + self.gave_up
            + self.rejected
            + self.quarantined
            + self.drained
    }

    pub(super) fn add(&mut self, reason: GapReason, count: u64) {
        match reason {
            GapReason::Overflow => self.overflow += count,
            GapReason::RingLapped => self.ring_lapped += count,
            GapReason::GaveUp => self.gave_up += count,
        }
    }
}

/// What was given up and the sink does not know of yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lost {
    /// The first that is missing.
    pub(super) first: Seq,
    pub(super) reason: GapReason,
}

/// What a mailbox and its lane count, under the mailbox's lock.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) offered: u64,
    pub(super) delivered: u64,
    pub(super) merged: u64,
    pub(super) superseded: u64,
    pub(super) shed: u64,
    pub(super) dropped: Dropped,
    pub(super) in_flight: u64,
    pub(super) filtered: u64,
    pub(super) reduced: u64,
    pub(super) notes: u64,
    pub(super) gaps: u64,
    pub(super) retries: u64,
    pub(super) rejected: u64,
    pub(super) rebuilds: u64,
    pub(super) deliveries: u64,
    pub(super) delivery_time: Duration,
}
