//! How long to wait before trying again: exponential, with full jitter.

use std::time::Duration;

use uuid::Uuid;

use super::setup::RetryPolicy;

/// No wait is shorter, so that luck never makes a busy loop.
const SHORTEST: Duration = Duration::from_millis(10);

/// Waits of one run of failures.
#[derive(Debug)]
pub(super) struct Backoff {
    first: Duration,
    longest: Duration,
    failures: u32,
}

impl Backoff {
    pub(super) fn new(policy: &RetryPolicy) -> Self {
        Self { first: policy.first, longest: policy.longest, failures: 0 }
    }

    /// The next wait, random between nothing and a bound that doubles each time.
    pub(super) fn next(&mut self) -> Duration {
        let bound = self.bound();
        self.failures = self.failures.saturating_add(1);
        // The crate's one source of randomness; 32 bits of it are plenty.
        let random = Uuid::new_v4().as_fields().0;
        bound.mul_f64(f64::from(random) / f64::from(u32::MAX)).max(SHORTEST)
    }

    /// Something went well.
    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }

    fn bound(&self) -> Duration {
        self.first.saturating_mul(1 << self.failures.min(20)).min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_doubles_from_the_first_to_the_longest() {
        let mut backoff = Backoff::new(&RetryPolicy::default());
        let bounds: Vec<_> = std::iter::repeat_with(|| {
            let bound = backoff.bound();
            assert!(backoff.next() <= bound);
            bound.as_millis()
        })
        .take(9)
        .collect();
        assert_eq!(bounds, [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    }

    #[test]
    fn waits_differ() {
        let waits: std::collections::HashSet<_> =
            (0..20).map(|_| Backoff::new(&RetryPolicy::default()).next()).collect();
        assert!(waits.len() > 1, "twenty equal waits are no jitter");
    }
}
