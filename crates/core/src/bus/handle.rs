//! The bus as its host holds it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::builder::Builder;
use super::drain::{self, Drain, DrainReport, Unfinished};
use super::feed_state::FeedState;
use super::guard::contain;
use super::lane::Lane;
use super::lane_state::LaneState;
use super::mailbox::Mailbox;
use super::publisher::Publisher;
use super::pump;
use super::rate::Rate;
use super::setup::{AddSinkError, SinkSetup};
use super::shared::Shared;
use super::stats::BusStats;
use super::subscribe::Subscription;
use super::supply::Supply;
use crate::event::Trust;
use crate::id::{FeedName, SessionKey, SinkName};
use crate::process::ProcessRef;
use crate::sink::Outbox;
use crate::state::{Explanation, SessionState};

/// Orders events, resolves state, fans out. Cheap to clone; closed when the last clone is dropped.
#[derive(Clone)]
pub struct Bus {
    owner: Arc<Owner>,
}

struct Owner {
    shared: Arc<Shared>,
    rate: Rate,
    feeds: Mutex<BTreeMap<FeedName, Arc<FeedState>>>,
    lanes: Mutex<Vec<LaneHandle>>,
}

struct LaneHandle {
    state: Arc<LaneState>,
    tasks: Vec<JoinHandle<()>>,
}

