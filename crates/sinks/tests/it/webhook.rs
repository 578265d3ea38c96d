//! The webhook, against a real TCP receiver.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use linelamp_core::event::Content;
use linelamp_core::sink::{BuildError, DeliverError, Sink, SinkFactory as _};
use linelamp_core::{Event, Timestamp};
use linelamp_sinks::option::{Resolve, Secret};
use linelamp_sinks::webhook::{WebhookFactory, verify};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::receiver::{Receiver, Request};
use crate::sample::{event, reply, tool, turn};

/// Never to be seen outside a request.
const KEY: &str = "hunter2";

fn resolve() -> Resolve {
    Arc::new(|reference| match reference {
        "env:KEY" => Ok(KEY.to_owned()),
        "env:OLD" => Ok("the old key".to_owned()),
        "file:/run/token" => Ok(format!("Bearer {KEY}\n")),
        "env:PLACE" => Ok(format!("https://hooks.example.com/{KEY}")),
        other => Err(format!("{other} is not set").into()),
    })
}

fn build(options: &Value) -> Result<Box<dyn Sink>, BuildError> {
    WebhookFactory::new(resolve()).build(options)
}

fn sink(receiver: &Receiver) -> Box<dyn Sink> {
    build(&json!({ "url": receiver.url("/hook"), "secret": "env:KEY" })).expect("a sink")
}

fn deliver(sink: &mut Box<dyn Sink>, batch: &[Arc<Event>]) -> Result<(), DeliverError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(sink.deliver(batch))
}

fn batch(count: u64) -> Vec<Arc<Event>> {
    (1..=count).map(|number| Arc::new(event(number, tool("Bash")))).collect()
}

fn is_signed(request: &Request, secret: &str) -> bool {
    let timestamp = request.header("linelamp-timestamp").expect("a timestamp");
    let timestamp = timestamp.parse().expect("seconds");
    let age = Timestamp::now().as_second() - timestamp;
    assert!((0..60).contains(&age), "{age} s old");
    let signature = request.header("linelamp-signature").expect("a signature");
    verify(&Secret::new(secret), timestamp, &request.body, signature)
}

#[test]
fn each_event_is_one_signed_post_of_its_own_json() {
    let receiver = Receiver::start([""; 0]);
    let events = [Arc::new(event(1, turn("a"))), Arc::new(event(2, reply()))];
    deliver(&mut sink(&receiver), &events).expect("delivered");
    let requests = receiver.requests();
    assert_eq!(requests.len(), 2);
    for (request, event) in requests.iter().zip(&events) {
        assert_eq!(request.line, "POST /hook HTTP/1.1");
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert_eq!(request.header("linelamp-delivery"), Some(&*event.id.to_string()));
        assert!(request.header("user-agent").is_some_and(|agent| agent.starts_with("linelamp/")));
        assert_eq!(request.body, event.to_json().into_bytes());
        assert!(is_signed(request, KEY));
        assert!(!is_signed(request, "another key"));
    }
    assert_eq!(requests[1].connection, 0, "the connection is used again");
}

#[test]
fn no_delivery_id_with_two_bodies() {
    let receiver = Receiver::start(["503 Busy", "close"]);
    let mut sink = sink(&receiver);
    let events = batch(1);
    for _ in 0..2 {
        assert!(matches!(deliver(&mut sink, &events), Err(DeliverError::Retry { taken: 0, .. })));
    }
    deliver(&mut sink, &events).expect("delivered");
    let requests = receiver.requests();
    assert_eq!(requests.len(), 3);
    for request in &requests {
        assert_eq!(request.body, requests[0].body);
        assert_eq!(request.header("linelamp-delivery"), requests[0].header("linelamp-delivery"));
        assert!(is_signed(request, KEY));
    }
}

