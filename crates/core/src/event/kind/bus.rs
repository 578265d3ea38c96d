//! What linelamp and its plugins say, and what nobody understood.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::content::{Content, Redact};
use crate::event::parts::{GapReason, NoticeLevel, SinkHealth};
use crate::id::{Seq, SinkName};
use crate::state::SessionState;

/// `notice`: something worth knowing that changes no state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Notice {
    /// How much it matters.
    pub level: NoticeLevel,
    /// What it is, in `snake_case`.
    pub code: String,
    /// How many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// What was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Content>,
}

impl Redact for Notice {
    fn redact(&mut self) {
        self.text.redact();
    }
}

/// `native`: an input that no decoder understood, kept whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Native {
    /// The surface it came from: `stream`, `hook`, …
    pub source: String,
    /// Its type or name there.
    pub name: String,
    /// The input itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Content<Value>>,
}

impl Redact for Native {
    fn redact(&mut self) {
        self.payload.redact();
    }
}

/// `bus.gap`: this sink missed events; snapshots follow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BusGap {
    /// The first that is missing.
    pub first_seq: Seq,
    /// The last that is missing.
    pub last_seq: Seq,
    /// Why.
    pub reason: GapReason,
}

impl Redact for BusGap {
    fn redact(&mut self) {}
}

/// `bus.snapshot`: the state of one session, complete up to `upto`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BusSnapshot {
    /// Events up to here are in it.
    pub upto: Seq,
    /// The state.
    pub state: Box<SessionState>,
}

impl Redact for BusSnapshot {
    fn redact(&mut self) {}
}

/// `bus.sink_status`: a sink does better or worse.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BusSinkStatus {
    /// Which.
    pub sink: SinkName,
    /// Before.
    pub from: SinkHealth,
    /// Now.
    pub to: SinkHealth,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Redact for BusSinkStatus {
    fn redact(&mut self) {}
}

/// `custom`: an event of a plugin's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Custom {
    /// Its name, `PLUGIN.NAME`.
    pub name: String,
    /// Its data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Content<Value>>,
}

impl Redact for Custom {
    fn redact(&mut self) {
        self.payload.redact();
    }
}
