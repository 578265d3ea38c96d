//! What the publish lock protects: the engine, the numbers, the counters.

use std::sync::Arc;

use jiff::Timestamp;

use super::counter::{KindCounts, Latency};
use super::engine::Engine;
use super::feed_state::FeedState;
use super::guard::contain;
use super::item::{Item, Moment};
use super::publisher::PublishError;
use super::ring::Ring;
use crate::draft::Draft;
use crate::event::Event;
use crate::id::Seq;
use crate::state::{Answer, SessionState};

/// The state behind the lock.
pub(super) struct Order {
    pub(super) engine: Box<dyn Engine>,
    pub(super) closed: bool,
    /// Made by the engine and not on the ring yet.
    pub(super) fresh: Vec<Event>,
    ordinal: u64,
    head: Seq,
    pub(super) next: Seq,
    pub(super) kinds: KindCounts,
    pub(super) latency: Latency,
}

impl Order {
    /// Nothing published yet; the first event gets `next`.
    pub(super) fn new(engine: Box<dyn Engine>, next: Seq) -> Self {
        Self {
            engine,
            closed: false,
            fresh: Vec::with_capacity(16),
            ordinal: 0,
            head: Seq(next.0.saturating_sub(1)),
            next,
            kinds: KindCounts::default(),
            latency: Latency::default(),
        }
    }

    /// Runs the engine on one draft. A panic in it costs this draft only. With `more`, the next drafts
    /// tell more of the same moment of its session, and the state waits for them.
    pub(super) fn accept(
        &mut self,
        mut draft: Draft,
        more: bool,
        feed: &FeedState,
        now: Timestamp,
    ) -> Result<Answer, PublishError> {
        // A source whose clock runs ahead must not win over what is observed later.
        draft.at = draft.at.min(now);
        let origin = feed.origin(draft.process);
        let before = self.fresh.len();
        let (engine, fresh) = (&mut self.engine, &mut self.fresh);
        let taken = contain(|| {
            if more {
                engine.accept_part(draft, &origin, now, fresh)
            } else {
                engine.accept(draft, &origin, now, fresh)
            }
        });
        match taken {
            Ok(answer) => {
                feed.accepted(answer);
                if let Answer::New(seq) = answer {
                    self.next = self.next.max(Seq(seq.0 + 1));
                }
                Ok(answer)
            }
            Err(message) => {
                self.fresh.truncate(before);
                tracing::error!(feed = %feed.name(), "resolver {message}");
                Err(feed.refuse("the resolver failed on it"))
            }
        }
    }

    /// Puts an event on the ring.
    pub(super) fn put(&mut self, ring: &Ring<Arc<Item>>, event: Arc<Event>) {
        ring.send(Arc::new(Item::new(self.ordinal, event)));
        self.ordinal += 1;
    }

    /// Counts the events the engine made, and takes note of the numbers they got.
    pub(super) fn note_fresh(&mut self) {
        for event in &self.fresh {
            self.head = self.head.max(event.seq);
            self.next = self.next.max(Seq(event.seq.0 + 1));
            self.kinds.count(event.body.kind());
        }
    }

    /// Events put on the ring so far.
    pub(super) fn published(&self) -> u64 {
        self.ordinal
    }

    /// The newest number given to an event.
    pub(super) fn head(&self) -> Seq {
        self.head
    }

    /// The state `states` as of now.
    pub(super) fn moment(&self, states: Vec<SessionState>) -> Moment {
        Moment { states, upto: self.head, ordinal: self.ordinal }
    }
}
