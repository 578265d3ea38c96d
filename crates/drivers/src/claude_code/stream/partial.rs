//! Pieces of messages as they stream.

use linelamp_core::driver::Decoded;
use linelamp_core::event::{
    BlockKind, MessageCompleted, MessageDelta, MessageRetracted, Role, Scope, UsageUpdated,
};
use linelamp_core::id::MessageId;

use super::block::Place;
use super::decoder::StreamDecoder;
use super::head::Head;
use crate::claude_code::word::tokens;
use crate::json::Raw;

impl StreamDecoder {
    /// A `stream_event`. The state reading needs nothing of it.
    pub(super) fn stream_event(&mut self, head: &Head<'_>) -> Decoded {
        if self.private.is_full()
            && let Some(event) = head.body
        {
            let scope = self.scope(head);
            self.api_event(head, scope, event);
        }
        Decoded::Understood
    }

    fn api_event(&mut self, head: &Head<'_>, scope: Scope, event: Raw<'_>) {
        let [kind, index, delta, block, message, usage] = event
            .fields(&["type", "index", "delta", "content_block", "message", "usage"])
            .unwrap_or_default();
        let index = index.and_then(Raw::u64);
        match kind.and_then(Raw::quoted).unwrap_or_default() {
            b"content_block_delta" => {
                if let (Some(index), Some(delta)) = (index, delta) {
                    self.piece(scope, index, delta);
                }
            }
            b"content_block_start" => {
                let kind = block.and_then(|block| block.get("type")).and_then(Raw::quoted);
                if let Some(index) = index {
                    self.ledger.open(&scope, index, block_kind(kind.unwrap_or_default()));
                }
            }
            b"message_start" => {
                if let Some(id) = message.and_then(|message| message.get("id")).and_then(Raw::id) {
                    let dropped = self.ledger.start(&scope, MessageId::new(&*id));
                    self.retracted(scope, dropped);
                }
            }
            b"message_delta" => {
                let [id] = head.fields(&["api_message_id"]);
                if let Some(usage) = usage.and_then(tokens) {
                    let message = id.and_then(Raw::id).map(|id| MessageId::new(&*id));
                    self.outlet.emit(
                        scope,
                        UsageUpdated {
                            message,
                            usage: Some(usage),
                            cost_total_usd: None,
                            context_tokens: None,
                            context_limit: None,
                        },
                    );
                }
            }
            b"message_stop" => {
                let [abandoned] = head.fields(&["abandoned_blocks"]);
                let from = abandoned
                    .and_then(|abandoned| abandoned.get("from_block_index"))
                    .and_then(Raw::u64);
                let dropped = self.ledger.stop(&scope, from);
                self.retracted(scope, dropped);
            }
            _ => {}
        }
    }

    fn piece(&mut self, scope: Scope, index: u64, delta: Raw<'_>) {
        let [text, thinking] = delta.fields(&["text", "thinking"]).unwrap_or_default();
        let Some(text) = text.or(thinking).and_then(Raw::str).filter(|text| !text.is_empty())
        else {
            return; // Signatures, citations, and tool input in pieces: the whole block tells them.
        };
        if let Some(((message, block), block_kind, offset)) =
            self.ledger.piece(&scope, index, &text)
        {
            let text = self.private.made(text.into_owned());
            self.outlet.emit(scope, MessageDelta { message, block, block_kind, offset, text });
        }
    }

    pub(super) fn retracted(&mut self, scope: Scope, place: Option<Place>) {
        if let Some((message, from_block)) = place {
            self.outlet.emit(scope, MessageRetracted { message, from_block });
        }
    }

    /// The turn is over: what was told in part will not be told whole.
    pub(super) fn finish_blocks(&mut self) {
        for unfinished in self.ledger.finish(&Scope::Main) {
            let (message, block) = unfinished.place;
            let text = self.private.made(unfinished.text);
            self.outlet.main(MessageCompleted {
                message,
                block,
                block_kind: unfinished.kind,
                role: Role::Assistant,
                text,
                aborted: true,
                synthetic: false,
                media_type: None,
            });
        }
    }
}

/// What a block of the API holds.
pub(super) fn block_kind(word: &[u8]) -> BlockKind {
    match word {
        b"text" => BlockKind::Text,
        b"thinking" => BlockKind::Thought,
        b"image" => BlockKind::Image,
        b"document" => BlockKind::Document,
        _ => BlockKind::Other,
    }
}
