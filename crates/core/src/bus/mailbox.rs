//! What waits for one sink: a bounded queue that knows the classes of events.
//!
//! Essential events are kept in order and never joined; pieces are joined with the piece before; of a
//! measurement the newest stays; the rest is shed first. When only essential events are left and there
//! is no room, all is given up and the sink is told: a gap, then the state of every session. That state
//! is taken when the sink takes it, so a sink that never reads costs nothing more.
//!
//! A mailbox is plain data behind its lane's lock. It counts every event it is offered exactly once.

use std::sync::Arc;

use super::merge;
use super::open_keys::OpenKeys;
use super::setup::MailboxLimits;
use super::slots::{Slot, Slots};
use super::stats::{Counts, Lost};
use crate::detail::Detail;
use crate::event::{CoalesceKey, Delivery, Event, GapReason};
use crate::id::Seq;

/// The queue of one sink.
#[derive(Debug)]
pub(super) struct Mailbox {
    slots: Slots<Entry>,
    bytes: usize,
    limits: MailboxLimits,
    open: OpenKeys,
    lost: Option<Lost>,
    /// Items of the ring below this are part of the last gap.
    resume: u64,
    told: GapReason,
    /// The newest number that was offered.
    seen: Seq,
    mode: Mode,
    closed: bool,
    pub(super) counts: Counts,
}

#[derive(Debug)]
struct Entry {
    event: Arc<Event>,
    bytes: usize,
    class: Delivery,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Open,
    /// On the way out: pieces are no longer worth their time.
    Draining,
    /// Nobody will ever take anything.
    Dead,
}

impl Mailbox {
    /// An empty mailbox of somebody who joined when `seen` was the newest number.
    pub(super) fn new(limits: MailboxLimits, seen: Seq) -> Self {
        Self {
            slots: Slots::new(),
            bytes: 0,
            limits,
            open: OpenKeys::default(),
            lost: None,
            resume: 0,
            told: GapReason::Overflow,
            seen,
            mode: Mode::Open,
            closed: false,
            counts: Counts::default(),
        }
    }

    /// Takes in item number `ordinal` of the ring.
    pub(super) fn push(&mut self, ordinal: u64, event: Arc<Event>) {
        self.counts.offered += 1;
        self.seen = self.seen.max(event.seq);
        if self.mode == Mode::Dead {
            self.counts.dropped.quarantined += 1;
            return;
        }
        if let Some(lost) = self.lost {
            self.counts.dropped.add(lost.reason, 1);
            return;
        }
        if ordinal < self.resume {
            self.counts.dropped.add(self.told, 1);
            return;
        }
        match event.delivery() {
            Delivery::Essential => {
                self.open.close(&event.session);
                self.insert(event, Delivery::Essential);
            }
            Delivery::Append(key) => self.push_piece(event, key),
            Delivery::Latest(key) => {
                if let Some(slot) = self.open.latest(&key) {
                    self.take(slot);
                    self.counts.superseded += 1;
                }
                self.insert(event, Delivery::Latest(key));
            }
            Delivery::Sheddable => self.insert(event, Delivery::Sheddable),
        }
    }

    /// Counts an event the lane's filter turned away.
    pub(super) fn filtered(&mut self, seq: Seq) {
        self.counts.offered += 1;
        self.counts.filtered += 1;
        self.seen = self.seen.max(seq);
    }

    /// The ring overtook the pump: the `count` items from `ordinal` on are gone.
    pub(super) fn lapped(&mut self, ordinal: u64, count: u64) {
        self.counts.offered += count;
        if self.mode == Mode::Dead {
            self.counts.dropped.quarantined += count;
            return;
        }
        self.counts.dropped.ring_lapped += count;
        // What the last snapshot covers is told already.
        if ordinal + count > self.resume {
            self.lose(Seq(self.seen.0 + 1), GapReason::RingLapped);
        }
    }

    /// Gives up what is queued; the sink is to be told that it misses everything from `first` on.
    pub(super) fn lose(&mut self, first: Seq, reason: GapReason) {
        let oldest = self.slots.first().map_or(first, |(_, entry)| entry.event.seq.min(first));
        self.counts.dropped.add(reason, self.slots.len() as u64);
        self.clear();
        if self.mode != Mode::Dead {
            let known = self.lost.unwrap_or(Lost { first: oldest, reason });
            self.lost = Some(Lost { first: known.first.min(oldest), reason: known.reason });
        }
    }

    /// What the sink does not know it misses.
    pub(super) fn lost(&self) -> Option<Lost> {
        self.lost
    }

