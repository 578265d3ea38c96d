//! What the bus costs: publishing beside dead sinks, and carrying events into live ones.
//!
//! `cargo bench -p linelamp-core --bench bus`. Latencies and throughput are printed first, then divan
//! compares one publish with one send on the bare ring, which is what the rest is a multiple of.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measures")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use linelamp_core::bus::{Bus, Publisher, Rate, SinkSetup};
use linelamp_core::detail::Detail;
use linelamp_core::event::{
    BlockKind, Body, Content, MessageDelta, ToolEnded, ToolOutcome, ToolStarted,
};
use linelamp_core::id::{CallId, EventId};
use linelamp_core::sink::{BoxFuture, DeliverError, Sink, SinkNeeds};
use linelamp_core::{Draft, Event, SessionKey, Timestamp, Trust};

fn main() {
    let test = std::env::args().any(|argument| argument == "--test" || argument == "--list");
    if !test {
        beside_dead_sinks("flat out", None);
        beside_dead_sinks("50,000 a second", Some(Duration::from_micros(20)));
        into_live_sinks("pieces and tools", 0.9);
        into_live_sinks("essential events only", 0.0);
    }
    divan::main();
}

/// A sink that takes everything, or never answers.
struct Plain {
    dead: bool,
    taken: u64,
}

impl Sink for Plain {
    fn deliver<'a>(
        &'a mut self,
        batch: &'a [Arc<Event>],
    ) -> BoxFuture<'a, Result<(), DeliverError>> {
        if self.dead {
            return Box::pin(std::future::pending());
        }
        self.taken += black_box(batch).len() as u64;
        Box::pin(std::future::ready(Ok(())))
    }

    fn needs(&self) -> SinkNeeds {
        SinkNeeds { deltas: true, detail: Detail::Content, max_batch: 256, ..SinkNeeds::default() }
    }
}

fn bus(sinks: usize, dead: bool) -> Bus {
    let rate = Rate { per_second: 1e12, burst: 1e12 };
    let bus = Bus::builder().feed_rate(rate).build();
    for number in 0..sinks {
        let setup = SinkSetup::new(format!("sink-{number}"), Plain { dead, taken: 0 });
        bus.add_sink(setup.detail(Detail::Content)).expect("added");
    }
    bus
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .expect("a runtime")
}

/// Makes drafts as a busy machine does: many sessions, pieces of messages, tool calls.
struct Drafts {
    sessions: Vec<SessionKey>,
    calls: Vec<CallId>,
    pieces: f64,
    number: u64,
    offsets: Vec<u64>,
}

const PIECE: &str = "a few words, as a model writes them ";

impl Drafts {
    fn new(pieces: f64) -> Self {
        let sessions = (0..100).map(|n| SessionKey::new("agent", format!("session-{n}")));
        let calls = (0..100).map(|n| CallId::new(format!("call-{n}")));
        Self {
            sessions: sessions.collect(),
            calls: calls.collect(),
            pieces,
            number: 0,
            offsets: vec![0; 100],
        }
    }

    fn next(&mut self) -> Draft {
        let number = self.number;
        self.number += 1;
        let place = usize::try_from(number % 100).expect("under 100");
        let round = number / 100;
        let body: Body =
            if f64::from(u32::try_from(round % 100).expect("small")) < self.pieces * 100.0 {
                let offset = self.offsets[place];
                self.offsets[place] += PIECE.len() as u64;
                MessageDelta {
                    message: "message".into(),
                    block: 0,
                    block_kind: BlockKind::Text,
                    offset,
                    text: Content::text(PIECE),
                }
                .into()
            } else if round.is_multiple_of(2) {
                let call = CallId::new(format!("call-{round}"));
                self.calls[place] = call.clone();
                ToolStarted { call, tool: "Bash".into(), input: None, server: None }.into()
            } else {
                ToolEnded {
                    call: self.calls[place].clone(),
                    tool: None,
                    outcome: ToolOutcome::Ok,
                    exit_code: None,
                    output: Vec::new(),
                    structured: None,
                    decision: None,
                    decided_by: None,
                    raw: None,
                    duration_ms: None,
                }
                .into()
            };
        let at = Timestamp::now();
        let mut draft = Draft::new(self.sessions[place].clone(), at, body);
        // As feeds do, from the place it was read at.
        draft.id = Some(EventId::derive(at, b"bench", u32::try_from(number).expect("small")));
        draft
    }
}

fn publisher(bus: &Bus) -> Publisher {
    bus.publisher("bench", Trust::Authoritative)
}

