//! Which waiting events a newer one may be joined with, or may replace.

use std::collections::HashMap;

use super::slots::Slot;
use crate::event::{CoalesceKey, Delivery};
use crate::id::SessionKey;

/// The keys of a mailbox. Never more of them than events that wait: what leaves the queue leaves here too,
/// so nothing is remembered of a session that is gone.
#[derive(Debug, Default)]
pub(super) struct OpenKeys {
    /// The newest piece of each message or output that may still be joined. An essential event of the
    /// session takes the session out: no piece moves across it.
    pieces: HashMap<SessionKey, HashMap<CoalesceKey, Slot>>,
    latest: HashMap<CoalesceKey, Slot>,
}

impl OpenKeys {
    /// Where the piece waits that a piece of this key may be joined with.
    pub(super) fn piece(&self, session: &SessionKey, key: &CoalesceKey) -> Option<Slot> {
        self.pieces.get(session)?.get(key).copied()
    }

    /// Where the measurement waits that one of this key replaces.
    pub(super) fn latest(&self, key: &CoalesceKey) -> Option<Slot> {
        self.latest.get(key).copied()
    }

    /// An essential event of the session was queued: nothing before it is joined any more.
    pub(super) fn close(&mut self, session: &SessionKey) {
        if !self.pieces.is_empty() {
            self.pieces.remove(session);
        }
    }

    /// An event of this class waits at `slot` now.
    pub(super) fn put(&mut self, session: &SessionKey, class: &Delivery, slot: Slot) {
        match class {
            Delivery::Append(key) => {
                self.pieces.entry(session.clone()).or_default().insert(key.clone(), slot);
            }
            Delivery::Latest(key) => {
                self.latest.insert(key.clone(), slot);
            }
            Delivery::Essential | Delivery::Sheddable => {}
        }
    }

    /// The event of this class does not wait at `slot` any more.
    pub(super) fn forget(&mut self, session: &SessionKey, class: &Delivery, slot: Slot) {
        match class {
            Delivery::Append(key) => {
                let Some(open) = self.pieces.get_mut(session) else { return };
                if open.get(key) == Some(&slot) {
                    open.remove(key);
                }
                if open.is_empty() {
                    self.pieces.remove(session);
                }
            }
            Delivery::Latest(key) => {
                self.latest.remove(key);
            }
            Delivery::Essential | Delivery::Sheddable => {}
        }
    }

    /// How many keys are open.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.latest.len() + self.pieces.values().map(HashMap::len).sum::<usize>()
    }
}
