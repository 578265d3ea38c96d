//! The liveness feed over real processes and a real bus.

use std::ffi::OsString;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use linelamp_core::bus::{Bus, Publisher};
use linelamp_core::driver::{Decoder, DecoderOptions, Driver, Source};
use linelamp_core::event::{EndReason, RunMode, SessionEnded, SessionStarted, StartSource, Status};
use linelamp_core::feed::{Feed as _, FeedContext};
use linelamp_core::process::ProcessRef;
use linelamp_core::sink::BoxFuture;
use linelamp_core::state::SessionState;
use linelamp_core::{AgentName, Body, Draft, Event, SessionKey, Timestamp, Trust};
use linelamp_feeds::liveness::{LivenessFeed, LivenessOptions};
use linelamp_feeds::process;
use tokio_util::sync::CancellationToken;

use crate::ingest_support::{AGENT, until};
use crate::support::{kill, state_of};

/// A process that is killed and waited for when the test is over.
struct Process(Child);

impl Process {
    /// One that lives until it is ended, with these arguments.
    fn start(arguments: &[&str]) -> Self {
        let child = Command::new("sh")
            .args(["-c", "read line", "agent"])
            .args(arguments)
            .stdin(Stdio::piped())
            .spawn();
        Self(child.expect("a shell"))
    }

    fn reference(&self) -> ProcessRef {
        let reference = process::reference(self.0.id());
        assert!(reference.start.is_some(), "the system tells when a process began");
        reference
    }

