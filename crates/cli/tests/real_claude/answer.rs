//! What the stand-in model says: answers as plain values, made by the tests.
//!
//! An [`Answer`] is one reply of the model, or one failure of the service. It knows nothing of
//! HTTP; `api` turns it into bytes.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::wait::PATIENCE;

/// One content block of a reply.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    Text(String),
    Thinking(String),
    Tool { name: String, input: Value },
}

/// One reply of the model, or one failure of the service.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) blocks: Vec<Block>,
    /// HTTP status of an error answer, and how many requests get it before the next answer's turn.
    pub(crate) error: Option<(u16, usize)>,
    /// Breaks the connection off after this many events of the stream, the first time.
    pub(crate) cut_after: Option<usize>,
    /// Pause after each event of the stream.
    pub(crate) delay: Duration,
    /// Holds the answer back before its first byte.
    pub(crate) hold: Option<Gate>,
    /// Holds the stream open, with pings, after the content and before the end of the message.
    pub(crate) hang: Option<Gate>,
}

impl Answer {
    /// A reply that says this and ends the turn.
    pub(crate) fn text(text: &str) -> Self {
        Self::default().and_text(text)
    }

    /// A reply that calls a tool.
    pub(crate) fn tool(name: &str, input: Value) -> Self {
        Self::default().and_tool(name, input)
    }

    /// A reply that runs a shell command.
    pub(crate) fn bash(command: &str) -> Self {
        Self::tool("Bash", json!({"command": command, "description": "Run a command of the test"}))
    }

    /// A reply that begins with thinking.
    pub(crate) fn thinking(text: &str) -> Self {
        Self { blocks: vec![Block::Thinking(text.to_owned())], ..Self::default() }
    }

    /// `times` requests fail with this HTTP status; then the script goes on.
    pub(crate) fn error(status: u16, times: usize) -> Self {
        Self { error: Some((status, times)), ..Self::default() }
    }

    pub(crate) fn and_text(mut self, text: &str) -> Self {
        self.blocks.push(Block::Text(text.to_owned()));
        self
    }

    pub(crate) fn and_tool(mut self, name: &str, input: Value) -> Self {
        self.blocks.push(Block::Tool { name: name.to_owned(), input });
        self
    }

    /// Breaks the stream off after this many events; asked again, it is whole.
    pub(crate) fn cut_after(mut self, events: usize) -> Self {
        self.cut_after = Some(events);
        self
    }

    /// Streams slowly.
    pub(crate) fn delay(mut self, pause: Duration) -> Self {
        self.delay = pause;
        self
    }

    /// Sends nothing at all until the gate is opened.
    pub(crate) fn held_by(mut self, gate: &Gate) -> Self {
        self.hold = Some(gate.clone());
        self
    }

    /// Streams the content, then keeps the message open until the gate is opened.
    pub(crate) fn hanging_on(mut self, gate: &Gate) -> Self {
        self.hang = Some(gate.clone());
        self
    }

    /// Whether it asks for tools, so that the turn goes on after it.
    pub(crate) fn calls_tools(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, Block::Tool { .. }))
    }

    /// Opens whatever holds this answer back.
    pub(crate) fn release(&self) {
        self.hold.iter().chain(&self.hang).for_each(Gate::open);
    }
}

/// A point that an answer does not pass until the test opens it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gate(Arc<(Mutex<State>, Condvar)>);

#[derive(Debug, Default)]
struct State {
    reached: bool,
    open: bool,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Lets answers pass, now and later.
    pub(crate) fn open(&self) {
        self.state().open = true;
        self.0.1.notify_all();
    }

    /// Waits until an answer stands at the gate: the turn is certainly in flight then.
    ///
    /// # Panics
    ///
    /// When none comes.
    pub(crate) fn wait_reached(&self) {
        let (state, _) = self
            .0
            .1
            .wait_timeout_while(self.state(), PATIENCE, |state| !state.reached)
            .unwrap_or_else(PoisonError::into_inner);
        assert!(state.reached, "no request reached the gate in {PATIENCE:?}");
    }

    /// Used by the server: reports that an answer stands here and waits up to `pause`. Says
    /// whether the gate is open.
    pub(crate) fn pass(&self, pause: Duration) -> bool {
        let mut state = self.state();
        state.reached = true;
        self.0.1.notify_all();
        let (state, _) = self
            .0
            .1
            .wait_timeout_while(state, pause, |state| !state.open)
            .unwrap_or_else(PoisonError::into_inner);
        state.open
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
