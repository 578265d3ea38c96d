//! Carries events from the ring to one mailbox, through the lane's filter and level of detail.
//!
//! It never waits for the sink, so the ring is read as fast as it is written. If it is starved and the
//! ring overtakes it, the mailbox is told how much is missing.

use std::sync::Arc;
use std::time::Duration;

use super::item::Item;
use super::lane_state::LaneState;
use super::ring::{RingReceiver, Taken};
use crate::event::Event;
use crate::id::Seq;

/// So many events at most go into the mailbox under one lock.
const CHUNK: usize = 256;

/// So many events at once mean that many more are coming.
const BUSY: usize = 16;
/// How long a busy pump lets events gather: far less than the ring takes to fill.
const GATHER: Duration = Duration::from_millis(1);

enum Offer {
    Event(u64, Arc<Event>),
    Filtered(Seq),
    Lapped { ordinal: u64, count: u64 },
}

/// Runs until the ring is closed and read to its end, then closes the mailbox. `next` is the number
/// of the first item the ring will give.
pub(super) async fn run(
    lane: Arc<LaneState>,
    mut ring: RingReceiver<Arc<Item>>,
    mut next: u64,
    crowd: usize,
) {
    let mut chunk = Vec::with_capacity(CHUNK);
    while let Some(first) = ring.recv().await {
        chunk.push(offer(&lane, first, &mut next));
        while chunk.len() < CHUNK
            && let Some(taken) = ring.try_recv()
        {
            chunk.push(offer(&lane, taken, &mut next));
        }
        let count = chunk.len();
        let waiting = {
            let mut mailbox = lane.mailbox();
            for offer in chunk.drain(..) {
                match offer {
                    Offer::Event(ordinal, event) => mailbox.push(ordinal, event),
                    Offer::Filtered(seq) => mailbox.filtered(seq),
                    Offer::Lapped { ordinal, count } => mailbox.lapped(ordinal, count),
                }
            }
            mailbox.len()
        };
        lane.wake();
        // In both cases the ring itself holds what comes meanwhile.
        if count == CHUNK || waiting >= crowd {
            // There is more: the sink gets its turn first, and a moment longer if it only was not woken yet.
            tokio::task::yield_now().await;
            if waiting >= crowd && lane.mailbox().is_unattended(crowd) {
                tokio::time::sleep(GATHER).await;
            }
        } else if count >= BUSY {
            // Events come faster than this task is woken: to wake it for each one would cost more than to
            // carry it, and most of that at the publisher.
            tokio::time::sleep(GATHER).await;
        }
    }
    lane.mailbox().close();
    lane.wake();
}

fn offer(lane: &LaneState, taken: Taken<Arc<Item>>, next: &mut u64) -> Offer {
    match taken {
        Taken::Item(item) => {
            *next = item.ordinal + 1;
            if lane.wants(&item.event) {
                Offer::Event(item.ordinal, item.view(lane.detail))
            } else {
                Offer::Filtered(item.event.seq)
            }
        }
        Taken::Lapped(count) => {
            let ordinal = *next;
            *next += count;
            Offer::Lapped { ordinal, count }
        }
    }
}
