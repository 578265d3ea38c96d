//! What the daemon promises a wrapper on `events.sock`.

use std::sync::Arc;
use std::time::Duration;

use linelamp_core::event::{EndReason, SessionEnded, Status, StatusChanged};
use linelamp_core::{Draft, SessionKey, Timestamp};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::ingest_support::{AGENT, Daemon, Store, batch, names, until, wrapped};

/// A wrapper's end of the line.
pub(crate) struct Wrapper {
    lines: Lines<BufReader<OwnedReadHalf>>,
    write: OwnedWriteHalf,
}

impl Wrapper {
    pub(crate) async fn connect(daemon: &Daemon) -> Self {
        let stream =
            UnixStream::connect(daemon.state.join("run/events.sock")).await.expect("connected");
        let (read, write) = stream.into_split();
        Self { lines: BufReader::new(read).lines(), write }
    }

    pub(crate) async fn greet(daemon: &Daemon, instance: &str) -> Self {
        let mut wrapper = Self::connect(daemon).await;
        let hello = json!({
            "linelamp": 1, "role": "wrap", "version": "9", "instance": instance, "agent": AGENT,
            "child": { "pid": 1, "start": 2 }, "more": [],
        });
        wrapper.say(&format!("{hello}\n")).await;
        let welcome = wrapper.hear().await.expect("a welcome");
        assert_eq!(
            (&welcome["linelamp"], &welcome["role"], &welcome["want"]),
            (&json!(1), &json!("daemon"), &json!("state"))
        );
        wrapper
    }

    pub(crate) async fn say(&mut self, text: &str) {
        self.write(text.as_bytes()).await.expect("sent");
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.write.write_all(bytes).await
    }

    /// The daemon's next line; none when it has hung up.
    async fn hear(&mut self) -> Option<Value> {
        let line = tokio::time::timeout(Duration::from_secs(30), self.lines.next_line()).await;
        let line = line.expect("an answer").ok()??;
        Some(serde_json::from_str(&line).expect("json"))
    }

    /// Waits until everything up to `number` is acknowledged.
    pub(crate) async fn acknowledged(&mut self, number: u64) {
        while self.hear().await.expect("an acknowledgement")["committed"] != number {}
    }
}

#[tokio::test]
async fn a_batch_is_acknowledged_when_it_is_durable_and_not_before() {
    let state = tempfile::tempdir().expect("a folder");
    let store = Arc::new(Store::default());
    store.wait();
    let daemon = Daemon::start(state.path(), Some(&store));
    let mut wrapper = Wrapper::greet(&daemon, "w").await;
    wrapper.say(&format!("{}{{\"keepalive\":true}}\n{}", batch(1), batch(2))).await;
    until("publishing", || store.waiting().len() == 2).await;
    store.commit();
    wrapper.acknowledged(2).await;
    assert_eq!(store.committed(), ["wrap/w/1", "wrap/w/2"]);
    daemon.stop().await;
}

#[tokio::test]
async fn a_batch_that_a_full_store_refuses_ends_the_connection_and_comes_again() {
    let state = tempfile::tempdir().expect("a folder");
    let store = Arc::new(Store::default());
    store.set_full(true);
    let daemon = Daemon::start(state.path(), Some(&store));
    let mut wrapper = Wrapper::greet(&daemon, "w").await;
    wrapper.say(&batch(1)).await;
    assert_eq!(wrapper.hear().await, None, "nothing is acknowledged");
    store.set_full(false);
    let mut wrapper = Wrapper::greet(&daemon, "w").await;
    wrapper.say(&batch(1)).await;
    wrapper.acknowledged(1).await;
    assert_eq!((store.committed(), daemon.counts().given_back), (vec!["wrap/w/1".to_owned()], 1));
    daemon.stop().await;
}

#[tokio::test]
async fn the_same_batch_over_socket_and_spool_is_published_once() {
    let state = tempfile::tempdir().expect("a folder");
    let store = Arc::new(Store::default());
    store.wait();
    let daemon = Daemon::start(state.path(), Some(&store));
    let mut wrapper = Wrapper::greet(&daemon, "w").await;
    wrapper.say(&format!("{}{}", batch(1), batch(2))).await;
    until("publishing", || store.waiting().len() == 2).await;
    // No acknowledgement came, so the wrapper spools them and begins anew, as it would on a new line.
    wrapped(state.path(), 0, "w", &format!("{}{}{}", batch(1), batch(2), batch(3)));
    until("the third", || store.waiting().len() == 3).await;
    drop(wrapper);
    let mut wrapper = Wrapper::greet(&daemon, "w").await;
    wrapper.say(&format!("{}{}", batch(2), batch(4))).await;
    until("the fourth", || store.waiting().len() == 4).await;
    store.commit();
    wrapper.acknowledged(4).await;
    until("deletion", || names(state.path()).is_empty()).await;
    assert_eq!(store.committed(), ["wrap/w/1", "wrap/w/2", "wrap/w/3", "wrap/w/4"]);
    assert_eq!(store.twice(), [] as [&str; 0]);
    daemon.stop().await;
}