#[test]
fn an_answer_means_delivered_later_or_never() {
    for (status, meaning) in [
        (200, "delivered"),
        (202, "delivered"),
        (204, "delivered"),
        (301, "never"),
        (307, "never"),
        (400, "never"),
        (401, "never"),
        (404, "never"),
        (408, "later"),
        (410, "never"),
        (413, "never"),
        (425, "later"),
        (429, "later"),
        (500, "later"),
        (503, "later"),
        (599, "later"),
    ] {
        let elsewhere = Receiver::start([""; 0]);
        let answer = format!("{status} Word\r\nlocation: {}", elsewhere.url("/elsewhere"));
        let receiver = Receiver::start(["200 OK".to_owned(), answer]);
        let seen = match deliver(&mut sink(&receiver), &batch(3)) {
            Ok(()) => "delivered",
            Err(DeliverError::Retry { taken: 1, after: None, .. }) => "later",
            Err(DeliverError::Rejected { taken: 1, .. }) => "never",
            Err(other) => panic!("{status}: {other:?}"),
        };
        assert_eq!(seen, meaning, "{status}");
        let sent = if meaning == "delivered" { 3 } else { 2 };
        assert_eq!(receiver.requests().len(), sent, "{status}: order is kept");
        assert_eq!(elsewhere.requests(), [], "{status}: a redirect is not followed");
    }
}

#[test]
fn a_wait_that_is_asked_for_is_passed_on() {
    let receiver = Receiver::start(["429 Slow\r\nretry-after: 17", "503 Busy\r\nretry-after: x"]);
    let mut sink = sink(&receiver);
    let mut wait = || match deliver(&mut sink, &batch(1)) {
        Err(DeliverError::Retry { after, .. }) => after,
        other => panic!("{other:?}"),
    };
    assert_eq!(wait(), Some(Duration::from_secs(17)));
    assert_eq!(wait(), None);
}

#[test]
fn a_receiver_that_is_gone_or_hangs_is_tried_again_and_its_address_stays_private() {
    let hanging = Receiver::start(["hang"]);
    let gone = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("its address")
    };
    // What listens there speaks no TLS.
    let plain = Receiver::start([""; 0]);
    for (url, says) in [
        (hanging.url(&format!("/{KEY}?key={KEY}")), "timed out"),
        (format!("http://user:{KEY}@{gone}/{KEY}"), "refused"),
        (format!("https://{}/{KEY}", plain.address), ""),
        (format!("http://nowhere.invalid/{KEY}"), ""),
    ] {
        let mut sink = build(&json!({ "url": url, "timeout_seconds": 1 })).expect("a sink");
        let error = deliver(&mut sink, &batch(1)).expect_err("nobody is there");
        let DeliverError::Retry { taken: 0, after: None, source } = error else {
            panic!("{error:?}")
        };
        let text = format!("{source} {source:?}");
        assert!(text.contains("://") && text.contains(says), "{text}");
        assert!(!text.contains(KEY), "{text}");
    }
}

#[test]
fn without_a_secret_nothing_is_signed_and_with_two_both_are() {
    let receiver = Receiver::start([""; 0]);
    let send = |options: &Value| {
        deliver(&mut build(options).expect("a sink"), &batch(1)).expect("delivered");
        receiver.requests().pop().expect("a request")
    };
    let bare = send(&json!({ "url": receiver.url("/") }));
    assert_eq!(bare.header("linelamp-signature"), None);
    assert!(bare.header("linelamp-delivery").is_some());
    let both = send(&json!({
        "url": receiver.url("/"), "secret": "env:KEY", "old_secret": "env:OLD"
    }));
    assert!(is_signed(&both, KEY) && is_signed(&both, "the old key"));
}

#[test]
fn more_headers_are_sent_and_secrets_in_them_are_references() {
    let receiver = Receiver::start([""; 0]);
    let options = json!({
        "url": receiver.url("/"),
        "headers": { "Authorization": "file:/run/token", "X-Team": "blue" }
    });
    deliver(&mut build(&options).expect("a sink"), &batch(1)).expect("delivered");
    let request = receiver.requests().remove(0);
    assert_eq!(request.header("authorization"), Some(&*format!("Bearer {KEY}")));
    assert_eq!(request.header("x-team"), Some("blue"));
}

#[test]
fn a_proxy_is_used_if_the_options_name_it() {
    let proxy = Receiver::start([""; 0]);
    let options = json!({ "url": "http://nowhere.invalid/hook", "proxy": proxy.url("") });
    deliver(&mut build(&options).expect("a sink"), &batch(1)).expect("delivered");
    assert_eq!(proxy.requests()[0].line, "POST http://nowhere.invalid/hook HTTP/1.1");
}

