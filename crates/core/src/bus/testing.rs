//! Helpers for tests of the bus: events, an engine that makes one event of each draft, and sinks that
//! follow a script.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;

use super::clock::Clock;
use super::engine::Engine;
use super::{Builder, Bus, Rate, SinkSetup};
use crate::draft::Draft;
use crate::event::*;
use crate::id::{EventId, Seq, SessionKey};
use crate::sink::{BoxFuture, DeliverError, Sink, SinkFactory, SinkNeeds};
use crate::state::{Answer, Explanation, SessionRecord, SessionState};

pub(super) fn start() -> Timestamp {
    "2026-11-30T09:00:00Z".parse().expect("a timestamp")
}

pub(super) fn session(id: &str) -> SessionKey {
    SessionKey::new("test", id)
}

pub(super) fn event(seq: u64, id: &str, body: impl Into<Body>) -> Event {
    Event {
        id: EventId::derive(start(), &seq.to_be_bytes(), 0),
        seq: Seq(seq),
        session: session(id),
        session_seq: seq,
        at: start(),
        observed_at: start(),
        origin: Origin {
            feed: "feed".into(),
            trust: Trust::Reported,
            pid: None,
            host: Arc::from("host"),
        },
        scope: Scope::Main,
        body: body.into(),
    }
}

pub(super) fn status_body(to: Status) -> Body {
    StatusChanged {
        from: None,
        to,
        waiting_for: None,
        background: 0,
        activity: None,
        outcome: None,
        error: None,
        because: Vec::new(),
    }
    .into()
}

pub(super) fn status(seq: u64, id: &str, to: Status) -> Event {
    event(seq, id, status_body(to))
}

pub(super) fn ended(seq: u64, id: &str) -> Event {
    let body = SessionEnded {
        reason: EndReason::Exit,
        exit_code: Some(0),
        signal: None,
        process: None,
        error: None,
    };
    event(seq, id, body)
}

/// An essential event without content.
pub(super) fn essential_body(turn: &str) -> Body {
    TurnStarted { turn: turn.into(), origin: TurnOrigin::Human, synthetic: false }.into()
}

pub(super) fn delta_body(message: &str, offset: u64, text: &str) -> Body {
    MessageDelta {
        message: message.into(),
        block: 0,
        block_kind: BlockKind::Text,
        offset,
        text: Content::text(text),
    }
    .into()
}

pub(super) fn usage_body(tokens: u64) -> Body {
    UsageUpdated {
        message: None,
        usage: None,
        cost_total_usd: None,
        context_tokens: Some(tokens),
        context_limit: None,
    }
    .into()
}

pub(super) fn notice_body(code: &str) -> Body {
    Notice { level: NoticeLevel::Info, code: code.to_owned(), count: None, text: None }.into()
}

pub(super) fn completed_body(text: &str) -> Body {
    MessageCompleted {
        message: "m".into(),
        block: 0,
        block_kind: BlockKind::Text,
        role: Role::Assistant,
        text: Content::text(text),
        aborted: false,
        synthetic: false,
        media_type: None,
    }
    .into()
}

pub(super) fn kind_of(event: &Event) -> &str {
    event.body.kind()
}

pub(super) fn draft(id: &str, body: impl Into<Body>) -> Draft {
    Draft::new(session(id), start(), body)
}

pub(super) fn state(id: &str, status: Status) -> SessionState {
    serde_json::from_value(json!({
        "session": {"agent": "test", "id": id}, "status": status, "since": start(),
        "last_seen": start(), "background": 0, "source": "startup", "host": "host",
    }))
    .expect("the required fields of a state")
}

/// Makes one event of each draft. A notice `seen` only confirms, a notice `panic` panics, a turn named
/// after a status sets it.
#[derive(Debug)]
pub(super) struct Echo {
    next: u64,
    sessions: BTreeMap<SessionKey, (u64, SessionState)>,
}

impl Default for Echo {
    fn default() -> Self {
        Self { next: 1, sessions: BTreeMap::new() }
    }
}

