//! Notifications over a real session bus, made for the test.
//!
//! The bus's address goes through the environment, so each test runs itself again as a process of its
//! own with that environment.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use futures_lite::StreamExt as _;
use linelamp_core::event::{
    Content, PermissionRequested, SessionStarted, StartSource, Status, StatusChanged, TurnOutcome,
    WaitingFor,
};
use linelamp_core::sink::{Sink, SinkFactory as _};
use linelamp_core::{Body, Event};
use linelamp_sinks::desktop::DesktopFactory;
use serde_json::json;
use tracing::field::{Field, Visit};
use zbus::OwnedVariant;
use zbus::names::MemberName;

use crate::sample::{SECRET, event};

/// Set in the process that plays the test out.
const PART: &str = "LINELAMP_TEST_DESKTOP";

/// A bus of our own, gone with this value.
struct Bus {
    daemon: Child,
    address: String,
}

impl Bus {
    /// None if this machine cannot have one; where `CI` is set it must.
    fn start() -> Option<Self> {
        let started = Command::new("dbus-daemon")
            .args(["--session", "--print-address", "--nofork"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut daemon = match started {
            Ok(daemon) => daemon,
            Err(error) => {
                assert!(std::env::var_os("CI").is_none(), "dbus-daemon does not start: {error}");
                writeln!(std::io::stderr(), "skipped: dbus-daemon does not start: {error}")
                    .expect("told");
                return None;
            }
        };
        let mut address = String::new();
        let output = daemon.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut address).expect("an address");
        Some(Self { daemon, address: address.trim().to_owned() })
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        self.daemon.kill().and_then(|()| self.daemon.wait()).expect("the bus ends");
    }
}

/// Runs the test `name` again with this bus. True in the process that is to play it out.
fn plays(name: &str, address: impl FnOnce() -> Option<(String, Option<Bus>)>) -> bool {
    if std::env::var_os(PART).is_some() {
        return true;
    }
    let Some((address, _bus)) = address() else { return false };
    let output = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", &format!("desktop::{name}"), "--nocapture"])
        .env(PART, "1")
        .env("DBUS_SESSION_BUS_ADDRESS", address)
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("1 passed"), "{text}");
    false
}

fn with_bus() -> Option<(String, Option<Bus>)> {
    Bus::start().map(|bus| (bus.address.clone(), Some(bus)))
}

/// What the notification service was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Call {
    Notify { id: u32, replaces: u32, title: String, text: String, timeout: i32 },
    Close(u32),
}

type Asked = (String, u32, String, String, String, Vec<String>, HashMap<String, OwnedVariant>, i32);

/// A notification service: gives ids from 1 on and remembers what it was asked.
async fn service() -> Arc<Mutex<Vec<Call>>> {
    let connection = zbus::Connection::session().await.expect("the bus");
    let mut messages = zbus::MessageStream::from(&connection);
    connection.request_name("org.freedesktop.Notifications").await.expect("the name");
    let calls = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&calls);
    tokio::spawn(async move {
        let mut newest = 0;
        while let Some(Ok(message)) = messages.next().await {
            let header = message.header();
            match header.member().map(MemberName::as_str) {
                Some("Notify") => {
                    let asked: Asked = message.body().deserialize().expect("its arguments");
                    let (_, replaces, _, title, text, _, _, timeout) = asked;
                    newest += u32::from(replaces == 0);
                    let id = if replaces == 0 { newest } else { replaces };
                    let call = Call::Notify { id, replaces, title, text, timeout };
                    noted.lock().expect("a lock").push(call);
                    connection.reply(&header, &id).await.expect("told");
                }
                Some("CloseNotification") => {
                    let id: u32 = message.body().deserialize().expect("an id");
                    noted.lock().expect("a lock").push(Call::Close(id));
                    connection.reply(&header, &()).await.expect("told");
                }
                _ => {}
            }
        }
    });
    calls
}

fn sink() -> Box<dyn Sink> {
    DesktopFactory.build(&json!({})).expect("a sink")
}

async fn deliver(sink: &mut Box<dyn Sink>, bodies: Vec<Body>) {
    let batch: Vec<Arc<Event>> =
        bodies.into_iter().zip(1..).map(|(body, seq)| Arc::new(event(seq, body))).collect();
    sink.deliver(&batch).await.expect("a desktop never fails a delivery");
}

fn status(from: Status, to: Status) -> StatusChanged {
    StatusChanged {
        from: Some(from),
        to,
        waiting_for: None,
        background: 0,
        activity: None,
        outcome: None,
        error: None,
        because: Vec::new(),
    }
}

