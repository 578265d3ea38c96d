//! Who is gone since when. Pure: the caller looks, and says what time it is.

use std::collections::HashMap;
use std::time::Duration;

use linelamp_core::process::ProcessRef;
use linelamp_core::{SessionKey, Timestamp};

use crate::process::Presence;

/// A session and one of the processes it is open in.
pub(super) type Pair = (SessionKey, ProcessRef);

/// An end that was told and changed nothing is told again after this.
const AGAIN: Duration = Duration::from_secs(30);

/// The processes that were open at the last look.
#[derive(Debug, Default)]
pub(super) struct Roll(HashMap<Pair, Known>);

/// What is known of one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// It was there.
    Runs,
    /// It was gone when it was looked at, first at this time.
    Missing(Timestamp),
    /// Its end was told at this time.
    Told(Timestamp),
    /// Its end was told, and that whoever held its stream is gone as well.
    Final(Timestamp),
}

/// What a look found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Seen for the first time, and there.
    pub(super) fresh: Vec<Pair>,
    /// Whether a second look is due, because some are gone.
    pub(super) missing: bool,
    /// Gone for good, and the session is still open in it although its end was told.
    pub(super) ignored: Vec<SessionKey>,
}

impl Roll {
    /// The first look at everything that is `open`.
    pub(super) fn look(
        &mut self,
        open: Vec<Pair>,
        now: Timestamp,
        presence: impl Fn(ProcessRef) -> Presence,
    ) -> Found {
        let mut before = std::mem::take(&mut self.0);
        let mut found = Found::default();
        for pair in open {
            let known = before.remove(&pair);
            if self.0.contains_key(&pair) {
                continue;
            }
            let is_gone = presence(pair.1) == Presence::Gone;
            let state = match known {
                None if !is_gone => {
                    found.fresh.push(pair.clone());
                    Known::Runs
                }
                _ if !is_gone => Known::Runs,
                Some(Known::Told(at)) => {
                    found.ignored.push(pair.0.clone());
                    Known::Final(at)
                }
                Some(Known::Final(at)) if now.duration_since(at).unsigned_abs() < AGAIN => {
                    Known::Final(at)
                }
                Some(Known::Missing(since)) => Known::Missing(since),
                None | Some(Known::Runs | Known::Final(_)) => Known::Missing(now),
            };
            found.missing |= matches!(state, Known::Missing(_));
            self.0.insert(pair, state);
        }
        found
    }

    /// The second look at those that were gone: gives the ones that are, each with the time since when. Those that
    /// are no longer `open` have come to an orderly end.
    pub(super) fn confirm(
        &mut self,
        open: &[Pair],
        now: Timestamp,
        presence: impl Fn(ProcessRef) -> Presence,
    ) -> Vec<(Pair, Timestamp)> {
        let mut gone = Vec::new();
        for pair in open {
            let Some(known) = self.0.get_mut(pair) else { continue };
            let Known::Missing(since) = *known else { continue };
            match presence(pair.1) {
                Presence::Gone => {
                    *known = Known::Told(now);
                    gone.push((pair.clone(), since));
                }
                Presence::Runs => *known = Known::Runs,
                Presence::Unknown => {}
            }
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millisecond(1_800_000_000_000 + ms).expect("a timestamp")
    }

    fn pair(session: &str, pid: u32) -> Pair {
        (SessionKey::new("agent", session), ProcessRef { pid, start: Some(1) })
    }

    /// Everybody is there but these.
    fn without(gone: &[u32]) -> impl Fn(ProcessRef) -> Presence + '_ {
        |process| {
            if gone.contains(&process.pid) { Presence::Gone } else { Presence::Runs }
        }
    }

    #[test]
    fn whoever_is_gone_twice_is_told_once_with_the_time_of_the_first_look() {
        let mut roll = Roll::default();
        let open = || vec![pair("a", 1), pair("b", 2), pair("c", 1)];
        let found = roll.look(open(), at(0), without(&[]));
        assert_eq!(found.fresh, open());
        assert!(!found.missing);
        let found = roll.look(open(), at(1000), without(&[1]));
        assert_eq!((found.fresh, found.missing), (Vec::new(), true));
        let gone = roll.confirm(&open(), at(1700), without(&[1]));
        assert_eq!(gone, [(pair("a", 1), at(1000)), (pair("c", 1), at(1000))]);
        assert_eq!(roll.confirm(&open(), at(1800), without(&[1])), []);
    }

    #[test]
    fn an_orderly_end_between_two_looks_wins() {
        let mut roll = Roll::default();
        roll.look(vec![pair("a", 1)], at(0), without(&[1]));
        assert_eq!(roll.confirm(&[], at(700), without(&[1])), []);
    }

    #[test]
    fn who_is_not_known_to_be_gone_is_not_told() {
        let mut roll = Roll::default();
        let open = vec![pair("a", 1)];
        let unknown = |_| Presence::Unknown;
        assert!(!roll.look(open.clone(), at(0), unknown).missing);
        assert!(roll.look(open.clone(), at(1000), without(&[1])).missing);
        assert_eq!(roll.confirm(&open, at(1700), unknown), []);
        assert_eq!(roll.confirm(&open, at(1800), without(&[])), []);
        assert!(!roll.look(open.clone(), at(2000), without(&[])).missing);
        assert_eq!(roll.confirm(&open, at(2700), without(&[1])), [], "one look is not enough");
    }

    #[test]
    fn an_end_that_nobody_heeds_is_pressed_once_and_told_again_later() {
        let mut roll = Roll::default();
        let open = || vec![pair("a", 1)];
        let gone = || without(&[1]);
        assert!(roll.look(open(), at(0), gone()).missing);
        assert_eq!(roll.confirm(&open(), at(700), gone()).len(), 1);
        assert_eq!(roll.look(open(), at(1000), gone()).ignored, [pair("a", 1).0]);
        assert_eq!(roll.look(open(), at(2000), gone()), Found::default());
        let found = roll.look(open(), at(31_000), gone());
        assert!(found.missing && found.ignored.is_empty());
        assert_eq!(roll.confirm(&open(), at(31_700), gone()), [(pair("a", 1), at(31_000))]);
    }

    #[test]
    fn a_process_that_left_and_came_back_is_asked_anew() {
        let mut roll = Roll::default();
        assert_eq!(roll.look(vec![pair("a", 1)], at(0), without(&[])).fresh.len(), 1);
        assert_eq!(roll.look(Vec::new(), at(1000), without(&[])), Found::default());
        assert_eq!(roll.look(vec![pair("a", 1)], at(2000), without(&[])).fresh.len(), 1);
    }
}