impl Engine for Echo {
    fn accept(
        &mut self,
        draft: Draft,
        origin: &Origin,
        observed_at: Timestamp,
        out: &mut Vec<Event>,
    ) -> Answer {
        let seq = Seq(self.next);
        if let Body::Notice(notice) = &draft.body {
            assert_ne!(notice.code, "panic", "as asked");
            if notice.code == "seen" {
                return Answer::Confirms(Seq(1));
            }
        }
        self.next += 1;
        let id = draft.session.id.as_str();
        let (count, state) = self
            .sessions
            .entry(draft.session.clone())
            .or_insert_with(|| (0, state(id, Status::Starting)));
        *count += 1;
        match &draft.body {
            Body::TurnStarted(turn) => state.status = Status::from_word(turn.turn.as_str()),
            Body::SessionEnded(_) => state.status = Status::Ended,
            _ => {}
        }
        out.push(Event {
            id: draft.id.unwrap_or_else(|| EventId::random(draft.at)),
            seq,
            session: draft.session,
            session_seq: *count,
            at: draft.at,
            observed_at,
            origin: origin.clone(),
            scope: draft.scope,
            body: draft.body,
        });
        Answer::New(seq)
    }

    fn tick(&mut self, now: Timestamp, out: &mut Vec<Event>) {
        for (key, (count, _)) in &mut self.sessions {
            *count += 1;
            let mut event = status(self.next, key.id.as_str(), Status::Stale);
            event.observed_at = now;
            self.next += 1;
            out.push(event);
        }
    }

    fn feed_closed(
        &mut self,
        session: &SessionKey,
        at: Timestamp,
        _: &Origin,
        out: &mut Vec<Event>,
    ) {
        let mut event = status(self.next, session.id.as_str(), Status::Stale);
        event.observed_at = at;
        self.next += 1;
        out.push(event);
    }

    fn explain(&self, _: &SessionKey, _: Timestamp) -> Option<Explanation> {
        None
    }

    fn snapshot(&self) -> Vec<SessionState> {
        self.sessions.values().map(|(_, state)| state.clone()).collect()
    }

    fn record(&self, _: &SessionKey) -> Option<Arc<SessionRecord>> {
        None
    }
}

/// A clock that stands still until it is set.
#[derive(Debug)]
pub(super) struct StillClock(Mutex<Timestamp>);

impl StillClock {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(start())))
    }

    pub(super) fn advance(&self, by: Duration) {
        *self.0.lock().expect("clock") += by;
    }
}

impl Clock for StillClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().expect("clock")
    }
}

/// A bus whose engine echoes and whose feeds have no limit.
pub(super) fn bus() -> Bus {
    builder().build()
}

pub(super) fn builder() -> Builder {
    Bus::builder()
        .engine(Box::new(Echo::default()))
        .feed_rate(Rate { per_second: 1e12, burst: 1e12 })
        .host("host")
}

/// What a sink got.
#[derive(Clone, Debug, Default)]
pub(super) struct Got(Arc<Mutex<Vec<Arc<Event>>>>);

impl Got {
    pub(super) fn events(&self) -> Vec<Arc<Event>> {
        self.0.lock().expect("events").clone()
    }

    pub(super) fn kinds(&self) -> Vec<String> {
        self.events().iter().map(|event| event.body.kind().to_owned()).collect()
    }

    pub(super) fn seqs(&self) -> Vec<u64> {
        self.events().iter().map(|event| event.seq.0).collect()
    }

    pub(super) fn count(&self) -> usize {
        self.0.lock().expect("events").len()
    }

    pub(super) fn take(&self, events: &[Arc<Event>]) {
        self.0.lock().expect("events").extend(events.iter().cloned());
    }
}

type Answering = Box<
    dyn FnMut(usize, &[Arc<Event>], &Got) -> BoxFuture<'static, Result<(), DeliverError>> + Send,
>;

/// A sink that answers as a script says; the script gets the number of the call, from 0.
pub(super) struct Scripted {
    calls: usize,
    got: Got,
    script: Answering,
}