/// Prints how long one publish takes while eight sinks never answer.
fn beside_dead_sinks(name: &str, pace: Option<Duration>) {
    const COUNT: usize = 200_000;
    let runtime = runtime();
    let guard = runtime.enter();
    let bus = bus(8, true);
    let publisher = publisher(&bus);
    let mut drafts = Drafts::new(0.9);
    let mut times = Vec::with_capacity(COUNT);
    let begin = Instant::now();
    for number in 0..u32::try_from(COUNT).expect("small") {
        if let Some(pace) = pace {
            while begin.elapsed() < pace * number {
                std::hint::spin_loop();
            }
        }
        let draft = drafts.next();
        let start = Instant::now();
        publisher.publish(draft).expect("published");
        times.push(start.elapsed());
    }
    times.sort_unstable();
    let at = |per_mille: usize| times[(COUNT * per_mille / 1_000).min(COUNT - 1)];
    println!(
        "publish, 8 dead sinks, {name}: p50 {:?}  p99 {:?}  p99.9 {:?}  max {:?}",
        at(500),
        at(990),
        at(999),
        at(1_000)
    );
    drop(bus);
    drop(guard);
    runtime.shutdown_background();
}

/// Prints how many events a second four sinks take that read everything.
fn into_live_sinks(name: &str, pieces: f64) {
    const COUNT: u64 = 1_000_000;
    let runtime = runtime();
    let guard = runtime.enter();
    let bus = bus(4, false);
    let publisher = publisher(&bus);
    let mut source = Drafts::new(pieces);
    let drafts: Vec<Draft> = (0..COUNT).map(|_| source.next()).collect();
    let begin = (Instant::now(), processor_time());
    for (number, draft) in drafts.into_iter().enumerate() {
        publisher.publish(draft).expect("published");
        // No further ahead than the ring holds; a feed would ask `ready` instead.
        if number.is_multiple_of(256) {
            while bus.stats().ring_len > 2_048 {
                std::thread::yield_now();
            }
        }
    }
    let accounted = |bus: &Bus| {
        let stats = bus.stats();
        let quiet = |lane: &linelamp_core::bus::LaneStats| {
            lane.offered == stats.published && lane.queued == 0
        };
        stats.lanes.iter().all(quiet)
    };
    while !accounted(&bus) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let (took, busy) = (begin.0.elapsed(), processor_time().saturating_sub(begin.1));
    let stats = bus.stats();
    let count = f64::from(u32::try_from(stats.published).expect("some millions"));
    let each = |time: Duration| time.as_secs_f64() * 1e6 / count;
    println!(
        "into four live sinks, {name}: {:.2} M events/s; {:.2} µs of processor time each",
        1.0 / each(took),
        each(busy)
    );
    for lane in &stats.lanes {
        println!(
            "  {}: delivered {}  merged {}  superseded {}  shed {}  dropped {}  gaps {}",
            lane.sink,
            lane.delivered,
            lane.merged,
            lane.superseded,
            lane.shed,
            lane.dropped.total(),
            lane.gaps
        );
    }
    drop(bus);
    drop(guard);
    runtime.shutdown_background();
}

/// What this process has used of all processors; nothing where the system does not say. On a machine with
/// other work to do this tells more than the time that passed.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the program's name, which may hold anything: user and system time are the 12th and 13th.
    let after = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = after
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Duration::from_millis(ticks * 10)
}

/// The yardstick: one send on a bare ring that nobody reads too slowly.
#[divan::bench]
fn one_bare_send(bencher: divan::Bencher<'_, '_>) {
    let (mut sender, mut receiver) = async_broadcast::broadcast(4_096);
    sender.set_overflow(true);
    bencher.with_inputs(|| Arc::new(Drafts::new(0.0).next())).bench_local_values(|draft| {
        let sent = sender.try_broadcast(draft);
        let read = receiver.try_recv();
        black_box((sent.is_ok(), read.is_ok()))
    });
}

/// One publish of a piece of a message, without sinks.
#[divan::bench]
fn one_publish_of_a_piece(bencher: divan::Bencher<'_, '_>) {
    let bus = bus(0, false);
    let publisher = publisher(&bus);
    let mut drafts = Drafts::new(1.0);
    bencher.with_inputs(|| drafts.next()).bench_local_values(|draft| publisher.publish(draft));
}

/// One publish of an essential event, without sinks.
#[divan::bench]
fn one_publish_of_a_tool_call(bencher: divan::Bencher<'_, '_>) {
    let bus = bus(0, false);
    let publisher = publisher(&bus);
    let mut drafts = Drafts::new(0.0);
    bencher.with_inputs(|| drafts.next()).bench_local_values(|draft| publisher.publish(draft));
}
