//! The ledger of message blocks: joins the pieces of a stream with the whole blocks that follow.
//!
//! The agent sends one line per finished block, with or without pieces before it, and several lines
//! share one message id. The ledger gives each block its number, so that pieces and whole are one
//! block, knows what must be retracted when a message is made again, and holds the text of blocks
//! whose end never came.

use std::collections::VecDeque;

use linelamp_core::event::{BlockKind, Scope};
use linelamp_core::id::MessageId;

/// Messages remembered; older ones are whole long since.
const MESSAGES: usize = 64;
/// Lines remembered by their uuid, for duplicates and retractions.
const LINES: usize = 128;
/// Highest block number taken from the stream.
const BLOCKS: usize = 4096;

/// Where a block stands.
pub(super) type Place = (MessageId, u32);

#[derive(Debug)]
struct Message {
    id: MessageId,
    scope: Scope,
    blocks: Vec<Block>,
    /// Pieces still come in.
    streaming: bool,
}

#[derive(Debug)]
struct Block {
    kind: BlockKind,
    /// Bytes told so far, and their text while the block is open.
    told: u64,
    text: String,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// Pieces are missing: no more are told, the whole block still is.
    Torn,
    Done,
    Retracted,
}

/// A block whose end never came.
#[derive(Debug)]
pub(super) struct Unfinished {
    pub(super) place: Place,
    pub(super) kind: BlockKind,
    pub(super) text: String,
}

/// See the module page.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    messages: VecDeque<Message>,
    lines: VecDeque<(String, Place)>,
}

impl Ledger {
    /// A message begins to stream. If another one of that scope was streaming and is not whole, it
    /// is being made again: returns from where it does not count.
    pub(super) fn start(&mut self, scope: &Scope, id: MessageId) -> Option<Place> {
        let dropped = self.streaming(scope).and_then(|old| {
            old.streaming = false;
            if old.id == id {
                return None;
            }
            let first = old.blocks.iter().position(Block::is_open)?;
            old.retract(first)
        });
        let message = self.message(scope, id);
        message.streaming = true;
        dropped
    }

    /// Block `index` of the streaming message begins.
    pub(super) fn open(&mut self, scope: &Scope, index: u64, kind: BlockKind) {
        let Some(index) = usize::try_from(index).ok().filter(|index| *index < BLOCKS) else {
            return;
        };
        if let Some(message) = self.streaming(scope) {
            while message.blocks.len() < index {
                message.blocks.push(Block::new(BlockKind::Other));
            }
            if message.blocks.len() == index {
                message.blocks.push(Block::new(kind));
            }
        }
    }

    /// A piece of block `index`; returns where it stands and how much was told before it.
    pub(super) fn piece(
        &mut self,
        scope: &Scope,
        index: u64,
        text: &str,
    ) -> Option<(Place, BlockKind, u64)> {
        let message = self.streaming(scope)?;
        let block = message.blocks.get_mut(usize::try_from(index).ok()?)?;
        if block.state != State::Open {
            return None;
        }
        let offset = block.told;
        block.told += text.len() as u64;
        block.text.push_str(text);
        Some(((message.id.clone(), u32::try_from(index).ok()?), block.kind, offset))
    }

    /// The streaming message is over; blocks from `abandoned` on do not count.
    pub(super) fn stop(&mut self, scope: &Scope, abandoned: Option<u64>) -> Option<Place> {
        let message = self.streaming(scope)?;
        message.streaming = false;
        message.retract(usize::try_from(abandoned?).ok()?)
    }

