//! Puts the daemon together, runs it until it is told to end, and takes it down in order.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use linelamp_core::bus::{Bus, Drain, FeedSet, Rate};
use linelamp_core::driver::Reading;
use linelamp_core::event::Trust;
use linelamp_core::state::Resolver;
use linelamp_core::{Timestamp, detail::Detail};
use linelamp_feeds::ingest::{
    Intake, Ledger, Pokes, SpoolFeed, SpoolHandle, SpoolOptions, WrapperFeed, WrapperOptions,
};
use linelamp_feeds::liveness::{LivenessFeed, LivenessOptions};
use linelamp_sinks::store::Store;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::control::{self, Control};
use super::follow::{Common, Following};
use super::ledger::StoreLedger;
use super::lock::Lock;
use super::logging;
use super::sinks::Sinks;
use super::sockets::Sockets;
use crate::agents;
use crate::config::Config;
use crate::paths::Paths;

/// Time passes for the resolver in steps of this length.
const TICK: Duration = Duration::from_millis(250);

/// Our own clients are held back by the store, not by a rate: a backlog of a night is taken in as fast as it can
/// be written.
const OUR_CLIENTS: Rate = Rate { per_second: 100_000.0, burst: 100_000.0 };

/// Runs the daemon until SIGTERM, SIGINT or a `stop` command.
///
/// # Errors
///
/// If it cannot start; what fails later is logged and survived.
pub(crate) fn run(paths: &Paths, config: &Config) -> Result<()> {
    paths.create()?;
    let _lock = Lock::take(&paths.state)?;
    logging::start(&paths.log(), &config.daemon)?;
    for warning in config.without_effect() {
        tracing::warn!("configuration: {warning}");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let ended = runtime.block_on(serve(paths, config));
    // Blocking work that hangs (a dead disk) must not keep the process.
    runtime.shutdown_timeout(Duration::from_secs(1));
    ended
}

async fn serve(paths: &Paths, config: &Config) -> Result<()> {
    // From here on a signal ends the daemon in order.
    let mut signals = Signals::new()?;
    let sinks = Sinks::plan(config)?;
    let (store, resolver, next_seq) = if let Some(options) = sinks.store() {
        let (store, restored) = Store::open(&paths.database(), options)?;
        let next_seq = restored.next_seq;
        (Some(Arc::new(store)), Resolver::restore(next_seq, restored.sessions), next_seq)
    } else {
        let first = linelamp_core::Seq(1);
        (None, Resolver::restore(first, []), first)
    };
    let mut builder =
        Bus::builder().host(host()).restore(resolver, next_seq).feed_rate(OUR_CLIENTS);
    if let Some(store) = &store {
        builder = builder.journal(Arc::clone(store) as _);
    }
    let bus = builder.build();
    sinks.add(&bus, store.as_ref())?;
    let sockets = Sockets::bind(paths, is_on(config, "wrap"))?;
    let ledger =
        store.as_ref().map(|store| Arc::new(StoreLedger(Arc::clone(store))) as Arc<dyn Ledger>);
    let intake = Intake::new(ledger.clone());
    let reading = if sinks.detail() == Detail::Content { Reading::Full } else { Reading::State };
    let common = Common { reading, digester: agents::digester(&paths.state), ledger };
    let (mut feeds, spool) = start_feeds(paths, config, &bus, &sockets, &intake, &common)?;
    let following = Following::start(config, &bus, &mut feeds, &common)?;
    if is_on(config, "process") {
        watch_processes(&bus, &spool, &mut feeds);
    }
    let stop = CancellationToken::new();
    let control = Arc::new(Control {
        bus: bus.clone(),
        store: store.clone(),
        intake,
        following,
        spool,
        stop: stop.clone(),
    });
    let listener = sockets.control.try_clone().context("cannot take in commands")?;
    let serving = tokio::spawn(control::run(listener, control, stop.clone()));
    let ticking = tokio::spawn(tick(bus.clone(), stop.clone()));
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        pid = std::process::id(),
        sessions = bus.snapshot().len(),
        "linelamp is up"
    );
    leave_error_output();
    tokio::select! {
        name = signals.next() => tracing::info!("{name}: going down"),
        () = stop.cancelled() => tracing::info!("asked to go down"),
    }
    stop.cancel();
    take_down(&bus, feeds, store, signals, Duration::from_secs(config.daemon.drain_seconds)).await;
    // Both end with `stop`.
    serving.await.ok();
    ticking.await.ok();
    tracing::info!("linelamp is down");
    Ok(())
}

