//! When a client's input happened, by this machine's clocks.
//!
//! The boot's clock does not jump, so within one boot it counts; the wall clock of a client counts only
//! where nothing else is known, and never says a time that is still to come.

use linelamp_core::Timestamp;

use crate::process;
use crate::spool::Header;

/// A wall clock that disagrees with the boot's by less than this is right enough.
const STEP_MS: i64 = 1_000;

/// Both clocks at one moment.
#[derive(Clone, Debug)]
pub(super) struct Moment {
    /// The wall clock.
    pub(super) now: Timestamp,
    boottime_ns: Option<u64>,
    boot_id: Option<String>,
}

impl Moment {
    /// This moment. `boot_id` is this boot's, which does not change while a process runs.
    pub(super) fn now(boot_id: Option<String>) -> Self {
        Self { now: Timestamp::now(), boottime_ns: process::boottime_ns(), boot_id }
    }

    /// When the writer of `header` said `at`.
    pub(super) fn at(&self, header: &Header) -> Timestamp {
        let ago = || {
            let same_boot = header.boot_id.is_some() && header.boot_id == self.boot_id;
            let ago = self.boottime_ns?.checked_sub(header.boottime_ns.filter(|_| same_boot)?)?;
            self.now.checked_sub(std::time::Duration::from_nanos(ago)).ok()
        };
        ago().unwrap_or(header.at).min(self.now)
    }

    /// The milliseconds the wall clock was set ahead (negative: back) since `header` was written.
    pub(super) fn step_ms(&self, header: &Header) -> i64 {
        let step = self.at(header).as_millisecond() - header.at.as_millisecond();
        // A header that is clamped because it says a time to come has no boot time to compare with.
        if step.abs() < STEP_MS || header.boottime_ns.is_none() { 0 } else { step }
    }
}

#[cfg(test)]
mod tests {
    use crate::spool::Role;

    use super::*;

    fn moment() -> Moment {
        Moment {
            now: Timestamp::constant(1_800_000_000, 0),
            boottime_ns: Some(50_000_000_000),
            boot_id: Some("this".into()),
        }
    }

    fn header(second: i64, boottime_ns: Option<u64>, boot: &str) -> Header {
        let at = Timestamp::from_second(second).expect("a time");
        let mut header = Header::new(Role::Hook, "claude-code".into(), at);
        header.boottime_ns = boottime_ns;
        header.boot_id = Some(boot.into());
        header
    }

    #[test]
    fn the_boots_clock_counts_within_one_boot_and_no_time_is_still_to_come() {
        let moment = moment();
        let seconds = |header: &Header| moment.at(header).as_second();
        // The wall clock was set an hour ahead after the call.
        let stepped = header(1_799_996_390, Some(40_000_000_000), "this");
        assert_eq!(seconds(&stepped), 1_799_999_990);
        assert_eq!(moment.step_ms(&stepped), 3_600_000);
        // Another boot, or a boot time to come: the wall clock is all there is.
        assert_eq!(seconds(&header(1_799_000_000, Some(40_000_000_000), "other")), 1_799_000_000);
        assert_eq!(seconds(&header(1_799_000_000, Some(60_000_000_000), "this")), 1_799_000_000);
        assert_eq!(seconds(&header(1_900_000_000, None, "this")), 1_800_000_000);
        assert_eq!(moment.step_ms(&header(1_799_999_990, Some(40_000_000_000), "this")), 0);
    }
}
