//! What time it is, as far as the bus goes.

use jiff::Timestamp;

/// Tells the time. A replay brings its own clock, so that it gives the same result every time.
pub trait Clock: Send + Sync {
    /// The time now. Called under the bus's lock: must not wait.
    fn now(&self) -> Timestamp;
}

/// The machine's wall clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

impl<F: Fn() -> Timestamp + Send + Sync> Clock for F {
    fn now(&self) -> Timestamp {
        self()
    }
}
