//! Plays a recording through decoders and a bus of its own.

use std::collections::{BTreeMap, HashMap};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use linelamp_core::bus::{Bus, Publisher, Subscription, Update};
use linelamp_core::digest::Digester;
use linelamp_core::driver::{Decoder, DecoderOptions, Driver, Raw, Reading, Source};
use linelamp_core::process::ProcessRef;
use linelamp_core::state::SessionState;
use linelamp_core::{Body, Draft, Event, EventId, Timestamp};

use super::feeds::{FeedSet, RecordedFeed};
use super::files::Files;
use super::recording::{Recording, Signal};
use super::report::{ReplayStats, StateChange};

/// When every recording begins: a fixed moment, so that the same recording gives the same events.
pub const EPOCH: Timestamp = Timestamp::constant(1_767_225_600, 0);

/// Time passes for the resolver once in so many milliseconds of the recording.
pub const TICK_MS: u64 = 250;

/// How a recording is replayed.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    /// The feeds that are played; what the recording does not hold is silent.
    pub feeds: FeedSet,
    /// How much decoders read.
    pub reading: Reading,
    /// The name of the machine in the events.
    pub host: Arc<str>,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        Self { feeds: FeedSet::all(), reading: Reading::State, host: Arc::from("recording") }
    }
}

/// How fast a recording is replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Speed {
    /// As fast as it goes.
    #[default]
    Full,
    /// So many times as fast as it was.
    Times(f64),
}

impl Speed {
    /// As fast as it was.
    pub const REAL: Self = Self::Times(1.0);

    /// How long after `since_ms` of the recording `ms` is due. A factor that is no positive number is 1.
    fn due(self, since_ms: u64, ms: u64) -> Duration {
        let real = Duration::from_millis(ms.saturating_sub(since_ms));
        match self {
            Self::Full => Duration::ZERO,
            Self::Times(factor) if factor.is_finite() && factor > 0.0 => {
                Duration::try_from_secs_f64(real.as_secs_f64() / factor).unwrap_or(real)
            }
            Self::Times(_) => real,
        }
    }
}

/// A recording being replayed, on a bus of its own whose clock is the recording's.
///
/// [`advance`](Self::advance) is one moment: one step of the recording, or one tick. At the same
/// millisecond ticks come before steps.
#[derive(Debug)]
pub struct Replay {
    recording: Recording,
    driver: Arc<dyn Driver>,
    options: ReplayOptions,
    bus: Bus,
    events: Subscription,
    publishers: [Publisher; 4],
    now: Arc<AtomicU64>,
    streams: BTreeMap<u32, Box<dyn Decoder>>,
    hooks: Option<Box<dyn Decoder>>,
    files: Files,
    next: usize,
    next_tick: u64,
    is_over: bool,
    drafts: Vec<Draft>,
    numbered: u64,
    evidence: HashMap<EventId, String>,
    stats: ReplayStats,
}

impl Replay {
    /// Begins at the start of `recording`, decoding with `driver`.
    pub fn new(recording: Recording, driver: Arc<dyn Driver>, options: ReplayOptions) -> Self {
        let now = Arc::new(AtomicU64::new(0));
        let clock = Arc::clone(&now);
        let bus = Bus::builder()
            .clock(Arc::new(move || time(clock.load(Ordering::Relaxed))))
            .host(Arc::clone(&options.host))
            .build();
        let publishers = RecordedFeed::ALL.map(|feed| bus.publisher(feed.as_str(), feed.trust()));
        let files = Files::new(&recording, Arc::clone(&driver), options.reading);
        Self {
            recording,
            driver,
            options,
            events: bus.subscribe(),
            bus,
            publishers,
            now,
            streams: BTreeMap::new(),
            hooks: None,
            files,
            next: 0,
            next_tick: TICK_MS,
            is_over: false,
            drafts: Vec::new(),
            numbered: 0,
            evidence: HashMap::new(),
            stats: ReplayStats::default(),
        }
    }

    /// When the next moment is, in milliseconds of the recording; none at the end.
    pub fn next_ms(&self) -> Option<u64> {
        if self.is_over {
            return None;
        }
        let step = self.recording.ms(self.next).unwrap_or(self.recording.end_ms());
        Some(step.min(self.next_tick))
    }

    /// Lets the next moment happen; the events it makes are appended to `out`. False at the end.
    pub fn advance(&mut self, out: &mut Vec<Arc<Event>>) -> bool {
        let Some(ms) = self.next_ms() else { return false };
        self.now.store(ms, Ordering::Relaxed);
        if ms == self.next_tick {
            self.next_tick += TICK_MS;
            self.bus.tick(time(ms));
        } else if self.next < self.recording.len() {
            self.next += 1;
            self.step(self.next - 1);
        } else {
            self.finish(ms);
        }
        let before = out.len();
        while let Some(update) = self.take() {
            // A moment makes far fewer events than the ring holds, so nothing is ever missed.
            if let Update::Event(event) = update {
                out.push(event);
            }
        }
        self.stats.events += (out.len() - before) as u64;
        true
    }

    /// Plays to the end at full speed.
    pub fn run(&mut self, mut each: impl FnMut(&Self, &Arc<Event>)) {
        let mut events = Vec::new();
        while self.advance(&mut events) {
            for event in events.drain(..) {
                each(self, &event);
            }
        }
    }

    /// Plays to the end at the given speed. May be dropped at any time and goes on where it was.
    pub async fn play(&mut self, speed: Speed, mut each: impl FnMut(&Self, &Arc<Event>)) {
        if speed == Speed::Full {
            return self.run(each);
        }
        let Some(first) = self.next_ms() else { return };
        let start = tokio::time::Instant::now();
        let mut events = Vec::new();
        while let Some(ms) = self.next_ms() {
            tokio::time::sleep_until(start + speed.due(first, ms)).await;
            self.advance(&mut events);
            for event in events.drain(..) {
                each(self, &event);
            }
        }
    }