/// Starts what takes in what clients send. A feed that is switched off takes in nothing: what comes for it is dropped, not kept.
fn start_feeds(
    paths: &Paths,
    config: &Config,
    bus: &Bus,
    sockets: &Sockets,
    intake: &Intake,
    common: &Common,
) -> Result<(FeedSet, SpoolHandle)> {
    let mut feeds = FeedSet::new();
    let wrappers = bus.publisher("wrap", Trust::Authoritative);
    let (spool, handle) = SpoolFeed::new(SpoolOptions {
        state: paths.state.clone(),
        drivers: if is_on(config, "hooks") { agents::all() } else { Vec::new() },
        reading: common.reading,
        digester: common.digester.clone(),
        wrappers: wrappers.clone(),
        intake: intake.clone(),
        pokes: sockets.poke.try_clone().and_then(Pokes::over).context("cannot read pokes")?,
    });
    feeds.spawn(Box::new(spool), bus.publisher("hooks", Trust::Reported));
    if let Some(listener) = &sockets.events {
        let wrapper = WrapperFeed::new(WrapperOptions {
            listener: listener.try_clone().context("cannot take in wrappers")?,
            want: common.reading,
            intake: intake.clone(),
        });
        feeds.spawn(Box::new(wrapper), wrappers);
    }
    Ok((feeds, handle))
}

/// Starts to look after the processes of sessions.
fn watch_processes(bus: &Bus, spool: &SpoolHandle, feeds: &mut FeedSet) {
    let (sessions, spool) = (bus.clone(), spool.clone());
    let liveness = LivenessFeed::new(LivenessOptions {
        open: Box::new(move || sessions.open_processes()),
        settled: Box::new(move || {
            let spool = spool.clone();
            Box::pin(async move {
                // A spool that is read no more holds nothing up.
                spool.settle().await;
            })
        }),
        drivers: agents::all(),
    });
    feeds.spawn(Box::new(liveness), bus.publisher("process", Trust::Inferred));
}

/// Whether a built-in feed is switched on.
fn is_on(config: &Config, feed: &str) -> bool {
    config.feeds.get(feed).is_none_or(|component| component.enabled)
}

/// Whoever started us in the background has gone or will go, and a write to a pipe nobody reads is an error. What
/// there is to say goes into the log from here on.
fn leave_error_output() {
    if rustix::termios::isatty(rustix::stdio::stderr()) {
        return;
    }
    let nowhere = std::fs::OpenOptions::new().write(true).open("/dev/null");
    if let Err(error) = nowhere.and_then(|file| Ok(rustix::stdio::dup2_stderr(&file)?)) {
        tracing::debug!(%error, "error output stays where it is");
    }
}

async fn take_down(
    bus: &Bus,
    feeds: FeedSet,
    store: Option<Arc<Store>>,
    mut signals: Signals,
    budget: Duration,
) {
    let skip = CancellationToken::new();
    let impatient = skip.clone();
    let watching = tokio::spawn(async move {
        let name = signals.next().await;
        tracing::warn!("{name} once more: leaving at once");
        impatient.cancel();
    });
    let mut drain = Drain::new(budget).feeds(feeds).skip(skip);
    if let Some(store) = store {
        let close = async move {
            let closed = tokio::task::spawn_blocking(move || store.close(budget)).await;
            if !matches!(closed, Ok(true)) {
                tracing::warn!(
                    "the store could not write everything; it is read again at the next start"
                );
            }
        };
        drain = drain.then("store", Box::pin(close));
    }
    let report = bus.drain(drain).await;
    if !report.is_clean() {
        tracing::warn!(feeds = ?report.feeds, steps = ?report.steps, "not everything finished");
    }
    watching.abort();
}

async fn tick(bus: Bus, stop: CancellationToken) {
    let mut interval = tokio::time::interval(TICK);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = interval.tick() => bus.tick(Timestamp::now()),
        }
    }
}

fn host() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

/// The signals that end the daemon.
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    fn new() -> Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen to signals");
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
