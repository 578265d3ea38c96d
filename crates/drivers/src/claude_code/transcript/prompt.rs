//! What a `user` line is: a prompt, results of tools, the mark of an interrupt, or the program's own words.

use linelamp_core::driver::Decoded;
use linelamp_core::event::{
    BlockKind, CompactionEnded, CompactionTrigger, MessageCompleted, Role, Scope, SubagentEnded,
    SubagentStarted, TaskOutcome, TurnEnded, TurnOrigin, TurnOutcome, TurnStarted,
};
use linelamp_core::id::{MessageId, TaskId};

use super::decoder::{Compact, Outbox, TranscriptDecoder};
use super::line::{Line, is_true};
use crate::claude_code::word;
use crate::json::Raw;

/// How the program marks that a person stopped it.
const INTERRUPTED: &str = "[Request interrupted by user";

/// How a prompt begins that the agent wrote to itself when a task ended.
const NOTIFICATION: &[u8] = b"<task-notification>";

/// How the line of a command begins that shortens the conversation.
const COMPACT: &[u8] = b"<command-name>/compact<";

/// How the output of a command of the program itself begins.
const LOCAL_OUTPUT: &[u8] = b"<local-command-std";

/// How lines begin that a command of the program itself left behind: no turn comes of them.
const LOCAL: [&[u8]; 5] =
    [b"<command-name>", b"<local-command-", b"<bash-input>", b"<bash-stdout>", b"<bash-stderr>"];

impl TranscriptDecoder {
    pub(super) fn user(&mut self, line: &Line<'_>, out: &mut Outbox<'_>) -> Decoded {
        let content = line.message.and_then(|message| message.get("content"));
        let Some(content) = content else { return Decoded::Malformed };
        if content.elements().any(|block| kind(block).is_some_and(|kind| kind.is("tool_result"))) {
            self.tool_results(line, content, out);
            return Decoded::Understood;
        }
        let [source, origin, from, summary] =
            line.fields(&["promptSource", "turnOrigin", "origin", "isCompactSummary"]);
        if line.is_meta() || is_true(summary) {
            return Decoded::Understood;
        }
        let said = content.elements().find_map(|block| block.get("text")).unwrap_or(content);
        let text = said.quoted().unwrap_or_default();
        if source.is_none() && origin.is_none() {
            if text.starts_with(INTERRUPTED.as_bytes()) {
                self.interrupted(out);
                return Decoded::Understood;
            }
            if LOCAL.iter().any(|local| text.starts_with(local)) {
                self.local_command(text, out);
                return Decoded::Understood;
            }
        }
        self.called_off = false;
        if out.is_main() {
            let kind = from.and_then(|from| from.get("kind")).or(origin).and_then(Raw::str);
            let by_itself = text.starts_with(NOTIFICATION);
            let origin = match kind.as_deref() {
                _ if by_itself => TurnOrigin::Task,
                Some(word) => word::origin(&word.replace('_', "-")),
                None => TurnOrigin::Human,
            };
            let synthetic = origin == TurnOrigin::Task;
            out.emit(TurnStarted { turn: self.turn(), origin, synthetic });
            self.prompt_told(line, content, synthetic, out);
        } else {
            self.introduce(out);
        }
        Decoded::Understood
    }

    /// A command of the program itself.
    pub(super) fn local_command(&mut self, text: &[u8], out: &mut Outbox<'_>) {
        if text.starts_with(COMPACT) {
            self.compact = match self.compact {
                Compact::Done => Compact::Unknown,
                _ => Compact::Asked,
            };
        } else if text.starts_with(LOCAL_OUTPUT)
            && std::mem::take(&mut self.compact) == Compact::Asked
        {
            out.emit(CompactionEnded {
                trigger: Some(CompactionTrigger::Manual),
                failed: true,
                tokens_before: None,
                tokens_after: None,
                duration_ms: None,
                summary: None,
            });
        }
    }

    fn prompt_told(
        &self,
        line: &Line<'_>,
        content: Raw<'_>,
        synthetic: bool,
        out: &mut Outbox<'_>,
    ) {
        if !self.private.is_full() {
            return;
        }
        let uuid = line.uuid.and_then(Raw::id);
        for (block, part) in (0..).zip(self.private.parts(Some(content))) {
            let message = uuid.as_deref().map_or_else(MessageId::default, MessageId::new);
            let is_prompt = block == 0 && part.kind == BlockKind::Text;
            let prompt = line.prompt.filter(|_| is_prompt).and_then(Raw::id);
            let alias = prompt.map(|id| format!("prompt:{id}"));
            out.emit(MessageCompleted {
                message,
                block,
                block_kind: part.kind,
                role: Role::User,
                text: part.data,
                aborted: false,
                synthetic,
                media_type: part.media_type,
            })
            .hints
            .aliases
            .extend(alias);
        }
    }

    /// The subagent whose file it is.
    pub(super) fn introduce(&mut self, out: &mut Outbox<'_>) {
        if std::mem::replace(&mut self.introduced, true) {
            return;
        }
        let task = self.own_task();
        out.emit(SubagentStarted {
            call: None,
            agent_type: None,
            description: None,
            background: false,
            task,
        });
    }

    fn own_task(&self) -> Option<TaskId> {
        match &self.file.scope {
            Scope::Child(scope) => Some(TaskId::new(scope.as_str())),
            Scope::Main => None,
        }
    }

    fn interrupted(&self, out: &mut Outbox<'_>) {
        if out.is_main() {
            out.emit(self.turn_end(TurnOutcome::Interrupted));
        } else {
            out.emit(subagent_end(TaskOutcome::Stopped));
        }
    }

    /// The end of the turn the lines belong to.
    pub(super) fn turn_end(&self, outcome: TurnOutcome) -> TurnEnded {
        TurnEnded::new(self.turn(), outcome)
    }
}

/// The end of the subagent whose file it is.
pub(super) fn subagent_end(outcome: TaskOutcome) -> SubagentEnded {
    SubagentEnded {
        outcome,
        call: None,
        report: None,
        tokens: None,
        tool_uses: None,
        duration_ms: None,
    }
}

fn kind(block: Raw<'_>) -> Option<Raw<'_>> {
    block.get("type")
}
