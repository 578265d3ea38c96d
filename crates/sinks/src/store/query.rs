//! What a reader can ask for.

use jiff::Timestamp;
use linelamp_core::event::wire::WireError;
use linelamp_core::id::AgentName;
use linelamp_core::{Event, Seq, SessionKey};

/// Which sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionQuery {
    /// Of this agent only.
    pub agent: Option<AgentName>,
    /// Of the ended ones, those last seen at this time or later; without it none.
    pub ended_since: Option<Timestamp>,
}

/// Which events. All conditions must hold; the default asks for everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventQuery {
    /// Of this session only.
    pub session: Option<SessionKey>,
    /// Observed at this time or later.
    pub since: Option<Timestamp>,
    /// Of one of these kinds; `tool.*` stands for all that begin so. Empty: of any kind.
    pub kinds: Vec<String>,
    /// After this order number.
    pub after: Seq,
    /// At most so many, from the oldest on.
    pub limit: Option<usize>,
    /// Only the newest so many, still in order. Applied before `limit`.
    pub newest: Option<usize>,
}

/// One event as it was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    /// Its order number.
    pub seq: Seq,
    /// Its kind.
    pub kind: String,
    /// The whole event as one line of JSON.
    pub json: String,
}

impl StoredEvent {
    /// The event itself.
    ///
    /// # Errors
    ///
    /// [`WireError`] if a newer version wrote it.
    pub fn event(&self) -> Result<Event, WireError> {
        Event::from_json(&self.json)
    }
}
