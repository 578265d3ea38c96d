//! The kinds of events: one variant for each, and the table of their names.
//!
//! The data of a kind is a struct in [`crate::event::kind`].

use serde::Serialize;
use serde_json::Value;

use super::content::Redact;
use super::kind::{
    ApiFailed, ApiRetry, BusGap, BusSinkStatus, BusSnapshot, CompactionEnded, CompactionStarted,
    Custom, MessageCompleted, MessageDelta, MessageRetracted, ModeChanged, Native, Notice,
    PermissionRequested, PermissionResolved, SessionEnded, SessionStarted, SessionUpdated,
    StatusChanged, StatusReported, SubagentEnded, SubagentStarted, TaskEnded, TaskProgress,
    TaskStarted, TasksChanged, ToolEnded, ToolProgress, ToolStarted, TurnEnded, TurnStarted,
    UsageUpdated,
};

macro_rules! kinds {
    ($($(#[$meta:meta])* $variant:ident($data:ty) = $kind:literal,)*) => {
        /// A kind of event with its data.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Body {
            $($(#[$meta])* $variant($data),)*
            /// A kind that a newer writer knows and this reader does not, kept verbatim.
            Unknown {
                /// The kind's name.
                kind: String,
                /// Its data.
                data: Value,
            },
        }

        impl Body {
            /// The names of all kinds this version knows.
            pub const KINDS: &'static [&'static str] = &[$($kind),*];

            /// The kind's name on the wire.
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $kind,)*
                    Self::Unknown { kind, .. } => kind,
                }
            }

            pub(super) fn read(kind: &str, data: &str) -> Result<Self, serde_json::Error> {
                match kind {
                    $($kind => serde_json::from_str(data).map(Self::$variant),)*
                    _ => Ok(Self::Unknown {
                        kind: kind.to_owned(),
                        data: serde_json::from_str(data)?,
                    }),
                }
            }

            #[cfg(feature = "schema")]
            pub(super) fn schemas(
                generator: &mut schemars::SchemaGenerator,
            ) -> Vec<(&'static str, schemars::Schema)> {
                vec![$(($kind, generator.subschema_for::<$data>())),*]
            }
        }

        /// Serializes the data only; the kind stands beside it in the envelope.
        impl Serialize for Body {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$variant(data) => data.serialize(serializer),)*
                    Self::Unknown { data, .. } => data.serialize(serializer),
                }
            }
        }

        impl Redact for Body {
            fn redact(&mut self) {
                match self {
                    $(Self::$variant(data) => data.redact(),)*
                    // What is not known may be content: at the metadata level nothing of it is kept.
                    Self::Unknown { data, .. } => *data = Value::Null,
                }
            }
        }

        $(impl From<$data> for Body {
            fn from(data: $data) -> Self {
                Self::$variant(data)
            }
        })*
    };
}

kinds! {
    /// The session has another state. Published by the resolver only.
    StatusChanged(StatusChanged) = "status.changed",
    /// A session began, or was first seen.
    SessionStarted(SessionStarted) = "session.started",
    /// Something about the session changed; only what changed is set.
    SessionUpdated(SessionUpdated) = "session.updated",
    /// A session is over, as far as this process goes.
    SessionEnded(SessionEnded) = "session.ended",
    /// A turn began.
    TurnStarted(TurnStarted) = "turn.started",
    /// A turn is over.
    TurnEnded(TurnEnded) = "turn.ended",
    /// A piece of a message, as it streams.
    MessageDelta(MessageDelta) = "message.delta",
    /// A block of a message is whole.
    MessageCompleted(MessageCompleted) = "message.completed",
    /// What was shown of a message does not count: it is made again.
    MessageRetracted(MessageRetracted) = "message.retracted",
    /// A tool call began.
    ToolStarted(ToolStarted) = "tool.started",
    /// A tool call is still running.
    ToolProgress(ToolProgress) = "tool.progress",
    /// A tool call is over.
    ToolEnded(ToolEnded) = "tool.ended",
    /// A human must act.
    PermissionRequested(PermissionRequested) = "permission.requested",
    /// A request is settled.
    PermissionResolved(PermissionResolved) = "permission.resolved",
    /// A subagent began; the event's scope is the subagent.
    SubagentStarted(SubagentStarted) = "subagent.started",
    /// A subagent is over.
    SubagentEnded(SubagentEnded) = "subagent.ended",
    /// A task runs beside or behind the turn.
    TaskStarted(TaskStarted) = "task.started",
    /// A task goes on.
    TaskProgress(TaskProgress) = "task.progress",
    /// A task is over.
    TaskEnded(TaskEnded) = "task.ended",
    /// The whole set of background tasks that run now.
    TasksChanged(TasksChanged) = "tasks.changed",
    /// The conversation is being shortened.
    CompactionStarted(CompactionStarted) = "compaction.started",
    /// The conversation was shortened, or that failed.
    CompactionEnded(CompactionEnded) = "compaction.ended",
    /// A model request failed and is tried again.
    ApiRetry(ApiRetry) = "api.retry",
    /// A model request failed for good.
    ApiFailed(ApiFailed) = "api.failed",
    /// The permission mode changed.
    ModeChanged(ModeChanged) = "mode.changed",
    /// Tokens or money so far.
    UsageUpdated(UsageUpdated) = "usage.updated",
    /// What the agent itself says of its state. Evidence, not truth.
    StatusReported(StatusReported) = "status.reported",
    /// Something worth knowing that changes no state.
    Notice(Notice) = "notice",
    /// An input that no decoder understood, kept whole.
    Native(Native) = "native",
    /// This sink missed events; snapshots follow.
    BusGap(BusGap) = "bus.gap",
    /// The state of one session, complete up to `upto`.
    BusSnapshot(BusSnapshot) = "bus.snapshot",
    /// A sink does better or worse.
    BusSinkStatus(BusSinkStatus) = "bus.sink_status",
    /// An event of a plugin's own.
    Custom(Custom) = "custom",
}
