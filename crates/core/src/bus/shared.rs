//! The publish lock: where drafts become events in one order.
//!
//! Everything under the lock is short and synchronous: the resolver, the numbers, the ring, the
//! journal's queue. No I/O, no waiting, no code of feeds or sinks. Lock order: a lane may hold its
//! mailbox and then take this lock; whoever holds this lock takes no other one but the ring's.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use super::backlog::Backlog;
use super::clock::Clock;
use super::engine::{Engine, sessions_since};
use super::feed_state::FeedState;
use super::guard::contain;
use super::item::{Item, Moment};
use super::order::Order;
use super::publisher::PublishError;
use super::ring::{Ring, RingReceiver};
use super::{entry, validate};
use crate::draft::Draft;
use crate::event::{Body, Event, Origin, Scope, Trust};
use crate::id::{EventId, Seq, SessionKey};
use crate::journal::{Committed, Input, Journal};
use crate::state::Answer;

/// What publishers, lanes and the bus itself share.
pub(super) struct Shared {
    order: Mutex<Order>,
    ring: Ring<Arc<Item>>,
    pub(super) journal: Option<Arc<dyn Journal>>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) host: Arc<str>,
    pub(super) backlog: Arc<Backlog>,
}

impl Shared {
    pub(super) fn new(
        engine: Box<dyn Engine>,
        next: Seq,
        capacity: usize,
        journal: Option<Arc<dyn Journal>>,
        clock: Arc<dyn Clock>,
        host: Arc<str>,
    ) -> Self {
        Self {
            order: Mutex::new(Order::new(engine, next)),
            ring: Ring::new(capacity),
            journal,
            clock,
            host,
            backlog: Arc::new(Backlog::new()),
        }
    }

    /// Publishes one draft of a live feed.
    pub(super) fn publish(&self, feed: &FeedState, draft: Draft) -> Result<Answer, PublishError> {
        validate::check(&draft).map_err(|problem| feed.refuse(problem))?;
        let mut order = self.lock();
        if order.closed {
            return Err(PublishError::Closed);
        }
        let sample = order.latency.start();
        let now = self.clock.now();
        if !feed.admit(now, draft.body.is_essential()) {
            return Err(PublishError::OverRate);
        }
        // A piece of a message moves nothing that a restart needs: the next event brings the evidence.
        let keep = self.journal.is_some() && !entry::is_piece(&draft.body);
        let session = keep.then(|| draft.session.clone());
        let answer = order.accept(draft, false, feed, now);
        self.release(&mut order, None, session.as_slice(), None);
        order.latency.stop(sample);
        answer
    }

    /// Publishes the drafts of one input, whole and contiguous.
    pub(super) fn publish_all(
        &self,
        feed: &FeedState,
        input: Option<Input>,
        drafts: Vec<Draft>,
        mut committed: Option<Committed>,
    ) -> Result<Vec<Result<Answer, PublishError>>, PublishError> {
        let checked: Vec<_> =
            drafts.into_iter().map(|draft| validate::check(&draft).map(|()| draft)).collect();
        let mut touched = Vec::new();
        let mut order = self.lock();
        if order.closed {
            return Err(PublishError::Closed);
        }
        let now = self.clock.now();
        let parts = parts_of_moments(&checked, now);
        let answers = checked
            .into_iter()
            .zip(parts)
            .map(|(checked, more)| {
                let draft = checked.map_err(|problem| feed.refuse(problem))?;
                feed.charge(now);
                if self.journal.is_some() && !touched.contains(&draft.session) {
                    touched.push(draft.session.clone());
                }
                order.accept(draft, more, feed, now)
            })
            .collect();
        if self.journal.is_some() {
            self.release(&mut order, input, &touched, committed.take());
        } else {
            self.release(&mut order, None, &[], None);
        }
        drop(order);
        if let Some(Committed(tell)) = committed {
            // Nothing will ever be durable here: published is all there is to tell.
            if let Err(panic) = contain(tell) {
                tracing::error!("a source {panic} when it was told of a commit");
            }
        }
        Ok(answers)
    }

    /// The authoritative feed of `session` is gone, and nobody saw its process end.
    pub(super) fn feed_closed(&self, feed: &FeedState, session: &SessionKey) {
        let mut order = self.lock();
        if order.closed {
            return;
        }
        let now = self.clock.now();
        let Order { engine, fresh, .. } = &mut *order;
        let origin = feed.origin(None);
        if contain(|| engine.feed_closed(session, now, &origin, fresh)).is_err() {
            tracing::error!(feed = %feed.name(), "resolver panicked at the end of a feed");
        }
        self.release(&mut order, None, std::slice::from_ref(session), None);
    }

