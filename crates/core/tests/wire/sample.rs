//! One full sample of each kind: every field set, and a marker in every field that is content.

use linelamp_core::Event;
use serde_json::{Value, json};

/// Stands in every content field of the samples and nowhere else.
pub(crate) const MARKER: &str = "private words";

fn text() -> Value {
    json!({ "size": MARKER.len(), "value": MARKER })
}

fn value() -> Value {
    let value = json!({ "of": MARKER });
    json!({ "size": value.to_string().len(), "value": value })
}

fn part() -> Value {
    json!({ "kind": "image", "media_type": "image/png", "data": text() })
}

fn choice() -> Value {
    json!({ "id": "yes", "label": text() })
}

fn process() -> Value {
    json!({ "pid": 4, "start": 99 })
}

fn usage() -> Value {
    json!({ "input": 1, "output": 2, "cache_read": 3, "cache_creation": 4 })
}

const TIME: &str = "2026-11-30T09:00:00Z";
const ID: &str = "01a22be1-363d-86b6-92f2-d2319776f295";

/// All fields of a session's state.
fn state() -> Value {
    json!({
        "session": { "agent": "test", "id": "s" },
        "status": "waiting_for_input", "waiting_for": "plan", "since": TIME, "last_seen": TIME,
        "background": 1, "activity": "compacting", "turn": "t", "outcome": "completed",
        "error": "network", "worked": true, "source": "fork", "cwd": "/w", "model": "m", "version": "1",
        "mode": "hosted", "permission_mode": "plan", "branch": "b", "process": process(),
        "host": "h",
        "open": [{
            "request": "r", "call": "c", "tool": "Bash", "waiting_for": "permission",
            "scope": "x", "since": TIME,
        }],
        "children": ["x"], "parent": { "id": "p", "how": "fork" }, "cost_usd": 0.5,
    })
}

