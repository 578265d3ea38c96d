//! Makes the journal's entry of one publish.

use std::sync::Arc;

use super::backlog::Backlog;
use super::guard::contain;
use super::order::Order;
use crate::event::{Body, Event};
use crate::id::SessionKey;
use crate::journal::{Committed, Entry, Input};

/// True for what changes so often, and means so little for a restart, that the evidence is not saved for
/// it alone.
pub(super) fn is_piece(body: &Body) -> bool {
    matches!(body, Body::MessageDelta(_) | Body::ToolProgress(_))
}

/// The entry of `events`, with the evidence of every session they or `touched` name. Pieces name none.
pub(super) fn make(
    order: &Order,
    input: Option<Input>,
    events: Vec<Arc<Event>>,
    touched: &[SessionKey],
    committed: Option<Committed>,
    backlog: &Arc<Backlog>,
) -> Entry {
    let mut keys: Vec<&SessionKey> = touched.iter().collect();
    for event in &events {
        if !is_piece(&event.body) && !keys.contains(&&event.session) {
            keys.push(&event.session);
        }
    }
    let sessions = keys.into_iter().filter_map(|key| order.engine.record(key)).collect();
    let count = events.len() as u64;
    backlog.publish(count);
    let mut ticket = Ticket { backlog: Arc::clone(backlog), count, tell: committed };
    Entry {
        input,
        events,
        sessions,
        next_seq: order.next,
        committed: Some(Committed(Box::new(move || ticket.settle()))),
    }
}

/// Counts the entry as committed, once: when the journal says so, or when it drops the entry. A lost
/// entry must not hold up intake for ever; whoever asked to be told is not told then.
struct Ticket {
    backlog: Arc<Backlog>,
    count: u64,
    tell: Option<Committed>,
}

impl Ticket {
    fn settle(&mut self) {
        self.backlog.commit(std::mem::take(&mut self.count));
        if let Some(Committed(tell)) = self.tell.take() {
            // The journal's thread outlives whatever its customers do.
            if let Err(panic) = contain(tell) {
                tracing::error!("a source {panic} when it was told of a commit");
            }
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.count > 0 {
            self.backlog.commit(self.count);
        }
    }
}