impl Bus {
    /// Starts to describe a bus.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(super) fn new(shared: Shared, rate: Rate) -> Self {
        let owner = Owner {
            shared: Arc::new(shared),
            rate,
            feeds: Mutex::default(),
            lanes: Mutex::default(),
        };
        Self { owner: Arc::new(owner) }
    }

    /// A publisher for the feed of this name. All publishers of one name share its rate and counters, and
    /// the trust that was given first.
    pub fn publisher(&self, feed: impl Into<FeedName>, trust: Trust) -> Publisher {
        let name = feed.into();
        let shared = &self.owner.shared;
        let mut feeds = lock(&self.owner.feeds);
        let state = feeds.entry(name.clone()).or_insert_with(|| {
            Arc::new(FeedState::new(name, trust, Arc::clone(&shared.host), self.owner.rate))
        });
        Publisher::new(Arc::clone(shared), Arc::clone(state))
    }

    /// The state of every session now, and every event after that.
    pub fn subscribe(&self) -> Subscription {
        Subscription::new(Arc::clone(&self.owner.shared))
    }

    /// The state of every session now.
    pub fn snapshot(&self) -> Vec<SessionState> {
        self.owner.shared.moment().states
    }

    /// The state of one session now.
    pub fn session(&self, session: &SessionKey) -> Option<SessionState> {
        let record = self.owner.shared.lock().engine.record(session)?;
        Some(record.state.clone())
    }

    /// The processes in which sessions are open, each with its session: whoever can look at processes may find
    /// that one is gone.
    pub fn open_processes(&self) -> Vec<(SessionKey, ProcessRef)> {
        self.owner.shared.lock().engine.open_processes()
    }

    /// Why a session is in its state: what decided, what was overruled, what would change it.
    pub fn explain(&self, session: &SessionKey) -> Option<Explanation> {
        let shared = &self.owner.shared;
        let now = shared.clock.now();
        shared.lock().engine.explain(session, now)
    }

    /// Lets time pass: claims age. The host calls it every 250 ms.
    pub fn tick(&self, now: Timestamp) {
        self.owner.shared.tick(now);
    }

    /// Adds a sink that reads the ring. Must be called on a tokio runtime, where its tasks will run.
    ///
    /// # Errors
    ///
    /// [`AddSinkError`] if the name is taken, the sink cannot be built, or the bus is closed.
    pub fn add_sink(&self, setup: SinkSetup) -> Result<(), AddSinkError> {
        self.add(setup, None)
    }

    /// Adds a sink that reads its queue in the store: what is committed for it survives a kill of this
    /// process. The store filters when it queues, so the setup's filter must be given to it as well.
    ///
    /// # Errors
    ///
    /// As [`Bus::add_sink`].
    pub fn add_durable_sink(
        &self,
        setup: SinkSetup,
        outbox: Arc<dyn Outbox>,
    ) -> Result<(), AddSinkError> {
        self.add(setup, Some(outbox))
    }

    fn add(&self, setup: SinkSetup, outbox: Option<Arc<dyn Outbox>>) -> Result<(), AddSinkError> {
        let SinkSetup { name, source, filter, detail, needs, limits, retry } = setup;
        let taken = |lanes: &[LaneHandle]| lanes.iter().any(|lane| lane.state.name == name);
        if taken(&lock(&self.owner.lanes)) {
            return Err(AddSinkError::Exists(name));
        }
        // Built without a lock: this is the sink's own code.
        let (sink, rebuild) = match source.build() {
            Ok(built) => built,
            Err(source) => return Err(AddSinkError::Build { name, source }),
        };
        let needs = needs.unwrap_or_else(|| contain(|| sink.needs()).unwrap_or_default());
        let mut lanes = lock(&self.owner.lanes);
        if taken(&lanes) {
            return Err(AddSinkError::Exists(name));
        }
        let shared = &self.owner.shared;
        if shared.is_closed() {
            return Err(AddSinkError::Closed(name));
        }
        let (moment, ring) = shared.join_bare();
        let mailbox = Mailbox::new(limits, moment.upto);
        let durable = outbox.is_some();
        let state = Arc::new(LaneState::new(
            name,
            filter,
            detail.and(needs.detail),
            needs.deltas,
            durable,
            mailbox,
        ));
        let mut tasks = Vec::with_capacity(2);
        if !durable {
            let crowd = limits.items / 2;
            tasks.push(tokio::spawn(pump::run(Arc::clone(&state), ring, moment.ordinal, crowd)));
        }
        let lane = Lane {
            supply: Supply::new(Arc::clone(shared), Arc::clone(&state), outbox, &retry),
            shared: Arc::clone(shared),
            state: Arc::clone(&state),
            sink: Some(sink),
            rebuild,
            needs,
            retry,
            rebuilds: 0,
            not_before: None,
        };
        tasks.push(tokio::spawn(lane.run()));
        lanes.push(LaneHandle { state, tasks });
        Ok(())
    }

    /// Takes a sink away: it may finish what it has until `within` is over. False if there is none of that
    /// name. Afterwards the name is free again, also for a sink that was quarantined.
    pub async fn remove_sink(&self, name: &SinkName, within: Duration) -> bool {
        let Some(handle) = self.take_lane(name) else { return false };
        let LaneHandle { state, tasks } = handle;
        state.drain(Instant::now() + within);
        if !state.durable
            && let Some(pump) = tasks.first()
        {
            pump.abort();
            state.mailbox().close();
            state.wake();
        }
        drain::join(tasks, Instant::now() + within, &CancellationToken::new()).await;
        true
    }

    fn take_lane(&self, name: &SinkName) -> Option<LaneHandle> {
        let mut lanes = lock(&self.owner.lanes);
        let place = lanes.iter().position(|lane| lane.state.name == *name)?;
        Some(lanes.remove(place))
    }

    /// Counters of the bus, its feeds and its lanes.
    pub fn stats(&self) -> BusStats {
        let shared = &self.owner.shared;
        // Lanes first: a lane never counts more than was published when the bus is looked at.
        let head = shared.lock().head();
        let lanes: Vec<_> =
            lock(&self.owner.lanes).iter().map(|lane| Arc::clone(&lane.state)).collect();
        let lanes = lanes.iter().map(|lane| lane.stats(shared, head)).collect();
        let feeds = lock(&self.owner.feeds).values().map(|feed| feed.stats()).collect();
        let order = shared.lock();
        BusStats {
            published: order.published(),
            head: order.head(),
            kinds: order.kinds.list(),
            ring_len: shared.ring_len(),
            uncommitted: shared.backlog.len(),
            publish_times: order.latency.list(),
            feeds,
            lanes,
        }
    }

    /// Goes down in order; see [`Drain`]. A [`Duration`] alone closes the bus and lets the lanes finish.
    pub async fn drain(&self, drain: impl Into<Drain>) -> DrainReport {
        drain::run(self, drain.into()).await
    }

    /// Refuses what is published from now on. Lanes go on with what there is and then end; [`Bus::drain`]
    /// waits for them.
    pub fn close(&self) {
        self.owner.shared.close();
    }

    /// Lets every lane finish; gives those that did not in time, which are stopped.
    pub(super) async fn finish_lanes(
        &self,
        end: Instant,
        skip: &CancellationToken,
    ) -> Vec<Unfinished> {
        let lanes: Vec<_> = lock(&self.owner.lanes)
            .iter_mut()
            .map(|lane| (Arc::clone(&lane.state), std::mem::take(&mut lane.tasks)))
            .collect();
        for (state, _) in &lanes {
            state.drain(end);
        }
        let mut unfinished = Vec::new();
        for (state, tasks) in lanes {
            let done = drain::join(tasks, end, skip).await;
            let stats = state.stats(&self.owner.shared, self.owner.shared.lock().head());
            if !done {
                let (pending, age) = (stats.queued, stats.oldest);
                unfinished.push(Unfinished { sink: state.name.clone(), pending, age });
            }
        }
        unfinished
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.shared.close();
        for lane in self.lanes.get_mut().unwrap_or_else(PoisonError::into_inner) {
            lane.tasks.iter().for_each(JoinHandle::abort);
        }
    }
}

impl fmt::Debug for Bus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lanes = lock(&self.owner.lanes);
        let names: Vec<_> = lanes.iter().map(|lane| &lane.state.name).collect();
        formatter.debug_struct("Bus").field("sinks", &names).finish_non_exhaustive()
    }
}
