//! Events and entries to test with.
#![cfg_attr(not(feature = "store"), expect(dead_code, reason = "only the store needs all of them"))]

use std::sync::Arc;

use linelamp_core::event::{
    BlockKind, Content, MessageCompleted, MessageDelta, Notice, NoticeLevel, Role, StartSource,
    Status, ToolStarted, TurnOrigin, TurnStarted, Usage, UsageUpdated,
};
use linelamp_core::journal::{Entry, Position};
use linelamp_core::state::{SessionRecord, SessionState};
use linelamp_core::{Body, Event, EventId, Origin, Scope, Seq, SessionKey, Timestamp, Trust};

/// What no metadata level may ever show.
pub(crate) const SECRET: &str = "the private words";

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_796_000_000 + second).expect("a time")
}

pub(crate) fn session(number: u64) -> SessionKey {
    SessionKey::new("claude-code", format!("session-{number}"))
}

pub(crate) fn event(seq: u64, body: impl Into<Body>) -> Event {
    let second = i64::try_from(seq).expect("a small number");
    Event {
        id: EventId::derive(at(second), &seq.to_be_bytes(), 0),
        seq: Seq(seq),
        session: session(1),
        session_seq: seq,
        at: at(second),
        observed_at: at(second),
        origin: Origin {
            feed: "hook".into(),
            trust: Trust::Reported,
            pid: Some(7),
            host: "box".into(),
        },
        scope: Scope::Main,
        body: body.into(),
    }
}

pub(crate) fn turn(name: &str) -> TurnStarted {
    TurnStarted { turn: name.into(), origin: TurnOrigin::Human, synthetic: false }
}

pub(crate) fn tool(name: &str) -> ToolStarted {
    ToolStarted {
        call: "call-1".into(),
        tool: name.into(),
        input: Some(Content::json(serde_json::json!({ "command": SECRET }))),
        server: None,
    }
}

pub(crate) fn reply() -> MessageCompleted {
    MessageCompleted {
        message: "message-1".into(),
        block: 0,
        block_kind: BlockKind::Text,
        role: Role::Assistant,
        text: Content::text(SECRET),
        aborted: false,
        synthetic: false,
        media_type: None,
    }
}

pub(crate) fn piece() -> MessageDelta {
    MessageDelta {
        message: "message-1".into(),
        block: 0,
        block_kind: BlockKind::Text,
        offset: 0,
        text: Content::text("piece"),
    }
}

pub(crate) fn usage(output: u64) -> UsageUpdated {
    UsageUpdated {
        message: None,
        usage: Some(Usage { output: Some(output), ..Usage::default() }),
        cost_total_usd: None,
        context_tokens: None,
        context_limit: None,
    }
}

pub(crate) fn notice() -> Notice {
    Notice {
        level: NoticeLevel::Info,
        code: "told".to_owned(),
        count: None,
        text: Some(Content::text(SECRET)),
    }
}

pub(crate) fn record(
    session: &SessionKey,
    status: Status,
    last_seen: Timestamp,
    last_seq: u64,
) -> SessionRecord {
    let state = serde_json::json!({
        "session": session,
        "status": status,
        "since": last_seen,
        "last_seen": last_seen,
        "background": 0,
        "source": StartSource::Startup,
        "cwd": "/home/u/project",
        "host": "box",
    });
    let state: SessionState = serde_json::from_value(state).expect("a state");
    let record = serde_json::json!({
        "state": state,
        "session_seq": last_seq,
        "last_seq": last_seq,
    });
    serde_json::from_value(record).expect("a record")
}

/// An entry of these events, read at `position`.
pub(crate) fn entry(position: Option<&str>, events: Vec<Event>) -> Entry {
    let newest = events.iter().map(|event| event.seq.0).max().unwrap_or(0);
    Entry {
        input: position.map(|position| Position::new(position).into()),
        events: events.into_iter().map(Arc::new).collect(),
        sessions: Vec::new(),
        next_seq: Seq(newest + 1),
        committed: None,
    }
}
