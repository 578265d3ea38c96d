//! What travels on the ring, and what a moment on it looks like.

use std::sync::{Arc, OnceLock};

use crate::detail::Detail;
use crate::event::Event;
use crate::id::Seq;
use crate::state::SessionState;

/// One event on the ring.
#[derive(Debug)]
pub(super) struct Item {
    /// How many events were put on the ring before this one; without holes, unlike `seq`.
    pub(super) ordinal: u64,
    /// The event in full.
    pub(super) event: Arc<Event>,
    /// The event without content, made once for all lanes that want it so.
    bare: OnceLock<Arc<Event>>,
}

impl Item {
    pub(super) fn new(ordinal: u64, event: Arc<Event>) -> Self {
        Self { ordinal, event, bare: OnceLock::new() }
    }

    /// The event as `detail` shows it.
    pub(super) fn view(&self, detail: Detail) -> Arc<Event> {
        match detail {
            Detail::Content => Arc::clone(&self.event),
            Detail::Metadata => {
                Arc::clone(self.bare.get_or_init(|| Detail::Metadata.apply(&self.event)))
            }
        }
    }
}

/// The state of sessions at one moment, and where the ring goes on from there.
pub(super) struct Moment {
    pub(super) states: Vec<SessionState>,
    /// The newest event that is in the states.
    pub(super) upto: Seq,
    /// The first event on the ring that is not.
    pub(super) ordinal: u64,
}
