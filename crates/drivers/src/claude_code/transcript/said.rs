//! What an `assistant` line is: one block of a message, or what the program says in the model's place.

use linelamp_core::driver::Decoded;
use linelamp_core::event::{
    ApiFailed, BlockKind, MessageCompleted, Role, TaskOutcome, ToolStarted, TurnEnded, TurnOutcome,
    UsageUpdated,
};
use linelamp_core::id::{CallId, MessageId, ToolName};

use super::decoder::{Outbox, TranscriptDecoder};
use super::line::{Line, is_true};
use super::prompt::subagent_end;
use crate::claude_code::{tool, word};
use crate::json::Raw;

/// The model of lines that the program wrote itself.
const SYNTHETIC: &str = "<synthetic>";

impl TranscriptDecoder {
    pub(super) fn assistant(&mut self, line: &Line<'_>, out: &mut Outbox<'_>) -> Decoded {
        let fields = ["id", "model", "content", "stop_reason", "usage"];
        let Some([id, model, content, stop, usage]) =
            line.message.and_then(|message| message.fields(&fields))
        else {
            return Decoded::Malformed;
        };
        let [failed, aborted] = line.fields(&["isApiErrorMessage", "isAbortedMidStream"]);
        if !out.is_main() {
            self.introduce(out);
        }
        if is_true(failed) {
            self.api_failed(line, content, out);
            return Decoded::Understood;
        }
        if model.is_some_and(|model| model.is(SYNTHETIC)) {
            // Put there to make the conversation whole; nobody answered. Behind a call that was called off it closes the
            // turn that the process before took with it.
            if std::mem::take(&mut self.called_off) && out.is_main() {
                out.emit(self.turn_end(TurnOutcome::Lost));
            }
            return Decoded::Understood;
        }
        let message =
            id.and_then(Raw::id).map_or_else(MessageId::default, |id| MessageId::new(&*id));
        let mut thinks_only = content.is_some();
        for block in content.into_iter().flat_map(Raw::elements) {
            let thought = self.block(line, &message, block, is_true(aborted), out);
            thinks_only &= thought;
        }
        if let Some(usage) = usage.filter(|_| !message.is_empty()).and_then(word::tokens) {
            out.emit(UsageUpdated {
                message: Some(message),
                usage: Some(usage),
                cost_total_usd: None,
                context_tokens: None,
                context_limit: None,
            });
        }
        // Each block has a line of its own, and each tells how the message ended.
        let over = stop
            .and_then(Raw::quoted)
            .is_some_and(|stop| matches!(stop, b"end_turn" | b"stop_sequence") && !thinks_only);
        if over && out.is_main() {
            let stop_reason = stop.and_then(Raw::id).map(Into::into);
            out.emit(TurnEnded { stop_reason, ..self.turn_end(TurnOutcome::Completed) })
                .hints
                .ending = self.seals;
        } else if over {
            out.emit(subagent_end(TaskOutcome::Completed));
        }
        Decoded::Understood
    }

    /// One block. Gives whether it is a thought.
    fn block(
        &mut self,
        line: &Line<'_>,
        message: &MessageId,
        block: Raw<'_>,
        aborted: bool,
        out: &mut Outbox<'_>,
    ) -> bool {
        let number = self.next_block(message);
        let [kind, id, name, input] =
            block.fields(&["type", "id", "name", "input"]).unwrap_or_default();
        let kind = kind.and_then(Raw::quoted).unwrap_or_default();
        if matches!(kind, b"tool_use" | b"server_tool_use" | b"mcp_tool_use") {
            let Some(id) = id.and_then(Raw::id) else { return false };
            let name = ToolName::new(name.and_then(Raw::str).unwrap_or_default().as_ref());
            self.call_began(&id, name.clone());
            let digest = input.map(|input| self.digester.digest(&input.value()));
            let server = tool::server(name.as_str());
            let input = self.private.json(input);
            out.emit(ToolStarted { call: CallId::new(&*id), tool: name, input, server })
                .hints
                .input = digest;
            return false;
        }
        let part = self.private.part(block);
        let thought = part.kind == BlockKind::Thought || kind == b"redacted_thinking";
        out.emit(MessageCompleted {
            message: message.clone(),
            block: number,
            block_kind: part.kind,
            role: Role::Assistant,
            text: part.data,
            aborted,
            synthetic: false,
            media_type: part.media_type,
        })
        .hints
        .aliases
        .extend(line.uuid.and_then(Raw::id).map(String::from));
        thought
    }

    /// A model request failed for good: the turn is over.
    fn api_failed(&mut self, line: &Line<'_>, content: Option<Raw<'_>>, out: &mut Outbox<'_>) {
        let [error, status] = line.fields(&["error", "apiErrorStatus"]);
        let status = status.and_then(Raw::u64).and_then(|status| u16::try_from(status).ok());
        let error = word::error(&error.and_then(Raw::str).unwrap_or_default(), None, status);
        let said = content.and_then(|content| content.elements().find_map(|it| it.get("text")));
        let message = self.private.text(said);
        out.emit(ApiFailed { error, status, resets_at: None, message: message.clone() });
        if out.is_main() {
            out.emit(TurnEnded {
                error: Some(error),
                status,
                message,
                ..self.turn_end(TurnOutcome::Failed)
            });
        } else {
            out.emit(subagent_end(TaskOutcome::Failed));
        }
    }
}
