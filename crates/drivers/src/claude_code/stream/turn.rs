//! Turns: what begins one, which prompts belong to it.
//!
//! A prompt begins a turn when none is open; otherwise it waits for its own or is folded into the
//! open one. `init` begins a turn that no prompt of the host asked for. Nothing else does, so that
//! replayed lines and late lines of subagents never reopen a turn that is over.

use std::collections::VecDeque;

use jiff::Timestamp;
use linelamp_core::driver::Decoded;
use linelamp_core::event::{BlockKind, ErrorKind, MessageCompleted, Role, TurnOrigin, TurnStarted};
use linelamp_core::id::{MessageId, TurnId};

use super::decoder::StreamDecoder;
use super::head::Head;
use crate::claude_code::word;
use crate::json::Raw;

/// Prompts remembered while unanswered.
const PROMPTS: usize = 1024;

/// One open turn.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about one turn")]
pub(super) struct Turn {
    pub(super) id: TurnId,
    pub(super) origin: TurnOrigin,
    /// Its `init` was seen.
    pub(super) began: bool,
    /// The host asked for an interrupt.
    pub(super) interrupted: bool,
    /// A hook kept the prompt from the model.
    pub(super) blocked: bool,
    /// The model declined.
    pub(super) refused: bool,
    /// The last failure the model API reported.
    pub(super) error: Option<ErrorKind>,
    /// The last try got no answer at all.
    pub(super) unreachable: bool,
    /// A limit was reached: when it is lifted.
    pub(super) resets_at: Option<Timestamp>,
}

/// A prompt that was sent.
#[derive(Debug, Clone)]
pub(super) struct Prompt {
    /// The host's id, where it gave one.
    pub(super) uuid: Option<String>,
    /// It began the open turn or was folded into it; otherwise it will have a turn of its own.
    pub(super) taken: bool,
}

/// The open turn and the prompts that wait.
#[derive(Debug, Default)]
pub(super) struct Turns {
    pub(super) open: Option<Turn>,
    /// Prompts sent and not settled.
    pub(super) prompts: VecDeque<Prompt>,
    /// A background task ended since the last turn began: it will wake the agent.
    pub(super) woken: bool,
    /// The last turn that ended did not complete.
    pub(super) failed: bool,
    /// The open turn ended with its session, at `/clear`; an `init` and a result of the command are
    /// still to come, in the new session, and begin no turn.
    pub(super) cleared: bool,
}

impl Turns {
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// The agent takes up what waits: at the start of a turn, and at a tool's result.
    pub(super) fn take_prompts(&mut self) {
        for prompt in &mut self.prompts {
            prompt.taken = true;
        }
    }

    pub(super) fn id(&self) -> Option<&TurnId> {
        self.open.as_ref().map(|turn| &turn.id)
    }
}

impl StreamDecoder {
    /// Begins a turn.
    pub(super) fn begin_turn(&mut self, origin: TurnOrigin, began: bool, synthetic: bool) {
        let id = TurnId::new(self.outlet.mint());
        self.outlet.main(TurnStarted { turn: id.clone(), origin, synthetic });
        self.turns.woken = false;
        self.turns.open = Some(Turn {
            id,
            origin,
            began,
            interrupted: false,
            blocked: false,
            refused: false,
            error: None,
            unreachable: false,
            resets_at: None,
        });
    }

    /// `init` was seen: it belongs to the open turn, or begins one, or is what is left of `/clear`.
    pub(super) fn turn_inits(&mut self) {
        if self.turns.cleared && !self.turns.is_open() {
            return;
        }
        self.turns.take_prompts();
        if let Some(turn) = &mut self.turns.open {
            turn.began = true;
        } else {
            let unasked = self.turns.woken && self.turns.prompts.is_empty();
            let origin = if unasked { TurnOrigin::Task } else { TurnOrigin::Human };
            self.begin_turn(origin, true, unasked);
        }
    }

    /// The host's prompt on the agent's input.
    pub(super) fn prompt(&mut self, head: &Head<'_>) -> Decoded {
        let [query, origin, synthetic] = head.fields(&["shouldQuery", "origin", "isSynthetic"]);
        let uuid = head.uuid.and_then(Raw::id).map(std::borrow::Cow::into_owned);
        let asks = query.and_then(Raw::bool) != Some(false);
        let taken = !self.turns.is_open();
        if asks && taken {
            let origin = origin
                .and_then(|origin| origin.get("kind"))
                .and_then(Raw::str)
                .map_or(TurnOrigin::Human, |kind| word::origin(&kind));
            self.begin_turn(origin, false, synthetic.and_then(Raw::bool) == Some(true));
        }
        if self.private.is_full() {
            self.prompt_content(head, uuid.as_deref());
        }
        if asks && self.turns.prompts.len() < PROMPTS {
            self.turns.prompts.push_back(Prompt { uuid, taken });
        }
        Decoded::Understood
    }

    fn prompt_content(&mut self, head: &Head<'_>, uuid: Option<&str>) {
        let message = uuid.map_or_else(|| MessageId::new(self.outlet.mint()), MessageId::new);
        let content = head.message.and_then(|message| message.get("content"));
        let parts = self.private.parts(content);
        for (block, part) in parts.into_iter().enumerate() {
            self.outlet.main(MessageCompleted {
                message: message.clone(),
                block: u32::try_from(block).unwrap_or(u32::MAX),
                block_kind: match part.kind {
                    BlockKind::Thought => BlockKind::Other,
                    kind => kind,
                },
                role: Role::User,
                text: part.data,
                aborted: false,
                synthetic: false,
                media_type: part.media_type,
            });
        }
    }

    /// `command_lifecycle`: a prompt that was cancelled will never be answered.
    pub(super) fn command_lifecycle(&mut self, head: &Head<'_>) -> Decoded {
        let [uuid, state] = head.fields(&["command_uuid", "state"]);
        if state.is_some_and(|state| state.is("cancelled"))
            && let Some(uuid) = uuid.and_then(Raw::id)
        {
            self.turns.prompts.retain(|prompt| prompt.uuid.as_deref() != Some(&*uuid));
        }
        Decoded::Understood
    }
}
