//! How much a feed may publish: a token bucket that takes the time as an argument.

use std::time::Duration;

use jiff::Timestamp;

/// Events a second, and how many may come at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Events a second in the long run.
    pub per_second: f64,
    /// Events at once after a quiet time.
    pub burst: f64,
}

impl Default for Rate {
    fn default() -> Self {
        Self { per_second: 2_000.0, burst: 4_000.0 }
    }
}

/// One feed's tokens.
#[derive(Debug)]
pub(super) struct Bucket {
    rate: Rate,
    tokens: f64,
    filled: Option<Timestamp>,
}

impl Bucket {
    /// A full bucket.
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, tokens: rate.burst, filled: None }
    }

    /// Takes a token; false if there is none.
    pub(super) fn take(&mut self, now: Timestamp) -> bool {
        self.fill(now);
        let enough = self.tokens >= 1.0;
        if enough {
            self.tokens -= 1.0;
        }
        enough
    }

    /// Takes a token if there is one, for what passes in any case.
    pub(super) fn take_if_any(&mut self, now: Timestamp) {
        self.fill(now);
        self.tokens = if self.tokens > 0.0 { (self.tokens - 1.0).max(0.0) } else { self.tokens };
    }

    /// Takes a token on credit: a batch is never cut, the next one waits longer. The debt is at most
    /// one burst.
    pub(super) fn owe(&mut self, now: Timestamp) {
        self.fill(now);
        self.tokens = (self.tokens - 1.0).max(-self.rate.burst);
    }

    /// How long until there is a token; zero if there is one.
    pub(super) fn wait(&mut self, now: Timestamp) -> Duration {
        self.fill(now);
        if self.tokens >= 1.0 || self.rate.per_second <= 0.0 {
            return Duration::ZERO;
        }
        Duration::try_from_secs_f64((1.0 - self.tokens) / self.rate.per_second)
            .unwrap_or(Duration::ZERO)
    }

    fn fill(&mut self, now: Timestamp) {
        let filled = *self.filled.get_or_insert(now);
        // A clock that was set back gives nothing, one that was set ahead at most a full bucket.
        let passed = now.duration_since(filled).as_secs_f64();
        if passed > 0.0 {
            self.tokens = (self.tokens + passed * self.rate.per_second).min(self.rate.burst);
        }
        self.filled = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_millisecond(1_800_000_000_000 + milliseconds).expect("in range")
    }

    fn bucket() -> Bucket {
        Bucket::new(Rate { per_second: 10.0, burst: 3.0 })
    }

    #[test]
    fn a_burst_passes_and_then_the_rate_counts() {
        let mut bucket = bucket();
        assert_eq!((0..5).filter(|_| bucket.take(at(0))).count(), 3);
        assert!(!bucket.take(at(50)));
        assert!(bucket.take(at(160)));
        assert!(!bucket.take(at(160)));
    }

    #[test]
    fn a_batch_may_owe_and_the_next_one_waits_for_it() {
        let mut bucket = bucket();
        (0..100).for_each(|_| bucket.owe(at(0)));
        assert_eq!(bucket.wait(at(0)), Duration::from_millis(400), "the debt is one burst at most");
        assert_eq!(bucket.wait(at(500)), Duration::ZERO);
    }

    #[test]
    fn what_must_pass_never_makes_debt() {
        let mut bucket = bucket();
        (0..100).for_each(|_| bucket.take_if_any(at(0)));
        assert_eq!(bucket.wait(at(0)), Duration::from_millis(100));
    }

    #[test]
    fn a_clock_set_back_stops_nobody_for_long() {
        let mut bucket = bucket();
        (0..3).for_each(|_| assert!(bucket.take(at(1_000_000))));
        assert!(!bucket.take(at(0)));
        assert!(bucket.take(at(100)));
    }
}