/// Set in the process that trusts the test's own authority.
const TRUSTS: &str = "LINELAMP_TEST_TRUSTS";

#[cfg(target_os = "linux")]
#[test]
fn a_receiver_is_trusted_if_the_system_trusts_its_certificate() {
    let receiver = Receiver::start_tls();
    let options = json!({ "url": format!("https://localhost:{}/hook", receiver.address.port()) });
    let delivered = deliver(&mut build(&options).expect("a sink"), &batch(1));
    if std::env::var_os(TRUSTS).is_some() {
        delivered.expect("delivered");
        assert_eq!(receiver.requests().len(), 1);
        return;
    }
    let error = delivered.expect_err("a stranger");
    assert!(matches!(error, DeliverError::Retry { .. }), "{error:?}");
    assert!(error.to_string().contains("certificate"), "{error}");
    assert_eq!(receiver.requests(), []);
    let authority = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/tls/ca.pem");
    let status = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "webhook::a_receiver_is_trusted_if_the_system_trusts_its_certificate"])
        .envs([(TRUSTS, "1"), ("SSL_CERT_FILE", authority)])
        .env_remove("SSL_CERT_DIR")
        .stdout(Stdio::null())
        .status()
        .expect("it runs");
    assert!(status.success());
}

#[test]
fn a_proxy_in_the_environment_is_not_used() {
    let mut child = Command::new(std::env::current_exe().expect("this test"));
    for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        // Nobody listens on the discard port.
        child.env(name, "http://127.0.0.1:9");
    }
    let status = child
        .args(["--exact", "webhook::each_event_is_one_signed_post_of_its_own_json"])
        .stdout(Stdio::null())
        .status()
        .expect("it runs");
    assert!(status.success());
}

#[test]
fn options_are_read_strictly_and_never_repeated() {
    for (options, key, says) in [
        (json!({}), "url", "is missing"),
        (json!({ "ulr": "https://x" }), "ulr", "did you mean `url`?"),
        (json!({ "url": format!("ftp://{KEY}") }), "url", "must begin with `https://`"),
        (json!({ "url": KEY }), "url", "is not an address"),
        (json!({ "url": "env:GONE" }), "url", "env:GONE is not set"),
        (json!({ "url": "env:PLACE", "secret": KEY }), "secret", "`env:NAME`"),
        (json!({ "url": "env:PLACE", "secret": "env:GONE" }), "secret", "env:GONE is not set"),
        (json!({ "url": "env:PLACE", "old_secret": "env:OLD" }), "old_secret", "no `secret`"),
        (json!({ "url": "env:PLACE", "headers": { "a b": KEY } }), "headers.a b", "name"),
        (json!({ "url": "env:PLACE", "headers": { "A": "b\0c" } }), "headers.A", "characters"),
        (json!({ "url": "env:PLACE", "headers": { "Host": "b" } }), "headers.Host", "itself"),
        (json!({ "url": "env:PLACE", "timeout_seconds": 0 }), "timeout_seconds", "over 0"),
        (json!({ "url": "env:PLACE", "proxy": "socks9" }), "proxy", "is not an address"),
    ] {
        let error = build(&options).err().expect("refused").to_string();
        assert!(error.contains(&format!("`{key}`")), "{options}: {error}");
        assert!(error.contains(says), "{options}: {error}");
        assert!(!error.contains(KEY), "{options}: {error}");
    }
    assert!(build(&json!({ "url": "env:PLACE", "secret": "env:KEY" })).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// Whatever an event says arrives byte for byte and signed.
    #[test]
    fn every_text_arrives_as_it_is(text in "\\PC{0,300}") {
        let receiver = Receiver::start([""; 0]);
        let mut said = reply();
        said.text = Content::text(text);
        let event = Arc::new(event(1, said));
        deliver(&mut sink(&receiver), &[Arc::clone(&event)]).expect("delivered");
        let request = receiver.requests().remove(0);
        prop_assert!(is_signed(&request, KEY));
        let body = std::str::from_utf8(&request.body).expect("text");
        prop_assert_eq!(Event::from_json(body).expect("an event"), Event::clone(&event));
    }
}
