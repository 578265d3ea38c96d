//! The JSON form of events and drafts: the only place that knows it.
//!
//! An event is `{"v":1, …envelope…, "kind":"…", "data":{…}}`. The kind is read first and the data
//! afterwards, so an unknown kind keeps its data instead of failing the event, and unknown fields are
//! skipped.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::body::Body;
use super::envelope::{Event, Origin, Scope};
use crate::draft::{Draft, Hints};
use crate::id::{EventId, Seq, SessionKey};
use crate::process::ProcessRef;

/// The schema version this code writes. Readers accept every version up to it.
pub const VERSION: u32 = 1;

/// Why a JSON text is no event.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// It is not JSON, or a field is missing or of the wrong type.
    #[error("event is not readable")]
    Json(#[from] serde_json::Error),
    /// It was written by a newer schema version.
    #[error("event has schema version {0}, this program reads up to {VERSION}")]
    Version(u32),
}

#[derive(Serialize)]
struct EventOut<'a> {
    v: u32,
    id: EventId,
    seq: Seq,
    session: &'a SessionKey,
    session_seq: u64,
    at: Timestamp,
    observed_at: Timestamp,
    origin: &'a Origin,
    scope: &'a Scope,
    kind: &'a str,
    data: &'a Body,
}

#[derive(Deserialize)]
struct EventIn<'a> {
    v: u32,
    id: EventId,
    seq: Seq,
    session: SessionKey,
    session_seq: u64,
    at: Timestamp,
    observed_at: Timestamp,
    origin: Origin,
    #[serde(default)]
    scope: Scope,
    kind: String,
    #[serde(borrow)]
    data: &'a RawValue,
}

#[derive(Serialize)]
struct DraftOut<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<EventId>,
    session: &'a SessionKey,
    at: Timestamp,
    #[serde(skip_serializing_if = "Scope::is_main")]
    scope: &'a Scope,
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<ProcessRef>,
    #[serde(skip_serializing_if = "is_default")]
    hints: &'a Hints,
    kind: &'a str,
    data: &'a Body,
}

#[derive(Deserialize)]
struct DraftIn<'a> {
    #[serde(default)]
    id: Option<EventId>,
    session: SessionKey,
    at: Timestamp,
    #[serde(default)]
    scope: Scope,
    #[serde(default)]
    process: Option<ProcessRef>,
    #[serde(default)]
    hints: Hints,
    kind: String,
    #[serde(borrow)]
    data: &'a RawValue,
}

fn is_default(hints: &Hints) -> bool {
    *hints == Hints::default()
}

impl Serialize for Event {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        EventOut {
            v: VERSION,
            id: self.id,
            seq: self.seq,
            session: &self.session,
            session_seq: self.session_seq,
            at: self.at,
            observed_at: self.observed_at,
            origin: &self.origin,
            scope: &self.scope,
            kind: self.body.kind(),
            data: &self.body,
        }
        .serialize(serializer)
    }
}

impl Event {
    /// The event as one line of JSON, without a line end.
    ///
    /// # Panics
    ///
    /// Never: no event holds anything that JSON cannot.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("an event holds nothing that JSON cannot")
    }

    /// Reads an event.
    ///
    /// # Errors
    ///
    /// [`WireError`] if the text is no event or is of a newer schema version.
    pub fn from_json(text: &str) -> Result<Self, WireError> {
        let wire: EventIn<'_> = serde_json::from_str(text)?;
        if wire.v > VERSION {
            return Err(WireError::Version(wire.v));
        }
        Ok(Self {
            id: wire.id,
            seq: wire.seq,
            session: wire.session,
            session_seq: wire.session_seq,
            at: wire.at,
            observed_at: wire.observed_at,
            origin: wire.origin,
            scope: wire.scope,
            body: Body::read(&wire.kind, wire.data.get())?,
        })
    }
}

impl Serialize for Draft {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        DraftOut {
            id: self.id,
            session: &self.session,
            at: self.at,
            scope: &self.scope,
            process: self.process,
            hints: &self.hints,
            kind: self.body.kind(),
            data: &self.body,
        }
        .serialize(serializer)
    }
}

impl Draft {
    /// The draft as one line of JSON, without a line end.
    ///
    /// # Panics
    ///
    /// Never: no draft holds anything that JSON cannot.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a draft holds nothing that JSON cannot")
    }

    /// Reads a draft.
    ///
    /// # Errors
    ///
    /// [`WireError::Json`] if the text is no draft.
    pub fn from_json(text: &str) -> Result<Self, WireError> {
        let wire: DraftIn<'_> = serde_json::from_str(text)?;
        Ok(Self {
            id: wire.id,
            session: wire.session,
            at: wire.at,
            scope: wire.scope,
            process: wire.process,
            hints: wire.hints,
            body: Body::read(&wire.kind, wire.data.get())?,
        })
    }
}

/// Several events as newline-delimited JSON, each line ended.
pub fn to_ndjson(events: &[Arc<Event>]) -> String {
    events.iter().fold(String::new(), |mut text, event| {
        text.push_str(&event.to_json());
        text.push('\n');
        text
    })
}