    fn kill_and_wait(mut self) {
        self.0.kill().expect("killed");
        self.0.wait().expect("waited");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Reads a run mode from one word.
#[derive(Debug)]
struct Words;

impl Driver for Words {
    fn agent(&self) -> AgentName {
        AGENT.into()
    }

    fn is_program(&self, _: &str) -> bool {
        false
    }

    fn decoder(&self, _: Source, _: DecoderOptions) -> Option<Box<dyn Decoder>> {
        None
    }

    fn run_mode(&self, arguments: &[OsString]) -> Option<RunMode> {
        let once = arguments.iter().any(|word| word == "--once");
        once.then_some(RunMode::OneShot)
    }
}

/// A bus with a liveness feed, and a feed that says what a test wants said.
struct Watched {
    bus: Bus,
    hooks: Publisher,
    events: std::sync::mpsc::Receiver<Arc<Event>>,
    seen: Vec<Arc<Event>>,
    cancel: CancellationToken,
}

impl Watched {
    fn start() -> Self {
        Self::with_settled(|_| Box::new(|| Box::pin(std::future::ready(()))))
    }

    /// `settled` is made from the publisher of the feed that speaks for the test.
    fn with_settled(
        settled: impl FnOnce(Publisher) -> Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>,
    ) -> Self {
        let bus = Bus::builder().build();
        let hooks = bus.publisher("hooks", Trust::Reported);
        let watched = bus.clone();
        let feed = LivenessFeed::new(LivenessOptions {
            open: Box::new(move || watched.open_processes()),
            settled: settled(hooks.clone()),
            drivers: vec![Arc::new(Words)],
        });
        let cancel = CancellationToken::new();
        let publisher = bus.publisher("process", Trust::Inferred);
        let context = FeedContext { publisher, cancel: cancel.clone() };
        tokio::spawn(Box::new(feed).run(context));
        let (sender, events) = std::sync::mpsc::channel();
        let mut subscription = bus.subscribe();
        tokio::spawn(async move {
            while let Some(update) = subscription.recv().await {
                if let linelamp_core::bus::Update::Event(event) = update {
                    sender.send(event).ok();
                }
            }
        });
        Self { bus, hooks, events, seen: Vec::new(), cancel }
    }

    fn begin(&self, session: &str, process: ProcessRef) {
        let started = SessionStarted {
            source: StartSource::Startup,
            cwd: None,
            model: None,
            version: None,
            entrypoint: None,
            mode: None,
            parent: None,
            process: Some(process),
        };
        let mut draft = Draft::new(key(session), Timestamp::now(), started);
        draft.process = Some(process);
        self.hooks.publish(draft).expect("published");
    }

    fn state(&self, session: &str) -> SessionState {
        self.bus.session(&key(session)).expect("a session")
    }

    async fn until_ended(&self, session: &str) {
        until("the end", || self.state(session).status == Status::Ended).await;
    }

    /// The reasons of all ends of a session, once its last event has come.
    async fn ends(&mut self, session: &str) -> Vec<EndReason> {
        let key = key(session);
        let is_last = |event: &Event| {
            event.session == key
                && matches!(&event.body, Body::StatusChanged(data) if data.to == Status::Ended)
        };
        until("the last event", || {
            self.seen.extend(self.events.try_iter());
            self.seen.iter().any(|event| is_last(event))
        })
        .await;
        let of = self.seen.iter().filter(|event| event.session == key);
        of.filter_map(|event| match &event.body {
            Body::SessionEnded(data) => Some(data.reason),
            _ => None,
        })
        .collect()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

fn key(session: &str) -> SessionKey {
    SessionKey::new(AGENT, session)
}

#[tokio::test]
async fn a_killed_process_ends_every_session_that_was_open_in_it() {
    let mut watched = Watched::start();
    let process = Process::start(&[]);
    for session in ["one", "two"] {
        watched.begin(session, process.reference());
    }
    let other = Process::start(&[]);
    watched.begin("other", other.reference());
    process.kill_and_wait();
    for session in ["one", "two"] {
        watched.until_ended(session).await;
        assert_eq!(watched.ends(session).await, [EndReason::Crashed]);
    }
    assert_ne!(watched.state("other").status, Status::Ended);
}

#[tokio::test]
async fn a_pid_that_somebody_else_has_now_ends_the_session() {
    let mut watched = Watched::start();
    let process = Process::start(&[]);
    let now = process.reference();
    watched.begin("reused", ProcessRef { start: now.start.map(|start| start - 1), ..now });
    watched.begin("real", now);
    watched.begin("by-pid-alone", ProcessRef { start: None, ..now });
    watched.until_ended("reused").await;
    assert_eq!(watched.ends("reused").await, [EndReason::Crashed]);
    for session in ["real", "by-pid-alone"] {
        assert_ne!(watched.state(session).status, Status::Ended, "{session}");
    }
    process.kill_and_wait();
    for session in ["real", "by-pid-alone"] {
        watched.until_ended(session).await;
    }
}

#[tokio::test]
async fn a_zombie_is_dead() {
    let watched = Watched::start();
    let process = Process::start(&[]);
    watched.begin("zombie", process.reference());
    kill("KILL", process.0.id());
    watched.until_ended("zombie").await;
    assert_eq!(state_of(process.0.id()), Some('Z'), "nobody has waited for it");
}

#[tokio::test]
async fn a_session_lives_as_long_as_one_of_its_processes() {
    let mut watched = Watched::start();
    let (first, second) = (Process::start(&[]), Process::start(&[]));
    watched.begin("shared", first.reference());
    watched.begin("shared", second.reference());
    watched.begin("marker", first.reference());
    first.kill_and_wait();
    // Both ends of one process are told together.
    watched.until_ended("marker").await;
    until("the first end", || watched.bus.open_processes().len() == 1).await;
    assert_ne!(watched.state("shared").status, Status::Ended);
    second.kill_and_wait();
    watched.until_ended("shared").await;
    assert_eq!(watched.ends("shared").await, [EndReason::Crashed, EndReason::Crashed]);
}

#[tokio::test]
async fn an_orderly_end_that_is_on_its_way_wins() {
    let process = Process::start(&[]);
    let reference = process.reference();
    let mut watched = Watched::with_settled(move |hooks| {
        Box::new(move || {
            // What lay in the spool: the feed has seen already that the process is gone.
            let ended = SessionEnded {
                reason: EndReason::Exit,
                exit_code: None,
                signal: None,
                process: Some(reference),
                error: None,
            };
            let mut draft = Draft::new(key("orderly"), Timestamp::now(), ended);
            draft.process = Some(reference);
            hooks.publish(draft).expect("published");
            Box::pin(std::future::ready(()))
        })
    });
    watched.begin("orderly", reference);
    watched.begin("marker", reference);
    process.kill_and_wait();
    watched.until_ended("marker").await;
    assert_eq!(watched.ends("orderly").await, [EndReason::Exit]);
}

#[tokio::test]
async fn arguments_tell_how_a_session_is_run_and_go_nowhere_else() {
    let mut watched = Watched::start();
    let once = Process::start(&["--once", "a secret prompt"]);
    let plain = Process::start(&[]);
    watched.begin("once", once.reference());
    watched.begin("plain", plain.reference());
    until("the mode", || watched.state("once").mode == Some(RunMode::OneShot)).await;
    once.kill_and_wait();
    watched.until_ended("once").await;
    watched.ends("once").await;
    assert_eq!(watched.state("plain").mode, None);
    let told = watched.seen.iter().filter(|event| matches!(event.body, Body::SessionUpdated(_)));
    assert_eq!(told.count(), 1, "it is told once");
    let everything = format!("{:?}", watched.seen);
    assert!(!everything.contains("secret"), "{everything}");
}
