//! Whole blocks of messages: the model's, the user's, and those the agent writes itself.

use linelamp_core::driver::Decoded;
use linelamp_core::event::{BlockKind, MessageCompleted, Role, Scope, UsageUpdated};
use linelamp_core::id::MessageId;

use super::decoder::StreamDecoder;
use super::head::Head;
use super::partial::block_kind;
use crate::json::Raw;

/// How the agent marks what it wrote in the user's name.
const INTERRUPTED: &str = "[Request interrupted by user";
const COMMANDS: &[&str] = &["<local-command-", "<command-"];

impl StreamDecoder {
    /// An `assistant` line: usually one block of a message.
    pub(super) fn assistant(&mut self, head: &Head<'_>) -> Decoded {
        let Some(message) = head.message else { return Decoded::Understood };
        let calls = self.finders.call.find(message.bytes()).is_some();
        if !self.private.is_full() && !calls && head.error.is_none() {
            return Decoded::Understood;
        }
        let scope = self.scope(head);
        let [id, content, stop] =
            message.fields(&["id", "content", "stop_reason"]).unwrap_or_default();
        let uuid = head.uuid.and_then(Raw::id);
        if let Some(uuid) = &uuid
            && self.ledger.told_by(uuid).is_some()
        {
            return Decoded::Understood;
        }
        let id = id
            .and_then(Raw::id)
            .or_else(|| uuid.clone())
            .map_or_else(|| MessageId::new(self.outlet.mint()), |id| MessageId::new(&*id));
        let failed = head.error.is_some_and(|error| !error.is_null());
        if self.private.is_full() {
            self.told_again(head, &scope);
        }
        match content {
            Some(content) if content.is_array() => {
                for block in content.elements() {
                    self.block(head, &scope, &id, uuid.as_deref(), block, failed);
                }
            }
            Some(text) if !text.is_null() && self.private.is_full() => {
                self.text_block(head, &scope, &id, uuid.as_deref(), BlockKind::Text, text, failed);
            }
            _ => {}
        }
        if failed && stop.is_none_or(|stop| !stop.is("refusal")) {
            let text = content.and_then(first_text);
            let text = self.private.text(text);
            self.api_failed(head, scope, text);
        } else if failed && let Some(turn) = &mut self.turns.open {
            turn.refused = true;
        }
        Decoded::Understood
    }

