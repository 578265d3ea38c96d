//! Reading the bus from inside the process, without a sink.

use std::fmt;
use std::sync::Arc;

use super::item::Item;
use super::ring::{RingReceiver, Taken};
use super::shared::Shared;
use crate::event::Event;
use crate::id::Seq;
use crate::state::SessionState;

/// The state at one moment and every event after it: no gap, no duplicate.
///
/// Events come in full, content included: who hands them on applies [`Detail`](crate::detail::Detail).
pub struct Subscription {
    /// The state of every session when the subscription began.
    pub snapshot: Vec<SessionState>,
    /// Events up to here are in it.
    pub upto: Seq,
    shared: Arc<Shared>,
    ring: RingReceiver<Arc<Item>>,
    next: u64,
}

/// What a subscriber gets.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// The next event.
    Event(Arc<Event>),
    /// The subscriber was too slow and the ring overtook it. This is the state now; events go on after it.
    Resync {
        /// The state of every session.
        snapshot: Vec<SessionState>,
        /// Events up to here are in it.
        upto: Seq,
        /// How many events were missed.
        missed: u64,
    },
}

impl Subscription {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let (moment, ring) = shared.join();
        Self { snapshot: moment.states, upto: moment.upto, shared, ring, next: moment.ordinal }
    }

    /// Waits for what comes next; none when the bus is closed and everything was read. May be dropped
    /// while it waits without losing anything.
    pub async fn recv(&mut self) -> Option<Update> {
        match self.ring.recv().await? {
            Taken::Item(item) => {
                self.next = item.ordinal + 1;
                Some(Update::Event(Arc::clone(&item.event)))
            }
            Taken::Lapped(_) => {
                let (moment, ring) = self.shared.join();
                let missed = moment.ordinal - self.next;
                (self.ring, self.next) = (ring, moment.ordinal);
                Some(Update::Resync { snapshot: moment.states, upto: moment.upto, missed })
            }
        }
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Subscription").field("upto", &self.upto).finish_non_exhaustive()
    }
}
