//! Tool calls between their start and their result.

use std::collections::HashMap;

use linelamp_core::event::{Content, DecidedBy, Decision};
use linelamp_core::id::ToolName;

/// Calls remembered. Each is forgotten at its result; the bound is for results that never come.
const CALLS: usize = 1024;

/// What is known of a call.
#[derive(Debug, Clone, Default)]
pub(super) struct Call {
    pub(super) tool: Option<ToolName>,
    /// Its input asked for the background.
    pub(super) background: bool,
    /// How its request was settled.
    pub(super) decision: Option<(Decision, DecidedBy)>,
    /// The agent's word for a refusal.
    pub(super) refusal: Option<String>,
    /// The plan it puts forward: the request about it comes without.
    pub(super) plan: Option<Content>,
}

/// Calls by id.
#[derive(Debug, Default)]
pub(super) struct Calls(HashMap<String, Call>);

impl Calls {
    /// The entry of `id`, made if there is none.
    pub(super) fn entry(&mut self, id: &str) -> &mut Call {
        if self.0.len() >= CALLS && !self.0.contains_key(id) {
            self.0.clear();
        }
        self.0.entry(id.to_owned()).or_default()
    }

    pub(super) fn get(&self, id: &str) -> Option<&Call> {
        self.0.get(id)
    }

    /// Forgets `id` and returns what was known of it.
    pub(super) fn take(&mut self, id: &str) -> Call {
        self.0.remove(id).unwrap_or_default()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
