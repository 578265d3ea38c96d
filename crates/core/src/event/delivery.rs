//! How a kind behaves when a sink is behind.
//!
//! The class belongs to the kind, never to the sink. Essential events are kept and never merged; pieces
//! of a message are merged; of a measurement the newest is kept; the rest is shed first.

use crate::event::body::Body;
use crate::event::content::Content;
use crate::event::envelope::{Event, Scope};
use crate::event::parts::{Choice, Part};
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

    /// Roughly the bytes the event takes up while it waits: a fixed part and the content it holds.
    pub fn weight(&self) -> usize {
        FIXED_WEIGHT.saturating_add(self.body.content_held().unwrap_or(0))
    }
}

/// What an event without content is taken to weigh.
const FIXED_WEIGHT: usize = 512;

/// Bytes of a content field; none if its value is not there.
fn held<T>(content: &Content<T>) -> Option<usize> {
    content.value.as_ref().map(|_| usize::try_from(content.size).unwrap_or(usize::MAX))
}

fn maybe<T>(content: Option<&Content<T>>) -> Option<usize> {
    content.and_then(held)
}

/// The bytes together; none if nothing is there.
fn sum(sizes: impl IntoIterator<Item = Option<usize>>) -> Option<usize> {
    sizes.into_iter().flatten().reduce(usize::saturating_add)
}

impl Body {
    /// True if there is anything that the metadata level would take away.
    pub(crate) fn holds_content(&self) -> bool {
        self.content_held().is_some()
    }

    /// Bytes of content the event holds, by the sizes the content itself names; none if it holds none.
    fn content_held(&self) -> Option<usize> {
        let parts = |parts: &[Part]| sum(parts.iter().map(|part| held(&part.data)));
        let choices = |options: &[Choice]| sum(options.iter().map(|option| held(&option.label)));
        match self {
            Self::MessageDelta(data) => held(&data.text),
            Self::MessageCompleted(data) => held(&data.text),
            Self::ToolStarted(data) => maybe(data.input.as_ref()),
            Self::ToolProgress(data) => maybe(data.output.as_ref()),
            Self::ToolEnded(data) => sum([parts(&data.output), maybe(data.structured.as_ref())]),
            Self::PermissionRequested(data) => sum([
                maybe(data.input.as_ref()),
                maybe(data.title.as_ref()),
                maybe(data.text.as_ref()),
                choices(&data.options),
                maybe(data.suggestions.as_ref()),
            ]),
            Self::PermissionResolved(data) => maybe(data.message.as_ref()),
            Self::SessionUpdated(data) => maybe(data.title.as_ref()),
            Self::SessionEnded(data) => maybe(data.error.as_ref()),
            Self::TurnEnded(data) => maybe(data.message.as_ref()),
            Self::ApiFailed(data) => maybe(data.message.as_ref()),
            Self::CompactionEnded(data) => maybe(data.summary.as_ref()),
            Self::SubagentStarted(data) => maybe(data.description.as_ref()),
            Self::SubagentEnded(data) => maybe(data.report.as_ref()),
            Self::TaskStarted(data) => maybe(data.description.as_ref()),
            Self::TaskProgress(data) => maybe(data.summary.as_ref()),
            Self::TaskEnded(data) => maybe(data.summary.as_ref()),
            Self::Notice(data) => maybe(data.text.as_ref()),
            Self::Native(data) => maybe(data.payload.as_ref()),
            Self::Custom(data) => maybe(data.payload.as_ref()),
            Self::Unknown { data: serde_json::Value::Null, .. } => None,
            Self::Unknown { data, .. } => held(&Content::json(data.clone())),
            // Without a field of type `Content`; a test holds every kind against this list.
            _ => None,
        }
    }

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