/// Data of `kind` with every field set.
#[expect(clippy::too_many_lines, reason = "one sample a kind, side by side")]
pub(crate) fn data(kind: &str) -> Value {
    match kind {
        "status.changed" => json!({
            "from": "idle", "to": "waiting_for_input", "waiting_for": "question",
            "background": 2, "activity": "retrying", "outcome": "failed", "error": "network",
            "because": [ID],
        }),
        "session.started" => json!({
            "source": "resume", "cwd": "/w", "model": "m", "version": "1", "entrypoint": "cli",
            "mode": "one_shot", "parent": "p", "process": process(),
        }),
        "session.updated" => json!({
            "cwd": "/w", "model": "m", "title": text(), "permission_mode": "plan", "branch": "b",
            "version": "1", "entrypoint": "cli", "mode": "hosted", "parent": "p",
            "process": process(),
        }),
        "session.ended" => json!({
            "reason": "killed", "exit_code": 1, "signal": 9, "process": process(),
            "error": text(),
        }),
        "turn.started" => json!({ "turn": "t", "origin": "peer", "synthetic": true }),
        "turn.ended" => json!({
            "turn": "t", "outcome": "failed", "error": "billing", "stop_reason": "end_turn",
            "raw": "error_during_execution", "status": 529, "message": text(), "usage": usage(),
            "cost_usd": 0.25, "cost_total_usd": 1.5, "duration_ms": 10, "rounds": 3,
            "background": 1, "prompts": ["u"],
        }),
        "message.delta" => json!({
            "message": "m", "block": 1, "block_kind": "thought", "offset": 5, "text": text(),
        }),
        "message.completed" => json!({
            "message": "m", "block": 1, "block_kind": "text", "role": "user", "text": text(),
            "aborted": true, "synthetic": true, "media_type": "text/plain",
        }),
        "message.retracted" => json!({ "message": "m", "from_block": 2 }),
        "tool.started" => json!({ "call": "c", "tool": "Bash", "input": value(), "server": "s" }),
        "tool.progress" => json!({
            "call": "c", "tool": "Bash", "elapsed_ms": 4, "offset": 7, "output": text(),
        }),
        "tool.ended" => json!({
            "call": "c", "tool": "Bash", "outcome": "denied", "exit_code": 2, "output": [part()],
            "structured": value(), "decision": "denied", "decided_by": "hook", "raw": "word",
            "duration_ms": 5,
        }),
        "permission.requested" => json!({
            "request": "r", "call": "c", "tool": "Bash", "waiting_for": "elicitation",
            "input": value(), "title": text(), "text": text(), "options": [choice()],
            "suggestions": value(), "reason": "rule", "server": "s",
        }),
        "permission.resolved" => json!({
            "request": "r", "call": "c", "decision": "answered", "by": "host", "message": text(),
        }),
        "subagent.started" => json!({
            "call": "c", "agent_type": "Explore", "description": text(), "background": true,
            "task": "k",
        }),
        "subagent.ended" => json!({
            "outcome": "completed", "call": "c", "report": text(), "tokens": 1, "tool_uses": 2,
            "duration_ms": 3,
        }),
        "task.started" => json!({
            "task": "k", "task_kind": "workflow", "call": "c", "background": true,
            "description": text(),
        }),
        "task.progress" => json!({
            "task": "k", "last_tool": "Read", "tokens": 1, "tool_uses": 2, "duration_ms": 3,
            "background": true, "summary": text(),
        }),
        "task.ended" => json!({
            "task": "k", "outcome": "stopped", "call": "c", "summary": text(), "tokens": 1,
            "tool_uses": 2, "duration_ms": 3,
        }),
        "tasks.changed" => json!({
            "tasks": [{ "task": "k", "task_kind": "agent", "subagent": "x", "call": "c" }],
        }),
        "compaction.started" => json!({ "trigger": "manual" }),
        "compaction.ended" => json!({
            "trigger": "auto", "failed": true, "tokens_before": 9, "tokens_after": 3,
            "duration_ms": 4, "summary": text(),
        }),
        "api.retry" => json!({
            "turn": "t", "attempt": 1, "max_attempts": 10, "delay_ms": 500, "status": 529,
            "error": "overloaded",
        }),
        "api.failed" => json!({
            "error": "rate_limit", "status": 429, "resets_at": TIME, "message": text(),
        }),
        "mode.changed" => json!({ "mode": "plan", "from": "default" }),
        "usage.updated" => json!({
            "message": "m", "usage": usage(), "cost_total_usd": 0.125, "context_tokens": 10,
            "context_limit": 20,
        }),
        "status.reported" => json!({
            "status": "waiting", "waiting_for": "permission", "raw": "waiting",
        }),
        "notice" => json!({ "level": "warning", "code": "code", "count": 3, "text": text() }),
        "native" => json!({ "source": "hook", "name": "Odd", "payload": value() }),
        "bus.gap" => json!({ "first_seq": 1, "last_seq": 9, "reason": "ring_lapped" }),
        "bus.snapshot" => json!({ "upto": 9, "state": state() }),
        "bus.sink_status" => json!({
            "sink": "s", "from": "healthy", "to": "stalled", "error": "timed out",
        }),
        "custom" => json!({ "name": "plugin.thing", "payload": value() }),
        other => panic!("kind `{other}` has no sample: add one"),
    }
}

/// The JSON of an event of `kind` with this data.
pub(crate) fn envelope(kind: &str, data: &Value) -> Value {
    json!({
        "v": 1, "id": ID, "seq": 7, "session": { "agent": "test", "id": "s" },
        "session_seq": 3, "at": TIME, "observed_at": TIME,
        "origin": { "feed": "hooks", "trust": "reported", "pid": 4, "host": "h" },
        "scope": "x", "kind": kind, "data": data,
    })
}

/// A full event of `kind`.
pub(crate) fn event(kind: &str) -> Event {
    let json = envelope(kind, &data(kind));
    Event::from_json(&json.to_string()).unwrap_or_else(|error| panic!("{kind}: {error:?}"))
}