#[tokio::test]
async fn a_batch_that_is_known_is_acknowledged_at_once_by_the_next_daemon() {
    let state = tempfile::tempdir().expect("a folder");
    let store = Arc::new(Store::default());
    for _ in 0..2 {
        let daemon = Daemon::start(state.path(), Some(&store));
        let mut wrapper = Wrapper::greet(&daemon, "w").await;
        wrapper.say(&batch(1)).await;
        wrapper.acknowledged(1).await;
        daemon.stop().await;
    }
    assert_eq!(store.committed(), ["wrap/w/1"]);
}

#[tokio::test]
async fn a_bad_line_ends_its_connection_and_loses_nothing_else() {
    let state = tempfile::tempdir().expect("a folder");
    let store = Arc::new(Store::default());
    let daemon = Daemon::start(state.path(), Some(&store));
    let mut other = Wrapper::greet(&daemon, "other").await;
    let over = format!("{{\"n\":2,\"x\":\"{}\"}}\n", "x".repeat(33 << 20));
    let bad_lines =
        ["no json\n", "{\"n\":1,\"drafts\":[{}]}\n", "{\"n\":0,\"drafts\":[]}\n", "[]\n", &over];
    for (number, bad) in bad_lines.into_iter().enumerate() {
        let mut wrapper = Wrapper::greet(&daemon, &format!("w{number}")).await;
        wrapper.say(&batch(1)).await;
        wrapper.acknowledged(1).await;
        // It may be hung up on before all of it is sent.
        wrapper.write(bad.as_bytes()).await.ok();
        assert_eq!(wrapper.hear().await, None, "{bad:.20}");
    }
    other.say(&batch(1)).await;
    other.acknowledged(1).await;
    assert_eq!(store.committed().len(), bad_lines.len() + 1);
    assert_eq!(daemon.counts().bad_connections, bad_lines.len() as u64);
    daemon.stop().await;
}

#[tokio::test]
async fn who_does_not_greet_as_a_wrapper_is_turned_away_with_our_first_line() {
    let state = tempfile::tempdir().expect("a folder");
    let daemon = Daemon::start(state.path(), None);
    let hellos = [
        r#"{"linelamp":2,"role":"wrap","instance":"w"}"#,
        r#"{"linelamp":1,"role":"control","instance":"w"}"#,
        r#"{"linelamp":1,"role":"wrap","instance":"../w"}"#,
    ];
    for hello in hellos {
        let mut wrapper = Wrapper::connect(&daemon).await;
        wrapper.say(&format!("{hello}\n{}", batch(1))).await;
        let welcome = wrapper.hear().await.expect("our first line");
        assert_eq!(welcome["role"], "daemon");
        assert_eq!(wrapper.hear().await, None);
    }
    let mut wrapper = Wrapper::connect(&daemon).await;
    wrapper.say("GET / HTTP/1.1\n").await;
    assert_eq!(wrapper.hear().await, None);
    assert_eq!((daemon.counts().bad_connections, daemon.counts().drafts), (4, 0));
    daemon.stop().await;
}

#[tokio::test]
async fn drafts_that_only_the_daemon_makes_are_refused() {
    let state = tempfile::tempdir().expect("a folder");
    let store = Arc::new(Store::default());
    let daemon = Daemon::start(state.path(), Some(&store));
    let forged = StatusChanged {
        from: None,
        to: Status::Ended,
        waiting_for: None,
        background: 0,
        activity: None,
        outcome: None,
        error: None,
        because: Vec::new(),
    };
    let draft = Draft::new(SessionKey::new(AGENT, "s"), Timestamp::now(), forged);
    let gap = r#"{"session":{"agent":"a","id":"s"},"at":"2026-01-01T00:00:00Z","kind":"bus.new","data":{}}"#;
    let mut wrapper = Wrapper::greet(&daemon, "w").await;
    wrapper.say(&format!("{{\"n\":1,\"drafts\":[{},{gap}]}}\n", draft.to_json())).await;
    wrapper.acknowledged(1).await;
    assert_eq!((daemon.counts().refused, daemon.counts().drafts), (2, 0));
    daemon.stop().await;
}

#[tokio::test]
async fn a_connection_that_ends_before_its_session_is_counted_and_nothing_is_made_up() {
    let state = tempfile::tempdir().expect("a folder");
    let store = Arc::new(Store::default());
    let daemon = Daemon::start(state.path(), Some(&store));
    let ended = SessionEnded {
        reason: EndReason::Exit,
        exit_code: Some(0),
        signal: None,
        process: None,
        error: None,
    };
    let ended = Draft::new(SessionKey::new(AGENT, "wrapped"), Timestamp::now(), ended);
    let mut wrapper = Wrapper::greet(&daemon, "whole").await;
    wrapper.say(&format!("{}{{\"n\":2,\"drafts\":[{}]}}\n", batch(1), ended.to_json())).await;
    wrapper.acknowledged(2).await;
    drop(wrapper);
    let mut wrapper = Wrapper::greet(&daemon, "cut").await;
    // The last line is cut: it is not acknowledged, and the wrapper would send it again.
    wrapper.say(&format!("{}{}", batch(1), batch(2).trim_end())).await;
    wrapper.acknowledged(1).await;
    drop(wrapper);
    until("both ends", || daemon.counts().connected == 0).await;
    assert_eq!((daemon.counts().connections, daemon.counts().lost_connections), (2, 1));
    assert_eq!(store.committed(), ["wrap/whole/1", "wrap/whole/2", "wrap/cut/1"]);
    daemon.stop().await;
}
