//! Waiting for something another process does: look again and again until a deadline.
//!
//! The deadline only bounds a failing test. No case passes or fails by how long a thing took.

use std::time::{Duration, Instant};

/// How long any single step may take before the test gives up: far more than a loaded machine
/// needs, so that it only ever ends a test that is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// How often to look.
const PAUSE: Duration = Duration::from_millis(20);

/// Calls `probe` until it gives `Ok`, and returns that.
///
/// # Panics
///
/// After [`PATIENCE`], with `what` and the last `Err`: what was seen instead.
pub(crate) fn until<T>(what: &str, mut probe: impl FnMut() -> Result<T, String>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match probe() {
            Ok(value) => return value,
            Err(seen) if Instant::now() >= deadline => {
                panic!("waited {PATIENCE:?} in vain for {what}; last seen: {seen}")
            }
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}
