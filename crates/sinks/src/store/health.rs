//! How the store is doing, for `ls` and for intake, which goes on live while it is stalled.

use std::time::{Duration, Instant};

/// After this long without a successful write the store counts as stalled.
const STALLED: Duration = Duration::from_secs(2);

/// What the store says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreHealth {
    /// Whether it writes.
    pub state: StoreState,
    /// Events that wait to be written.
    pub waiting: usize,
    /// Entries refused because too much was waiting; their input is read again after a restart.
    pub refused: u64,
    /// Rows of durable sinks dropped undelivered, by age or size.
    pub dropped: u64,
    /// Events not stored because their order number was taken: a fault of the bus.
    pub collisions: u64,
}

/// Whether the store writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StoreState {
    /// What comes is written.
    #[default]
    Writing,
    /// The last attempt failed, not long ago.
    Failing {
        /// Why.
        error: String,
    },
    /// Nothing could be written for two seconds or more. What comes is kept in memory, and written as
    /// soon as that works again.
    Stalled {
        /// How long it has been trying.
        since: Duration,
        /// Why the last attempt failed; empty while the first one still hangs.
        error: String,
    },
}

impl StoreHealth {
    /// True if nothing could be written for two seconds or more.
    pub fn is_stalled(&self) -> bool {
        matches!(self.state, StoreState::Stalled { .. })
    }
}

/// What the writer's thread notes, and everybody may read.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    trying_since: Option<Instant>,
    error: Option<String>,
    ended: bool,
    pub(super) refused: u64,
    pub(super) dropped: u64,
    pub(super) collisions: u64,
}

impl Pulse {
    /// An attempt begins; after a failed one it is still the same attempt.
    pub(super) fn begin(&mut self, now: Instant) {
        self.trying_since.get_or_insert(now);
    }

    /// The attempt failed. True if it is the first failure in a row.
    pub(super) fn fail(&mut self, error: String) -> bool {
        self.error.replace(error).is_none()
    }

    /// The attempt succeeded. Says what had failed before it, if anything had.
    pub(super) fn succeed(&mut self) -> Option<String> {
        self.trying_since = None;
        self.error.take()
    }

    /// The thread is gone; nothing will be written any more.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    pub(super) fn health(&self, now: Instant, waiting: usize) -> StoreHealth {
        let error = || self.error.clone().unwrap_or_default();
        let trying = self.trying_since.map(|since| now.saturating_duration_since(since));
        let state = match trying {
            _ if self.ended => StoreState::Stalled {
                since: trying.unwrap_or_default(),
                error: "the store's thread has ended".to_owned(),
            },
            Some(since) if since >= STALLED => StoreState::Stalled { since, error: error() },
            Some(_) if self.error.is_some() => StoreState::Failing { error: error() },
            _ => StoreState::Writing,
        };
        StoreHealth {
            state,
            waiting,
            refused: self.refused,
            dropped: self.dropped,
            collisions: self.collisions,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_seconds_of_failures_are_told_and_one_success_ends_them() {
        let start = Instant::now();
        let after = |milliseconds| start + Duration::from_millis(milliseconds);
        let mut pulse = Pulse::default();
        assert_eq!(pulse.health(start, 0).state, StoreState::Writing);
        pulse.begin(start);
        assert!(pulse.fail("disk is full".to_owned()));
        pulse.begin(after(1_000));
        assert!(!pulse.fail("disk is full".to_owned()));
        let failing = pulse.health(after(1_999), 3);
        assert_eq!(failing.state, StoreState::Failing { error: "disk is full".to_owned() });
        assert_eq!(failing.waiting, 3);
        assert!(pulse.health(after(2_000), 3).is_stalled());
        assert_eq!(pulse.succeed().as_deref(), Some("disk is full"));
        assert_eq!(pulse.health(after(9_000), 0).state, StoreState::Writing);
    }

    #[test]
    fn a_write_that_hangs_counts_as_stalled_without_any_error() {
        let start = Instant::now();
        let mut pulse = Pulse::default();
        pulse.begin(start);
        assert_eq!(pulse.health(start, 0).state, StoreState::Writing);
        assert!(pulse.health(start + Duration::from_secs(3), 0).is_stalled());
    }
}
