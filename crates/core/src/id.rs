//! Names and numbers: one type for each thing that has an identity.
//!
//! Text ids are cheap to clone (a counted pointer). They are opaque: nothing here parses an
//! agent's id or gives it meaning.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

macro_rules! text_id {
    ($($(#[$meta:meta])* $name:ident)*) => {$(
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes the id as the agent wrote it.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// The id as the agent wrote it.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// True for the empty id, which in a draft asks identity to find the real one.
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self(Arc::from(""))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, "{}({:?})", stringify!($name), &*self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self::new(text)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string" })
            }
        }
    )*};
}

text_id! {
    /// An agent program: `claude-code`, `codex`, `qwen-code`, …
    AgentName
    /// A session's id in its agent's own words.
    NativeId
    /// A feed's name in the configuration, or the feed's kind.
    FeedName
    /// A sink's name in the configuration.
    SinkName
    /// One turn: a prompt (or wake-up) and everything done for it.
    TurnId
    /// A prompt's id, the same in all hook payloads that belong to it.
    PromptId
    /// One message of the model or the user; it has numbered blocks.
    MessageId
    /// One tool call.
    CallId
    /// One question to a human: a permission, a question, a plan, an elicitation.
    RequestId
    /// One background task or subagent run.
    TaskId
    /// A subagent within its session.
    ScopeId
    /// The name of a tool.
    ToolName
}

/// Which session: the agent and its own id for the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionKey {
    /// The agent program.
    pub agent: AgentName,
    /// The agent's own id of the session.
    pub id: NativeId,
}

impl SessionKey {
    /// Joins an agent and its native session id.
    pub fn new(agent: impl Into<AgentName>, id: impl Into<NativeId>) -> Self {
        Self { agent: agent.into(), id: id.into() }
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.agent, self.id)
    }
}

/// An event's identity across processes and machines.
///
/// A `UUIDv8`: 48 bits of milliseconds, then 74 bits that are a hash of the source position (so that
/// reading the same input again gives the same id) or random (for what has no position).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventId(Uuid);

#[cfg(feature = "schema")]
impl schemars::JsonSchema for EventId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "EventId".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "uuid" })
    }
}

impl EventId {
    /// The id of draft number `index` that was read at `position` (any bytes that name the place).
    pub fn derive(at: Timestamp, position: &[u8], index: u32) -> Self {
        let mut hash = Sha256::new();
        hash.update(position);
        hash.update([0]);
        hash.update(index.to_be_bytes());
        Self::assemble(at, &hash.finalize()[..10])
    }

    /// A new id for something that has no source position.
    pub fn random(at: Timestamp) -> Self {
        Self::assemble(at, &Uuid::new_v4().as_bytes()[6..])
    }

    fn assemble(at: Timestamp, tail: &[u8]) -> Self {
        let milliseconds = u64::try_from(at.as_millisecond()).unwrap_or(0).to_be_bytes();
        let mut bytes = [0; 16];
        bytes[..6].copy_from_slice(&milliseconds[2..]);
        bytes[6..].copy_from_slice(tail);
        Self(uuid::Builder::from_custom_bytes(bytes).into_uuid())
    }

    /// The id as a UUID.
    pub fn as_uuid(&self) -> Uuid {
        self.0
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl std::str::FromStr for EventId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// Place in the order of one bus, from 1. Zero means «before everything».
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Seq(pub u64);

impl fmt::Display for Seq {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_the_same_position_again_gives_the_same_id() {
        let at: Timestamp = "2026-11-30T09:55:09.501Z".parse().expect("a timestamp");
        let first = EventId::derive(at, b"spool-1", 0);
        assert_eq!(first, EventId::derive(at, b"spool-1", 0));
        assert_ne!(first, EventId::derive(at, b"spool-1", 1));
        assert_ne!(first, EventId::derive(at, b"spool-2", 0));
        assert_eq!(first.as_uuid().get_version_num(), 8);
        assert_eq!(first.as_uuid().get_variant(), uuid::Variant::RFC4122);
    }

    #[test]
    fn ids_sort_by_time() {
        let early: Timestamp = "2026-11-30T09:55:09.501Z".parse().expect("a timestamp");
        let late: Timestamp = "2026-11-30T09:55:09.502Z".parse().expect("a timestamp");
        assert!(EventId::derive(early, b"z", 9) < EventId::random(late));
    }
}