    /// The sink is about to be told, with a snapshot that covers the ring up to item `ordinal`.
    pub(super) fn resume(&mut self, ordinal: u64) {
        if let Some(lost) = self.lost.take() {
            self.told = lost.reason;
        }
        self.resume = ordinal;
        self.counts.gaps += 1;
    }

    /// Takes out the oldest events, at most `limit`; they count as in flight until they are settled.
    pub(super) fn pop(&mut self, limit: usize) -> Vec<Arc<Event>> {
        let mut batch = Vec::with_capacity(limit.min(self.slots.len()));
        while batch.len() < limit
            && let Some((slot, _)) = self.slots.first()
        {
            batch.push(self.take(slot).event);
        }
        self.counts.in_flight += batch.len() as u64;
        batch
    }

    /// Nothing more will come.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// Drops the pieces that wait and those that come: the sink is to finish soon.
    pub(super) fn drain(&mut self) {
        if self.mode == Mode::Dead {
            return;
        }
        self.mode = Mode::Draining;
        let mut next = self.slots.first_soft();
        while let Some(slot) = next {
            next = self.slots.next_soft(slot);
            if matches!(self.slots.get(slot).class, Delivery::Append(_)) {
                self.take(slot);
                self.counts.dropped.drained += 1;
            }
        }
    }

    /// Nobody will take anything any more: what waits and what comes is dropped and counted.
    pub(super) fn kill(&mut self) {
        self.mode = Mode::Dead;
        self.counts.dropped.quarantined += self.slots.len() as u64;
        self.lost = None;
        self.clear();
    }

    /// True if there is something to take or to know.
    pub(super) fn has_news(&self) -> bool {
        self.lost.is_some() || self.closed || self.slots.len() > 0
    }

    /// True if at least `crowd` events wait and no delivery is going on: the lane has not come round to them.
    pub(super) fn is_unattended(&self, crowd: usize) -> bool {
        self.mode != Mode::Dead && self.slots.len() >= crowd && self.counts.in_flight == 0
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn seen(&self) -> Seq {
        self.seen
    }

    /// The event that has waited longest.
    pub(super) fn oldest(&self) -> Option<&Arc<Event>> {
        self.slots.first().map(|(_, entry)| &entry.event)
    }

    fn push_piece(&mut self, event: Arc<Event>, key: CoalesceKey) {
        if self.mode == Mode::Draining {
            self.counts.dropped.drained += 1;
            return;
        }
        if let Some(slot) = self.open.piece(&event.session, &key) {
            let entry = self.slots.get_mut(slot);
            if let Some(growth) = merge::growth(&entry.event, &event)
                && self.bytes + growth <= self.limits.bytes
            {
                merge::join(&mut entry.event, &event);
                entry.bytes += growth;
                self.bytes += growth;
                self.counts.merged += 1;
                return;
            }
        }
        self.insert(event, Delivery::Append(key));
    }

    /// Queues an event, making room if need be.
    fn insert(&mut self, mut event: Arc<Event>, class: Delivery) {
        let mut bytes = event.weight();
        let soft = class != Delivery::Essential;
        if bytes > self.limits.bytes && !soft {
            // Alone it is more than may wait. Its fact matters more than its text.
            event = Detail::Metadata.apply(&event);
            bytes = event.weight().min(self.limits.bytes);
            self.counts.reduced += 1;
        }
        while self.slots.len() >= self.limits.items || self.bytes + bytes > self.limits.bytes {
            if let Some(slot) = self.slots.first_soft() {
                self.take(slot);
                self.counts.shed += 1;
            } else if soft {
                self.counts.shed += 1;
                return;
            } else {
                self.counts.dropped.overflow += 1;
                self.lose(event.seq, GapReason::Overflow);
                return;
            }
        }
        self.bytes += bytes;
        let session = event.session.clone();
        let slot = self.slots.push(Entry { event, bytes, class }, soft);
        self.open.put(&session, &self.slots.get(slot).class, slot);
    }

    /// Takes an entry out, with what points to it.
    fn take(&mut self, slot: Slot) -> Entry {
        let entry = self.slots.remove(slot);
        self.bytes -= entry.bytes;
        self.open.forget(&entry.event.session, &entry.class, slot);
        entry
    }

    fn clear(&mut self) {
        self.slots.clear();
        self.bytes = 0;
        self.open = OpenKeys::default();
    }

    /// How many keys are remembered.
    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.open.len()
    }
}
