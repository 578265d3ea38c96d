//! What is said, block by block.

use serde::{Deserialize, Serialize};

use crate::event::content::{Content, Redact};
use crate::event::parts::{BlockKind, Role};
use crate::id::MessageId;

/// `message.delta`: a piece of a message, as it streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessageDelta {
    /// The message.
    pub message: MessageId,
    /// Which block of it.
    pub block: u32,
    /// Text or thought.
    pub block_kind: BlockKind,
    /// Bytes of the block before this piece.
    pub offset: u64,
    /// The piece.
    pub text: Content,
}

impl Redact for MessageDelta {
    fn redact(&mut self) {
        self.text.redact();
    }
}

/// `message.completed`: a block of a message is whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessageCompleted {
    /// The message.
    pub message: MessageId,
    /// Which block of it.
    pub block: u32,
    /// What it holds.
    pub block_kind: BlockKind,
    /// Who speaks.
    pub role: Role,
    /// The whole text, or the base64 data.
    pub text: Content,
    /// True if it was cut by an interrupt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aborted: bool,
    /// True if the agent program wrote it itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub synthetic: bool,
    /// Media type of an image or document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
}

impl Redact for MessageCompleted {
    fn redact(&mut self) {
        self.text.redact();
    }
}

/// `message.retracted`: what was shown of a message does not count: it is made again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessageRetracted {
    /// The message.
    pub message: MessageId,
    /// The first block that does not count.
    pub from_block: u32,
}

impl Redact for MessageRetracted {
    fn redact(&mut self) {}
}