    /// The change that `event` tells of, if it is one of a session's state.
    pub fn state_change(&self, event: &Event) -> Option<StateChange> {
        let Body::StatusChanged(change) = &event.body else { return None };
        Some(StateChange {
            ms: milliseconds(event.observed_at),
            agent: event.session.agent.clone(),
            session: event.session.id.clone(),
            from: change.from,
            state: change.to,
            waiting_for: change.waiting_for,
            outcome: change.outcome,
            background: change.background,
            because: change
                .because
                .iter()
                .map(|id| self.evidence.get(id).cloned().unwrap_or_else(|| id.to_string()))
                .collect(),
        })
    }

    /// What became of the lines so far.
    pub fn stats(&self) -> ReplayStats {
        self.stats
    }

    /// The state of every session at this moment.
    pub fn sessions(&self) -> Vec<SessionState> {
        self.bus.snapshot()
    }

    /// The bus it is played on, for sinks that shall hear it.
    pub fn bus(&self) -> &Bus {
        &self.bus
    }

    /// The recording.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// An event that is there already.
    fn take(&mut self) -> Option<Update> {
        match pin!(self.events.recv()).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(update) => update,
            Poll::Pending => None,
        }
    }

    fn step(&mut self, index: usize) {
        let Some(step) = self.recording.step(index) else { return };
        if !self.options.feeds.contains(step.feed) {
            return;
        }
        let at = time(step.ms);
        let (ms, feed, context) = (step.ms, step.feed, step.context);
        let drafts = &mut self.drafts;
        match step.signal {
            Signal::Start { process, arguments, reference } => {
                if let Some(mut earlier) = self.streams.remove(&process) {
                    earlier.end(at, drafts);
                }
                let reference = reference.unwrap_or_else(|| made_up(process, ms));
                let options = options(&self.options, Some(reference), arguments.to_vec());
                self.streams.extend(
                    self.driver.decoder(Source::Stream, options).map(|decoder| (process, decoder)),
                );
            }
            Signal::Line { process, direction, bytes } => {
                let decoder = match self.streams.entry(process) {
                    std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
                    std::collections::btree_map::Entry::Vacant(entry) => {
                        let reference = made_up(process, ms);
                        let options = options(&self.options, Some(reference), Vec::new());
                        let Some(decoder) = self.driver.decoder(Source::Stream, options) else {
                            return;
                        };
                        entry.insert(decoder)
                    }
                };
                self.stats.count(decoder.push(Raw::Line { direction, bytes }, at, drafts));
            }
            Signal::Hook { payload } => {
                if self.hooks.is_none() {
                    let options = options(&self.options, None, Vec::new());
                    self.hooks = self.driver.decoder(Source::Hook, options);
                }
                let Some(decoder) = &mut self.hooks else { return };
                self.stats.count(decoder.push(
                    Raw::Hook { payload, context: &context },
                    at,
                    drafts,
                ));
            }
            signal @ (Signal::Record { .. } | Signal::Report { .. }) => {
                if let Some(decoded) = self.files.push(&signal, EPOCH, ms, drafts) {
                    self.stats.count(decoded);
                }
            }
            Signal::Exit { process, exit } => {
                if let Some(mut decoder) = self.streams.remove(&process) {
                    decoder.push(Raw::Exit(exit), at, drafts);
                    decoder.end(at, drafts);
                }
            }
        }
        self.publish(feed, ms);
    }

    /// What decoders still hold back comes out at the recording's end.
    fn finish(&mut self, ms: u64) {
        self.is_over = true;
        for mut decoder in std::mem::take(&mut self.streams).into_values() {
            decoder.end(time(ms), &mut self.drafts);
        }
        self.publish(RecordedFeed::Stream, ms);
        if let Some(mut decoder) = self.hooks.take() {
            decoder.end(time(ms), &mut self.drafts);
        }
        self.publish(RecordedFeed::Hooks, ms);
    }

    fn publish(&mut self, feed: RecordedFeed, ms: u64) {
        let mut drafts = std::mem::take(&mut self.drafts);
        for draft in &mut drafts {
            self.numbered += 1;
            let id = EventId::derive(time(ms), &self.numbered.to_be_bytes(), 0);
            draft.id = Some(id);
            self.evidence.insert(id, format!("{feed}:{}@{ms}", draft.body.kind()));
        }
        let publisher = &self.publishers[feed as usize];
        // Only somebody who closed our bus can make this fail; then nothing is heard any more.
        publisher.publish_all(None, drafts, None).ok();
    }
}

fn options(
    options: &ReplayOptions,
    process: Option<ProcessRef>,
    arguments: Vec<String>,
) -> DecoderOptions {
    // The digests of a replay meet only each other: a key that anybody knows hides nothing there.
    let digester = Digester::new(&[0; 32]);
    DecoderOptions { process, arguments, ..DecoderOptions::new(options.reading, digester) }
}

/// Tells a process from the others where a recording has no pids.
pub(super) fn made_up(process: u32, ms: u64) -> ProcessRef {
    ProcessRef { pid: process, start: Some(ms) }
}

fn time(ms: u64) -> Timestamp {
    let ms = i64::try_from(ms).expect("a recording's clock is bounded when it is read");
    Timestamp::from_millisecond(EPOCH.as_millisecond() + ms)
        .expect("a recording's clock is bounded when it is read")
}

fn milliseconds(time: Timestamp) -> u64 {
    u64::try_from(time.as_millisecond() - EPOCH.as_millisecond()).unwrap_or(0)
}
