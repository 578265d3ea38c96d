//! How a sink is doing, and when that is worth telling.

use crate::event::SinkHealth;

/// The state of one sink.
#[derive(Debug)]
pub(super) struct SinkState {
    health: SinkHealth,
    last_error: Option<String>,
}

/// A change of health.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) from: SinkHealth,
    pub(super) to: SinkHealth,
}

/// The longest error text that is kept.
const MAX_ERROR: usize = 500;

impl SinkState {
    pub(super) fn new() -> Self {
        Self { health: SinkHealth::Healthy, last_error: None }
    }

    pub(super) fn health(&self) -> SinkHealth {
        self.health
    }

    pub(super) fn last_error(&self) -> Option<&str> {
        self.last_error.as_deref()
    }

    /// A delivery ended well. A quarantined sink stays quarantined: only adding it anew helps.
    pub(super) fn succeeded(&mut self) -> Option<Change> {
        self.change(SinkHealth::Healthy)
    }

    /// Something failed; `to` says how bad it is.
    pub(super) fn failed(&mut self, to: SinkHealth, error: &str) -> Option<Change> {
        self.last_error = Some(error.chars().take(MAX_ERROR).collect());
        self.change(to)
    }

    fn change(&mut self, to: SinkHealth) -> Option<Change> {
        let from = self.health;
        if from == to || from == SinkHealth::Quarantined {
            return None;
        }
        self.health = to;
        Some(Change { from, to })
    }
}

#[cfg(test)]
mod tests {
    use super::SinkHealth::{Healthy, Quarantined, Retrying, Stalled};
    use super::*;

    #[test]
    fn only_changes_are_told() {
        let mut state = SinkState::new();
        assert_eq!(state.succeeded(), None);
        assert_eq!(state.failed(Retrying, "e"), Some(Change { from: Healthy, to: Retrying }));
        assert_eq!(state.failed(Retrying, "e"), None);
        assert_eq!(state.failed(Stalled, "e"), Some(Change { from: Retrying, to: Stalled }));
        assert_eq!(state.succeeded(), Some(Change { from: Stalled, to: Healthy }));
        assert_eq!(state.last_error(), Some("e"));
    }

    #[test]
    fn quarantine_is_the_end() {
        let mut state = SinkState::new();
        assert!(state.failed(Quarantined, "e").is_some());
        assert_eq!(state.succeeded(), None);
        assert_eq!(state.failed(Retrying, "late"), None);
        assert_eq!(state.health(), Quarantined);
    }
}
