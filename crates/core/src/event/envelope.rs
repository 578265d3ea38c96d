//! What every event carries, whatever its kind.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::body::Body;
use super::word::words;
use crate::id::{EventId, FeedName, ScopeId, Seq, SessionKey};

/// One thing that happened in one session, as the bus ordered it. Immutable; shared as `Arc<Event>`.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Identity across processes: the idempotency key for the outside.
    pub id: EventId,
    /// Order on this bus.
    pub seq: Seq,
    /// Which session.
    pub session: SessionKey,
    /// Order within the session on this bus, from 1.
    pub session_seq: u64,
    /// When it happened, by the source's clock.
    pub at: Timestamp,
    /// When this bus took it in.
    pub observed_at: Timestamp,
    /// Where it came from.
    pub origin: Origin,
    /// Whose it is: the main agent's or a subagent's.
    pub scope: Scope,
    /// The kind and its data.
    pub body: Body,
}

/// Where an event came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Origin {
    /// The feed's name; `resolver` and `bus` for what linelamp itself says.
    pub feed: FeedName,
    /// How much the feed's word weighs.
    pub trust: Trust,
    /// The agent's process, if the feed knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The machine's name.
    pub host: Arc<str>,
}

words! {
    /// How much a feed's word weighs. Ordered: a later variant weighs more.
    Trust, otherwise Hint {
        /// A guess that may steer attention, never state.
        Hint = "hint",
        /// Read off traces: transcripts, the process table.
        Inferred = "inferred",
        /// Told by the agent: hooks, its own status files.
        Reported = "reported",
        /// Seen in the agent's own stream.
        Authoritative = "authoritative",
    }
}

/// Whose an event is. On the wire one word: `main`, or the subagent's id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// The session's main agent.
    #[default]
    Main,
    /// A subagent.
    Child(ScopeId),
}

impl Scope {
    /// True for the main agent.
    pub fn is_main(&self) -> bool {
        matches!(self, Self::Main)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Main => formatter.write_str("main"),
            Self::Child(id) => formatter.write_str(id.as_str()),
        }
    }
}

impl Serialize for Scope {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Ok(if word == "main" || word.is_empty() {
            Self::Main
        } else {
            Self::Child(ScopeId::new(&*word))
        })
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Scope {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Scope".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "`main`, or the subagent's id."
        })
    }
}
