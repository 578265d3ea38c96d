//! What a turn cost, from totals that only ever grow.
//!
//! The agent tells the total of the process; a resumed session goes on with the saved total, and
//! `/clear` begins at zero.

use linelamp_core::event::StartSource;

use crate::json::{Raw, walk};

/// The total so far.
#[derive(Debug)]
pub(super) struct Costs {
    /// The total at the last result; unknown at the first one of a resumed session.
    total: Option<f64>,
}

impl Costs {
    pub(super) fn new(resumed: bool) -> Self {
        Self { total: if resumed { None } else { Some(0.0) } }
    }

    /// A session began in this process.
    pub(super) fn session_began(&mut self, source: StartSource) {
        self.total = match source {
            StartSource::Resume | StartSource::Discovered => None,
            StartSource::Fork | StartSource::Compact => self.total,
            StartSource::Startup | StartSource::Clear => Some(0.0),
        };
    }

    /// Takes the total of a result; returns the turn's own share, if it can be known. `since` is
    /// the share as newer versions tell it.
    pub(super) fn turn(&mut self, total: Option<f64>, since: Option<f64>) -> Option<f64> {
        let Some(total) = total else { return since };
        let before = self.total.replace(total);
        match before {
            Some(before) if total >= before => Some(total - before),
            Some(_) => Some(since.unwrap_or(total)),
            None => since,
        }
    }
}

/// The sum of `costUSD` over the models of a `model_usage_since_last_result`.
pub(super) fn sum(usage: Option<Raw<'_>>) -> Option<f64> {
    let mut sum = 0.0;
    walk(usage?.bytes(), |_, model| {
        sum += model.get("costUSD").and_then(Raw::f64).unwrap_or(0.0);
    })?;
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(left: Option<f64>, right: f64) -> bool {
        left.is_some_and(|left| (left - right).abs() < 1e-9)
    }

    #[test]
    fn a_turn_costs_what_the_total_grew_by() {
        let mut costs = Costs::new(false);
        assert!(near(costs.turn(Some(0.0005), None), 0.0005));
        assert!(near(costs.turn(Some(0.0010), None), 0.0005));
        assert!(near(costs.turn(Some(0.0010), None), 0.0));
        assert_eq!(costs.turn(None, None), None);
    }

    #[test]
    fn clear_begins_at_zero() {
        let mut costs = Costs::new(false);
        costs.turn(Some(1.0), None);
        costs.session_began(StartSource::Clear);
        assert!(near(costs.turn(Some(2.0), None), 2.0));
        assert!(near(costs.turn(Some(0.5), None), 0.5));
    }

    #[test]
    fn a_resumed_total_is_no_turns_cost() {
        let mut costs = Costs::new(true);
        assert_eq!(costs.turn(Some(3.0), None), None);
        assert!(near(costs.turn(Some(3.25), None), 0.25));
        let mut costs = Costs::new(true);
        assert!(near(costs.turn(Some(3.0), Some(0.1)), 0.1));
    }
}