    fn block(
        &mut self,
        head: &Head<'_>,
        scope: &Scope,
        id: &MessageId,
        uuid: Option<&str>,
        block: Raw<'_>,
        failed: bool,
    ) {
        let [kind, text, thinking, call, name, input] =
            block.fields(&["type", "text", "thinking", "id", "name", "input"]).unwrap_or_default();
        let word = kind.and_then(Raw::quoted).unwrap_or_default();
        match word {
            b"tool_use" | b"server_tool_use" | b"mcp_tool_use" => {
                if self.private.is_full() {
                    let place = self.ledger.complete(scope, id.clone(), BlockKind::Other);
                    self.remember(uuid, place);
                }
                self.tool_started(scope.clone(), call, name, input);
            }
            word if word.ends_with(b"_tool_result") => {
                self.server_tool_result(scope.clone(), block);
            }
            _ if !self.private.is_full() => {}
            _ => {
                let kind = block_kind(word);
                let body = match kind {
                    BlockKind::Text => text,
                    BlockKind::Thought => thinking,
                    _ => None,
                };
                self.text_block(head, scope, id, uuid, kind, body.unwrap_or(block), failed);
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "all of it describes the one block")]
    fn text_block(
        &mut self,
        head: &Head<'_>,
        scope: &Scope,
        id: &MessageId,
        uuid: Option<&str>,
        block_kind: BlockKind,
        body: Raw<'_>,
        failed: bool,
    ) {
        let place = self.ledger.complete(scope, id.clone(), block_kind);
        self.remember(uuid, place.clone());
        let part = match block_kind {
            BlockKind::Image | BlockKind::Document => Some(self.private.part(body)),
            _ => None,
        };
        let (media_type, text) = match part {
            Some(part) => (part.media_type, part.data),
            None => (None, self.private.text_of(body)),
        };
        let [local] = if block_kind == BlockKind::Text {
            head.fields(&["local_command_source"])
        } else {
            [None]
        };
        let draft = self.outlet.emit(
            scope.clone(),
            MessageCompleted {
                message: place.0,
                block: place.1,
                block_kind,
                role: Role::Assistant,
                text,
                aborted: head.aborted.and_then(Raw::bool) == Some(true),
                synthetic: failed || local.is_some(),
                media_type,
            },
        );
        draft.hints.aliases.extend(uuid.map(str::to_owned));
    }

    fn remember(&mut self, uuid: Option<&str>, place: super::block::Place) {
        if let Some(uuid) = uuid {
            self.ledger.remember(uuid.to_owned(), place);
        }
    }

    /// The line replaces earlier ones, or tells the size of the context.
    fn told_again(&mut self, head: &Head<'_>, scope: &Scope) {
        if let Some(list) = head.supersedes {
            for uuid in list.elements().filter_map(Raw::id) {
                let dropped = self.ledger.retract_line(&uuid);
                self.retracted(scope.clone(), dropped);
            }
        }
        if let Some(context) = head.context {
            let [total, limit] =
                context.fields(&["total_tokens", "raw_max_tokens"]).unwrap_or_default();
            self.outlet.emit(
                scope.clone(),
                UsageUpdated {
                    message: None,
                    usage: None,
                    cost_total_usd: None,
                    context_tokens: total.and_then(Raw::u64),
                    context_limit: limit.and_then(Raw::u64),
                },
            );
        }
    }

    /// A `user` line from the agent: tool results, and what it wrote in the user's name. It never
    /// begins a turn.
    pub(super) fn user(&mut self, head: &Head<'_>) -> Decoded {
        let Some(message) = head.message else { return Decoded::Understood };
        let results = self.finders.result.find(message.bytes()).is_some();
        if !self.private.is_full() && !results {
            return Decoded::Understood;
        }
        let scope = self.scope(head);
        let Some(content) = message.get("content") else { return Decoded::Understood };
        if results && content.is_array() {
            self.tool_results(head, &scope, content);
        }
        if self.private.is_full() {
            self.user_content(head, &scope, content);
        }
        Decoded::Understood
    }

    fn user_content(&mut self, head: &Head<'_>, scope: &Scope, content: Raw<'_>) {
        let [replay, synthetic] = head.fields(&["isReplay", "isSynthetic"]);
        let replay = replay.and_then(Raw::bool) == Some(true);
        let mut synthetic = synthetic.and_then(Raw::bool) == Some(true);
        let first = first_text(content).and_then(Raw::str).unwrap_or_default();
        let command = COMMANDS.iter().any(|mark| first.starts_with(mark));
        if replay && self.hears_host && !command {
            return; // The host's own prompt, told when it was sent.
        }
        synthetic |= command || first.starts_with(INTERRUPTED);
        let uuid = head.uuid.and_then(Raw::id);
        let message = uuid.as_deref().map(MessageId::new);
        let message = message.unwrap_or_else(|| MessageId::new(self.outlet.mint()));
        let blocks: Vec<Raw<'_>> = if content.is_array() {
            content
                .elements()
                .filter(|block| !block.get("type").is_some_and(|kind| kind.is("tool_result")))
                .collect()
        } else {
            vec![content]
        };
        for (index, block) in blocks.into_iter().enumerate() {
            let part = if block.is_object() {
                self.private.part(block)
            } else {
                linelamp_core::event::Part {
                    kind: BlockKind::Text,
                    media_type: None,
                    data: self.private.text_of(block),
                }
            };
            self.outlet.emit(
                scope.clone(),
                MessageCompleted {
                    message: message.clone(),
                    block: u32::try_from(index).unwrap_or(u32::MAX),
                    block_kind: part.kind,
                    role: Role::User,
                    text: part.data,
                    aborted: false,
                    synthetic,
                    media_type: part.media_type,
                },
            );
        }
    }
}

/// The first text in a message's content.
fn first_text(content: Raw<'_>) -> Option<Raw<'_>> {
    if content.is_array() {
        content.elements().find_map(|block| block.get("text"))
    } else {
        Some(content)
    }
}
