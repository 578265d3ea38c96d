//! Which source positions were taken already.
//!
//! The newest are in memory, also those whose entry is not committed yet; the rest is asked of the
//! table. As long as memory holds them all, the table is not asked.

use std::collections::{HashSet, VecDeque};

use linelamp_core::journal::Position;

/// How many committed positions stay in memory.
pub(super) const CAPACITY: usize = 65_536;

/// What memory alone can say about a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Known,
    Unknown,
    AskTable,
}

#[derive(Debug)]
pub(super) struct Known {
    all: HashSet<Position>,
    committed: VecDeque<Position>,
    complete: bool,
    capacity: usize,
}

impl Known {
    /// `newest` are the newest positions of the table, oldest first; `complete` if there are no others.
    pub(super) fn new(newest: Vec<Position>, complete: bool, capacity: usize) -> Self {
        Self { all: newest.iter().cloned().collect(), committed: newest.into(), complete, capacity }
    }

    /// The position's entry is queued.
    pub(super) fn queued(&mut self, position: &Position) {
        self.all.insert(position.clone());
    }

    /// The position's entry is in the table; from now on memory may forget it.
    pub(super) fn committed(&mut self, position: Position) {
        self.committed.push_back(position);
        while self.committed.len() > self.capacity {
            if let Some(oldest) = self.committed.pop_front() {
                self.all.remove(&oldest);
                self.complete = false;
            }
        }
    }

    pub(super) fn answer(&self, position: &Position) -> Answer {
        match (self.all.contains(position), self.complete) {
            (true, _) => Answer::Known,
            (false, true) => Answer::Unknown,
            (false, false) => Answer::AskTable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_memory_forgot_is_asked_of_the_table_and_what_is_queued_is_never_forgotten() {
        let at = |number: u32| Position::new(format!("hook/{number}"));
        let mut known = Known::new(vec![at(0)], true, 2);
        assert_eq!(known.answer(&at(7)), Answer::Unknown);
        known.queued(&at(7));
        for number in 1..=3 {
            known.queued(&at(number));
            known.committed(at(number));
        }
        assert_eq!(known.answer(&at(0)), Answer::AskTable);
        assert_eq!(known.answer(&at(1)), Answer::AskTable);
        assert_eq!(known.answer(&at(3)), Answer::Known);
        assert_eq!(known.answer(&at(7)), Answer::Known);
    }
}
