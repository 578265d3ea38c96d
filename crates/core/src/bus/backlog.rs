//! How far the journal is behind, and who waits for it.
//!
//! Only feeds wait, between inputs and of their own will; publishing never does. A store that does not
//! commit holds feeds up for two seconds at most, then intake goes on live.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// Feeds take input only while fewer events than this are not durable yet.
pub(super) const LIMIT: u64 = 2_048;
/// A store that commits nothing for so long no longer holds up intake.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// Events handed to the journal and not committed yet.
#[derive(Debug)]
pub(super) struct Backlog {
    state: Mutex<State>,
    moved: Notify,
}

#[derive(Debug)]
struct State {
    published: u64,
    committed: u64,
    /// When the journal last committed, or got its first work after being done.
    progress: Instant,
    open: bool,
}

impl Backlog {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                published: 0,
                committed: 0,
                progress: Instant::now(),
                open: true,
            }),
            moved: Notify::new(),
        }
    }

    /// Counts events handed to the journal.
    pub(super) fn publish(&self, count: u64) {
        let mut state = self.lock();
        if state.published == state.committed {
            state.progress = Instant::now();
        }
        state.published += count;
    }

    /// Counts events the journal made durable, or gave back unwritten.
    pub(super) fn commit(&self, count: u64) {
        let mut state = self.lock();
        state.committed += count;
        state.progress = Instant::now();
        drop(state);
        self.moved.notify_waiters();
    }

    /// Lets everybody go; nobody waits any more.
    pub(super) fn close(&self) {
        self.lock().open = false;
        self.moved.notify_waiters();
    }

    /// Events not durable yet.
    pub(super) fn len(&self) -> u64 {
        let state = self.lock();
        state.published - state.committed
    }

    /// Waits until there is room, or the journal has stood still for too long.
    pub(super) async fn room(&self) {
        loop {
            let moved = self.moved.notified();
            let patience = {
                let state = self.lock();
                if !state.open || state.published - state.committed < LIMIT {
                    return;
                }
                state.progress + PATIENCE
            };
            if patience <= Instant::now() {
                return;
            }
            // Either way the numbers are looked at again.
            tokio::select! {
                () = moved => {}
                () = tokio::time::sleep_until(patience) => {}
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