impl Sink for Scripted {
    fn deliver<'a>(
        &'a mut self,
        batch: &'a [Arc<Event>],
    ) -> BoxFuture<'a, Result<(), DeliverError>> {
        let call = self.calls;
        self.calls += 1;
        (self.script)(call, batch, &self.got)
    }
}

pub(super) fn scripted(
    got: &Got,
    script: impl FnMut(usize, &[Arc<Event>], &Got) -> BoxFuture<'static, Result<(), DeliverError>>
    + Send
    + 'static,
) -> Scripted {
    Scripted { calls: 0, got: got.clone(), script: Box::new(script) }
}

/// A sink that takes everything.
pub(super) fn willing(got: &Got) -> Scripted {
    scripted(got, |_, batch, got| {
        got.take(batch);
        done()
    })
}

/// A sink that never answers.
pub(super) fn dead() -> Scripted {
    scripted(&Got::default(), |_, _, _| Box::pin(std::future::pending()))
}

pub(super) fn done() -> BoxFuture<'static, Result<(), DeliverError>> {
    answer(Ok(()))
}

pub(super) fn answer(
    result: Result<(), DeliverError>,
) -> BoxFuture<'static, Result<(), DeliverError>> {
    Box::pin(std::future::ready(result))
}

pub(super) fn retry(taken: usize) -> DeliverError {
    DeliverError::Retry { taken, after: None, source: "try again".into() }
}

/// What a sink in these tests asks for: everything, one batch at once.
pub(super) fn greedy() -> SinkNeeds {
    SinkNeeds {
        deltas: true,
        detail: crate::detail::Detail::Content,
        max_batch: 64,
        linger: Duration::ZERO,
        deliver_limit: Duration::from_secs(10),
    }
}

pub(super) fn setup(name: &str, sink: Scripted) -> SinkSetup {
    SinkSetup::new(name, sink).needs(greedy()).detail(crate::detail::Detail::Content)
}

impl<F: Fn(usize) -> Scripted + Send + Sync> SinkFactory for CountingFactory<F> {
    fn kind(&self) -> &'static str {
        "scripted"
    }

    fn build(&self, _: &serde_json::Value) -> Result<Box<dyn Sink>, crate::sink::BuildError> {
        let mut built = self.built.lock().expect("count");
        *built += 1;
        Ok(Box::new((self.make)(*built - 1)))
    }
}

/// Counts what it builds.
pub(super) struct CountingFactory<F> {
    pub(super) built: Mutex<usize>,
    pub(super) make: F,
}

pub(super) fn factory<F: Fn(usize) -> Scripted + Send + Sync>(make: F) -> Arc<CountingFactory<F>> {
    Arc::new(CountingFactory { built: Mutex::new(0), make })
}

/// The text of each message as its pieces say, and whether each piece begins where the last one ended.
pub(super) fn texts<'a>(
    events: impl IntoIterator<Item = &'a Arc<Event>>,
) -> HashMap<String, String> {
    let mut texts: HashMap<String, String> = HashMap::new();
    for event in events {
        if let Body::MessageDelta(delta) = &event.body {
            let text = texts.entry(format!("{}/{}", event.session, delta.message)).or_default();
            assert_eq!(text.len() as u64, delta.offset, "a piece is missing or out of place");
            text.push_str(delta.text.value.as_deref().expect("content"));
        }
    }
    texts
}

/// Waits, in paused time, until something is so.
pub(super) async fn eventually(what: &str, so: impl Fn() -> bool) {
    for _ in 0..100_000 {
        if so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}

/// The counters of one lane, after checking that every offered event has exactly one fate.
pub(super) fn lane(bus: &Bus, name: &str) -> super::LaneStats {
    let stats = bus.stats();
    let lane = stats.lanes.into_iter().find(|lane| lane.sink.as_str() == name).expect("the lane");
    assert_eq!(lane.accounted(), lane.offered, "{lane:#?}");
    lane
}

/// Waits until a lane has looked at `offered` events and nothing waits any more.
pub(super) async fn quiet(bus: &Bus, name: &str, offered: u64) {
    eventually("the lane is quiet", || {
        let lane = lane(bus, name);
        lane.offered >= offered && lane.queued == 0
    })
    .await;
}
