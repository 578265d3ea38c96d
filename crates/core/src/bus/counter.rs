//! Counters that are kept under the publish lock.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::event::Body;

/// Events by kind; kinds this version does not know are counted together.
#[derive(Debug)]
pub(super) struct KindCounts {
    known: HashMap<&'static str, u64>,
    unknown: u64,
}

impl Default for KindCounts {
    fn default() -> Self {
        Self { known: Body::KINDS.iter().map(|kind| (*kind, 0)).collect(), unknown: 0 }
    }
}

impl KindCounts {
    /// Counts one event.
    pub(super) fn count(&mut self, kind: &str) {
        *self.known.get_mut(kind).unwrap_or(&mut self.unknown) += 1;
    }

    /// The counts that are not zero, by name.
    pub(super) fn list(&self) -> Vec<(&'static str, u64)> {
        let known = Body::KINDS.iter().map(|kind| (*kind, self.known[kind]));
        let all = known.chain([("unknown", self.unknown)]);
        all.filter(|(_, count)| *count > 0).collect()
    }
}

/// One publish in so many is timed.
const EVERY: u32 = 16;
/// Bucket `n` counts times under 2^n times 256 ns; the last one counts all the rest.
const BUCKETS: usize = 16;

/// How long publishing takes, sampled.
#[derive(Debug, Default)]
pub(super) struct Latency {
    turn: u32,
    buckets: [u64; BUCKETS],
}

impl Latency {
    /// Looks at the clock if this publish is one of those that are timed.
    pub(super) fn start(&mut self) -> Option<Instant> {
        self.turn = self.turn.wrapping_add(1);
        self.turn.is_multiple_of(EVERY).then(Instant::now)
    }

    /// Counts the publish that began at `start`.
    pub(super) fn stop(&mut self, start: Option<Instant>) {
        if let Some(start) = start {
            let steps = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX) >> 8;
            let bucket = (u64::BITS - steps.leading_zeros()) as usize;
            self.buckets[bucket.min(BUCKETS - 1)] += 1;
        }
    }

    /// Upper bounds and how many publishes took less than that and no less than the bound before.
    pub(super) fn list(&self) -> Vec<(Duration, u64)> {
        let bound = |bucket: usize| match bucket + 1 {
            BUCKETS => Duration::MAX,
            _ => Duration::from_nanos(256 << bucket),
        };
        self.buckets.iter().enumerate().map(|(bucket, count)| (bound(bucket), *count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_counted_under_its_kind_or_as_unknown() {
        let mut counts = KindCounts::default();
        for kind in ["turn.started", "turn.started", "of.tomorrow"] {
            counts.count(kind);
        }
        assert_eq!(counts.list(), [("turn.started", 2), ("unknown", 1)]);
    }

    #[test]
    fn one_publish_in_sixteen_is_timed() {
        let mut latency = Latency::default();
        for _ in 0..64 {
            let start = latency.start();
            latency.stop(start);
        }
        assert_eq!(latency.list().iter().map(|(_, count)| count).sum::<u64>(), 4);
    }
}