fn started() -> Body {
    SessionStarted {
        source: StartSource::Startup,
        cwd: Some("/home/u/<b>app".to_owned()),
        model: None,
        version: None,
        entrypoint: None,
        mode: None,
        parent: None,
        process: None,
    }
    .into()
}

fn asks() -> Body {
    PermissionRequested {
        request: "r".into(),
        call: None,
        tool: Some("Bash<i>".into()),
        waiting_for: WaitingFor::Permission,
        input: Some(Content::json(json!({ "command": SECRET }))),
        title: Some(Content::text(SECRET)),
        text: Some(Content::text(SECRET)),
        options: Vec::new(),
        suggestions: None,
        reason: None,
        server: None,
    }
    .into()
}

#[test]
fn one_notification_for_each_session_replaced_and_taken_away_when_settled() {
    let name = "one_notification_for_each_session_replaced_and_taken_away_when_settled";
    if !plays(name, with_bus) {
        return;
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let calls = service().await;
        let mut sink = sink();
        let question = StatusChanged {
            waiting_for: Some(WaitingFor::Question),
            ..status(Status::WaitingForPermission, Status::WaitingForInput)
        };
        let done = StatusChanged {
            outcome: Some(TurnOutcome::Completed),
            ..status(Status::Working, Status::Idle)
        };
        deliver(
            &mut sink,
            vec![
                started(),
                status(Status::Idle, Status::Working).into(),
                asks(),
                status(Status::Working, Status::WaitingForPermission).into(),
                question.into(),
                status(Status::WaitingForInput, Status::Working).into(),
                done.into(),
            ],
        )
        .await;
        let title = "claude-code: <b>app".to_owned();
        let expected = [
            Call::Notify {
                id: 1,
                replaces: 0,
                title: title.clone(),
                text: "waits for permission: Bash&lt;i&gt;".to_owned(),
                timeout: 0,
            },
            Call::Notify {
                id: 1,
                replaces: 1,
                title: title.clone(),
                text: "asks a question".to_owned(),
                timeout: 0,
            },
            Call::Close(1),
            Call::Notify { id: 2, replaces: 0, title, text: "is done".to_owned(), timeout: -1 },
        ];
        let calls = calls.lock().expect("a lock");
        assert_eq!(*calls, expected);
        assert!(!format!("{calls:?}").contains(SECRET), "content on the desktop: {calls:?}");
    });
}

/// Counts warnings.
#[derive(Default)]
struct Warnings(AtomicU32);

impl tracing::Subscriber for Warnings {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::WARN && metadata.target().starts_with("linelamp")
    }

    fn event(&self, event: &tracing::Event<'_>) {
        struct Quiet;
        impl Visit for Quiet {
            fn record_debug(&mut self, _: &Field, value: &dyn std::fmt::Debug) {
                assert!(!format!("{value:?}").contains(SECRET));
            }
        }
        event.record(&mut Quiet);
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

/// Many sessions want something, and nobody is there to show it.
fn nobody_is_there() {
    let warnings = Arc::new(Warnings::default());
    let dispatch = tracing::Dispatch::from(Arc::clone(&warnings));
    tracing::dispatcher::set_global_default(dispatch).expect("the only one");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let mut sink = sink();
        for _ in 0..50 {
            let waits = status(Status::Working, Status::WaitingForPermission).into();
            let goes_on = status(Status::WaitingForPermission, Status::Working).into();
            deliver(&mut sink, vec![asks(), waits, goes_on]).await;
        }
    });
    assert_eq!(warnings.0.load(Ordering::SeqCst), 1);
}

#[test]
fn without_a_session_bus_it_warns_once_and_is_off() {
    let nowhere = || Some(("unix:path=/nonexistent/bus".to_owned(), None));
    if plays("without_a_session_bus_it_warns_once_and_is_off", nowhere) {
        nobody_is_there();
    }
}

#[test]
fn without_a_notification_service_it_warns_once_and_is_off() {
    if plays("without_a_notification_service_it_warns_once_and_is_off", with_bus) {
        nobody_is_there();
    }
}

#[test]
fn options_are_read_strictly() {
    for (options, says) in [
        (json!({ "no": [] }), "did you mean `on`?"),
        (json!({ "on": ["doen"] }), "did you mean `done`?"),
        (json!({ "on": "done" }), "must be a list"),
    ] {
        let error = DesktopFactory.build(&options).err().expect("refused").to_string();
        assert!(error.contains(says), "{options}: {error}");
    }
    assert!(DesktopFactory.build(&json!({ "on": ["failed"] })).is_ok());
}