    /// A whole block of message `id`: returns where it stands.
    pub(super) fn complete(&mut self, scope: &Scope, id: MessageId, kind: BlockKind) -> Place {
        let message = self.message(scope, id);
        let open = message.blocks.iter().position(|block| block.is_open() && block.kind == kind);
        let index = open.unwrap_or_else(|| {
            message.blocks.push(Block::new(kind));
            message.blocks.len() - 1
        });
        let block = &mut message.blocks[index];
        block.state = State::Done;
        block.text = String::new();
        (message.id.clone(), u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// Blocks of `scope` that were told in part and will not be told whole.
    pub(super) fn finish(&mut self, scope: &Scope) -> Vec<Unfinished> {
        let mut unfinished = Vec::new();
        for message in self.messages.iter_mut().filter(|message| message.scope == *scope) {
            message.streaming = false;
            for (index, block) in message.blocks.iter_mut().enumerate() {
                if block.is_open() && block.told > 0 {
                    unfinished.push(Unfinished {
                        place: (message.id.clone(), u32::try_from(index).unwrap_or(u32::MAX)),
                        kind: block.kind,
                        text: std::mem::take(&mut block.text),
                    });
                }
                if block.is_open() {
                    block.state = State::Done;
                }
            }
        }
        unfinished
    }

    /// Lines are missing: pieces on both sides do not join.
    pub(super) fn tear(&mut self) {
        for message in &mut self.messages {
            message.streaming = false;
            for block in message.blocks.iter_mut().filter(|block| block.is_open()) {
                block.state = State::Torn;
                block.text = String::new();
            }
        }
    }

    /// Remembers which line told a block.
    pub(super) fn remember(&mut self, uuid: String, place: Place) {
        if self.lines.len() == LINES {
            self.lines.pop_front();
        }
        self.lines.push_back((uuid, place));
    }

    /// The block that the line `uuid` told.
    pub(super) fn told_by(&self, uuid: &str) -> Option<&Place> {
        self.lines.iter().rev().find(|(line, _)| line == uuid).map(|(_, place)| place)
    }

    /// What the line `uuid` told does not count; returns from where.
    pub(super) fn retract_line(&mut self, uuid: &str) -> Option<Place> {
        let (id, block) = self.told_by(uuid)?.clone();
        let message = self.messages.iter_mut().find(|message| message.id == id)?;
        message.retract(usize::try_from(block).ok()?)
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    fn streaming(&mut self, scope: &Scope) -> Option<&mut Message> {
        self.messages.iter_mut().rev().find(|message| message.streaming && message.scope == *scope)
    }

    fn message(&mut self, scope: &Scope, id: MessageId) -> &mut Message {
        if let Some(at) = self.messages.iter().rposition(|message| message.id == id) {
            return &mut self.messages[at];
        }
        if self.messages.len() == MESSAGES {
            self.messages.pop_front();
        }
        let scope = scope.clone();
        self.messages.push_back(Message { id, scope, blocks: Vec::new(), streaming: false });
        self.messages.back_mut().expect("a message was just pushed")
    }
}

impl Message {
    fn retract(&mut self, from: usize) -> Option<Place> {
        let mut told = false;
        for block in self.blocks.iter_mut().skip(from) {
            told |= block.state != State::Retracted && (block.told > 0 || !block.is_open());
            block.state = State::Retracted;
            block.text = String::new();
        }
        told.then(|| (self.id.clone(), u32::try_from(from).unwrap_or(u32::MAX)))
    }
}

impl Block {
    fn new(kind: BlockKind) -> Self {
        Self { kind, told: 0, text: String::new(), state: State::Open }
    }

    /// Not yet told whole.
    fn is_open(&self) -> bool {
        matches!(self.state, State::Open | State::Torn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> MessageId {
        MessageId::new(text)
    }

    #[test]
    fn pieces_and_the_whole_are_one_block() {
        let mut ledger = Ledger::default();
        assert!(ledger.start(&Scope::Main, id("m")).is_none());
        ledger.open(&Scope::Main, 0, BlockKind::Thought);
        ledger.piece(&Scope::Main, 0, "hm");
        let thought = ledger.complete(&Scope::Main, id("m"), BlockKind::Thought);
        ledger.open(&Scope::Main, 1, BlockKind::Text);
        let (place, _, offset) = ledger.piece(&Scope::Main, 1, "a").expect("a piece");
        assert_eq!((place.1, offset), (1, 0));
        let (_, _, offset) = ledger.piece(&Scope::Main, 1, "b").expect("a piece");
        assert_eq!(offset, 1);
        let text = ledger.complete(&Scope::Main, id("m"), BlockKind::Text);
        assert_eq!((thought.1, text.1), (0, 1));
        assert!(ledger.piece(&Scope::Main, 1, "late").is_none());
        assert!(ledger.finish(&Scope::Main).is_empty());
    }

    #[test]
    fn blocks_without_pieces_are_counted() {
        let mut ledger = Ledger::default();
        let places: Vec<u32> = [BlockKind::Text, BlockKind::Other, BlockKind::Text]
            .map(|kind| ledger.complete(&Scope::Main, id("m"), kind).1)
            .into();
        assert_eq!(places, [0, 1, 2]);
    }

    #[test]
    fn a_message_made_again_retracts_what_was_not_whole() {
        let mut ledger = Ledger::default();
        ledger.start(&Scope::Main, id("m1"));
        ledger.open(&Scope::Main, 0, BlockKind::Text);
        ledger.piece(&Scope::Main, 0, "half");
        assert_eq!(ledger.start(&Scope::Main, id("m2")), Some((id("m1"), 0)));
        assert!(ledger.finish(&Scope::Main).is_empty());
    }

    #[test]
    fn abandoned_blocks_that_were_never_told_retract_nothing() {
        let mut ledger = Ledger::default();
        ledger.start(&Scope::Main, id("m"));
        ledger.open(&Scope::Main, 0, BlockKind::Text);
        ledger.piece(&Scope::Main, 0, "half");
        ledger.complete(&Scope::Main, id("m"), BlockKind::Text);
        assert_eq!(ledger.stop(&Scope::Main, Some(1)), None);
    }

    #[test]
    fn after_a_tear_only_whole_blocks_come() {
        let mut ledger = Ledger::default();
        ledger.start(&Scope::Main, id("m"));
        ledger.open(&Scope::Main, 0, BlockKind::Text);
        ledger.piece(&Scope::Main, 0, "a");
        ledger.tear();
        assert!(ledger.piece(&Scope::Main, 0, "c").is_none());
        assert_eq!(ledger.complete(&Scope::Main, id("m"), BlockKind::Text).1, 0);
    }

    #[test]
    fn a_huge_block_number_is_not_believed() {
        let mut ledger = Ledger::default();
        ledger.start(&Scope::Main, id("m"));
        ledger.open(&Scope::Main, u64::MAX, BlockKind::Text);
        ledger.open(&Scope::Main, 1 << 40, BlockKind::Text);
        assert_eq!(ledger.complete(&Scope::Main, id("m"), BlockKind::Text).1, 0);
    }
}
