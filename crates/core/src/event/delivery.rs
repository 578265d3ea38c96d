//! How a kind behaves when a sink is behind.
//!
//! The class belongs to the kind, never to the sink. Essential events are kept and never merged; pieces
//! of a message are merged; of a measurement the newest is kept; the rest is shed first.

use crate::event::body::Body;
use crate::event::envelope::{Event, Scope};
use crate::id::{CallId, MessageId, SessionKey, SinkName, TaskId};

/// What may happen to an event while it waits for a slow sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Kept, never merged, never reordered within its session.
    Essential,
    /// May be joined with the queued piece before it, and is shed first when there is no room.
    Append(CoalesceKey),
    /// Replaces the queued one of the same key.
    Latest(CoalesceKey),
    /// Kept in order while there is room, shed first when there is none.
    Sheddable,
}

/// What makes two events of class `Append` or `Latest` belong together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CoalesceKey {
    /// A block of a message.
    Block(SessionKey, MessageId, u32),
    /// The output of a tool call.
    Output(SessionKey, CallId),
    /// Tokens and money of a session's scope.
    Usage(SessionKey, Scope),
    /// What the agent says of its state.
    Reported(SessionKey),
    /// A task's progress.
    Task(SessionKey, TaskId),
    /// A sink's health.
    Sink(SinkName),
}

impl Event {
    /// The event's class.
    pub fn delivery(&self) -> Delivery {
        let session = || self.session.clone();
        match &self.body {
            Body::MessageDelta(data) => {
                Delivery::Append(CoalesceKey::Block(session(), data.message.clone(), data.block))
            }
            Body::ToolProgress(data) => {
                Delivery::Append(CoalesceKey::Output(session(), data.call.clone()))
            }
            Body::UsageUpdated(_) => {
                Delivery::Latest(CoalesceKey::Usage(session(), self.scope.clone()))
            }
            Body::StatusReported(_) => Delivery::Latest(CoalesceKey::Reported(session())),
            Body::TaskProgress(data) => {
                Delivery::Latest(CoalesceKey::Task(session(), data.task.clone()))
            }
            Body::BusSinkStatus(data) => Delivery::Latest(CoalesceKey::Sink(data.sink.clone())),
            Body::Native(_) | Body::Notice(_) => Delivery::Sheddable,
            _ => Delivery::Essential,
        }
    }
}

impl Body {
    /// True for kinds that are kept, never merged and never shed.
    pub fn is_essential(&self) -> bool {
        !matches!(
            self,
            Self::MessageDelta(_)
                | Self::ToolProgress(_)
                | Self::UsageUpdated(_)
                | Self::StatusReported(_)
                | Self::TaskProgress(_)
                | Self::BusSinkStatus(_)
                | Self::Native(_)
                | Self::Notice(_)
        )
    }
}