    /// Lets time pass for every session.
    pub(super) fn tick(&self, now: Timestamp) {
        let mut order = self.lock();
        if order.closed {
            return;
        }
        let Order { engine, fresh, .. } = &mut *order;
        if contain(|| engine.tick(now, fresh)).is_err() {
            tracing::error!("resolver panicked while time passed");
        }
        if !order.fresh.is_empty() {
            self.release(&mut order, None, &[], None);
        }
    }

    /// Says something about the bus itself. It has a place on the ring and none in the history: it
    /// carries the newest number and is not handed to the journal.
    pub(super) fn announce(&self, body: impl Into<Body>) {
        let mut order = self.lock();
        if order.closed {
            return;
        }
        let event = self.own_event(order.head(), body.into());
        order.kinds.count(event.body.kind());
        order.put(&self.ring, Arc::new(event));
    }

    /// An event of the bus itself, with `seq` as its number.
    pub(super) fn own_event(&self, seq: Seq, body: Body) -> Event {
        let now = self.clock.now();
        Event {
            id: EventId::random(now),
            seq,
            session: SessionKey::new("linelamp", "bus"),
            session_seq: 0,
            at: now,
            observed_at: now,
            origin: Origin {
                feed: "bus".into(),
                trust: Trust::Authoritative,
                pid: None,
                host: Arc::clone(&self.host),
            },
            scope: Scope::Main,
            body,
        }
    }

    /// The state of every session now.
    pub(super) fn moment(&self) -> Moment {
        let order = self.lock();
        order.moment(order.engine.snapshot())
    }

    /// The sessions somebody must be told who missed everything from `first` on.
    pub(super) fn moment_since(&self, first: Seq) -> Moment {
        let order = self.lock();
        order.moment(sessions_since(&*order.engine, first))
    }

    /// A reader of the ring, with the state as it was right before the reader's first event.
    pub(super) fn join(&self) -> (Moment, RingReceiver<Arc<Item>>) {
        let order = self.lock();
        (order.moment(order.engine.snapshot()), self.ring.receiver())
    }

    /// A reader of the ring, and its place, without the state.
    pub(super) fn join_bare(&self) -> (Moment, RingReceiver<Arc<Item>>) {
        let order = self.lock();
        (order.moment(Vec::new()), self.ring.receiver())
    }

    /// Refuses everything from now on. What is on the ring stays readable.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.ring.close();
        self.backlog.close();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    pub(super) fn ring_len(&self) -> usize {
        self.ring.len()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Order> {
        // A panic under the lock is contained where it happens; should one escape, the host lives on.
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts what the engine made on the ring and hands it to the journal.
    fn release(
        &self,
        order: &mut Order,
        input: Option<Input>,
        touched: &[SessionKey],
        committed: Option<Committed>,
    ) {
        order.note_fresh();
        let mut fresh = std::mem::take(&mut order.fresh);
        let idle = fresh.is_empty() && touched.is_empty() && input.is_none();
        if let Some(journal) = &self.journal
            && !(idle && committed.is_none())
        {
            let events: Vec<_> = fresh.drain(..).map(Arc::new).collect();
            for event in &events {
                order.put(&self.ring, Arc::clone(event));
            }
            let entry = entry::make(order, input, events, touched, committed, &self.backlog);
            if contain(|| journal.append(entry)).is_err() {
                tracing::error!("journal panicked; its entry is lost");
            }
        } else {
            for event in fresh.drain(..) {
                order.put(&self.ring, Arc::new(event));
            }
        }
        // The buffer is used again: publishing allocates no vector.
        order.fresh = fresh;
    }
}

/// For each draft of a batch, whether the ones after it tell more of the same moment of its session: they
/// follow with no other moment between.
fn parts_of_moments<E>(drafts: &[Result<Draft, E>], now: Timestamp) -> Vec<bool> {
    let moment = |draft: &Draft| draft.at.min(now);
    let more = |(index, draft): (usize, &Result<Draft, E>)| {
        let Ok(draft) = draft else { return false };
        let rest = drafts[index + 1..].iter().filter_map(|next| next.as_ref().ok());
        rest.take_while(|next| moment(next) == moment(draft))
            .any(|next| next.session == draft.session)
    };
    drafts.iter().enumerate().map(more).collect()
}
