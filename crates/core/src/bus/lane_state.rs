//! What a lane's pump, its delivery task and the bus's counters share.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::filter::Filter;
use super::mailbox::Mailbox;
use super::shared::Shared;
use super::sink_state::{Change, SinkState};
use super::stats::LaneStats;
use crate::detail::Detail;
use crate::event::{Body, BusGap, BusSinkStatus, BusSnapshot, Event, GapReason, SinkHealth};
use crate::id::{Seq, SinkName};
use crate::state::SessionState;

/// While the lane drains, failed deliveries are tried again after this.
const HURRY: Duration = Duration::from_millis(25);

/// One lane.
pub(super) struct LaneState {
    pub(super) name: SinkName,
    pub(super) filter: Filter,
    pub(super) detail: Detail,
    pub(super) deltas: bool,
    pub(super) durable: bool,
    /// Cancelled when the lane is to finish what it has.
    pub(super) draining: CancellationToken,
    /// When it must be done, once it drains.
    pub(super) deadline: OnceLock<Instant>,
    mailbox: Mutex<Mailbox>,
    sink: Mutex<SinkState>,
    news: Notify,
}

impl LaneState {
    pub(super) fn new(
        name: SinkName,
        filter: Filter,
        detail: Detail,
        deltas: bool,
        durable: bool,
        mailbox: Mailbox,
    ) -> Self {
        Self {
            name,
            filter,
            detail,
            deltas,
            durable,
            draining: CancellationToken::new(),
            deadline: OnceLock::new(),
            mailbox: Mutex::new(mailbox),
            sink: Mutex::new(SinkState::new()),
            news: Notify::new(),
        }
    }

    /// Whether the sink gets this event at all. It is not told how it is doing itself.
    pub(super) fn wants(&self, event: &Event) -> bool {
        match &event.body {
            Body::MessageDelta(_) | Body::ToolProgress(_) if !self.deltas => false,
            Body::BusSinkStatus(status) if status.sink == self.name => false,
            _ => self.filter.passes(event),
        }
    }

    /// Works on the mailbox for a moment.
    pub(super) fn mailbox(&self) -> MutexGuard<'_, Mailbox> {
        self.mailbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the delivery task.
    pub(super) fn wake(&self) {
        self.news.notify_one();
    }

    /// Waits until the mailbox is as `enough` wants it.
    pub(super) async fn until(&self, enough: impl Fn(&Mailbox) -> bool) {
        while !enough(&self.mailbox()) {
            self.news.notified().await;
        }
    }

    /// Waits, unless the lane drains: then there is hardly time.
    pub(super) async fn pause(&self, wait: Duration) {
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = self.draining.cancelled() => tokio::time::sleep(wait.min(HURRY)).await,
        }
    }

    /// Begins to drain: no pieces any more, no long waits, an end in sight.
    pub(super) fn drain(&self, deadline: Instant) {
        // Whoever says so first has the say.
        self.deadline.get_or_init(|| deadline);
        self.mailbox().drain();
        self.draining.cancel();
        self.wake();
    }

    /// Notes for a sink that missed everything from some event on: a gap, then the state of every session.
    /// Nothing if it missed nothing.
    pub(super) fn resync(&self, shared: &Shared) -> Vec<Arc<Event>> {
        let mut mailbox = self.mailbox();
        let Some(lost) = mailbox.lost() else { return Vec::new() };
        // Taken while the mailbox is locked, so that the pump cannot put anything between.
        let moment = shared.moment_since(lost.first);
        mailbox.resume(moment.ordinal);
        drop(mailbox);
        let gap = BusGap { first_seq: lost.first, last_seq: moment.upto, reason: lost.reason };
        self.notes(shared, gap, moment.upto, moment.states)
    }

    /// Notes for a sink that misses exactly `given_up`.
    pub(super) fn gave_up(&self, shared: &Shared, given_up: &[Arc<Event>]) -> Vec<Arc<Event>> {
        self.mailbox().counts.gaps += 1;
        let numbers = || given_up.iter().map(|event| event.seq);
        let gap = BusGap {
            first_seq: numbers().min().unwrap_or_default(),
            last_seq: numbers().max().unwrap_or_default(),
            reason: GapReason::GaveUp,
        };
        let moment = shared.moment();
        let touched =
            |state: &SessionState| given_up.iter().any(|event| event.session == state.session);
        let states = moment.states.into_iter().filter(touched).collect();
        self.notes(shared, gap, moment.upto, states)
    }

    fn notes(
        &self,
        shared: &Shared,
        gap: BusGap,
        upto: Seq,
        states: Vec<SessionState>,
    ) -> Vec<Arc<Event>> {
        let gap = shared.own_event(gap.last_seq, gap.into());
        let snapshots = states.into_iter().map(|state| Event {
            session: state.session.clone(),
            ..shared.own_event(upto, BusSnapshot { upto, state: Box::new(state) }.into())
        });
        std::iter::once(gap)
            .chain(snapshots)
            .filter(|event| self.filter.passes(event))
            .map(Arc::new)
            .collect()
    }

    /// A delivery ended well.
    pub(super) fn succeeded(&self, shared: &Shared) {
        let change = self.sink().succeeded();
        self.tell(shared, change, None);
    }

    /// Something failed. `error` goes to the log; other sinks only learn `kind`.
    pub(super) fn failed(&self, shared: &Shared, to: SinkHealth, kind: &str, error: &str) {
        let change = self.sink().failed(to, error);
        if change.is_some() {
            tracing::warn!(sink = %self.name, health = %to, "{kind}: {error}");
        }
        self.tell(shared, change, Some(kind));
    }

    fn tell(&self, shared: &Shared, change: Option<Change>, error: Option<&str>) {
        let Some(Change { from, to }) = change else { return };
        if to == SinkHealth::Healthy {
            tracing::info!(sink = %self.name, "sink delivers again");
        }
        let error = error.map(str::to_owned);
        shared.announce(BusSinkStatus { sink: self.name.clone(), from, to, error });
    }

    pub(super) fn stats(&self, shared: &Shared, head: Seq) -> LaneStats {
        let (health, last_error) = {
            let sink = self.sink();
            (sink.health(), sink.last_error().map(str::to_owned))
        };
        let now = shared.clock.now();
        let mailbox = self.mailbox();
        let counts = &mailbox.counts;
        let oldest = mailbox.oldest().map(|event| now.duration_since(event.observed_at));
        LaneStats {
            sink: self.name.clone(),
            health,
            last_error,
            durable: self.durable,
            offered: counts.offered,
            delivered: counts.delivered,
            merged: counts.merged,
            superseded: counts.superseded,
            shed: counts.shed,
            dropped: counts.dropped,
            queued: counts.in_flight + mailbox.len() as u64,
            filtered: counts.filtered,
            reduced: counts.reduced,
            notes: counts.notes,
            gaps: counts.gaps,
            retries: counts.retries,
            rejected: counts.rejected,
            rebuilds: counts.rebuilds,
            deliveries: counts.deliveries,
            delivery_time: counts.delivery_time,
            bytes: mailbox.bytes(),
            oldest: oldest.map(|age| Duration::try_from(age).unwrap_or_default()),
            lag: if self.durable { 0 } else { head.0.saturating_sub(mailbox.seen().0) },
        }
    }

    fn sink(&self) -> MutexGuard<'_, SinkState> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
