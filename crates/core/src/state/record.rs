//! Everything that is kept of one session: its state, the evidence behind it, and its identity keys.
//!
//! A record is what a store saves and a restart restores. It holds no content.

use serde::{Deserialize, Serialize};

use crate::id::Seq;
use crate::state::SessionState;

/// One session, restorable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// What the world sees.
    pub state: SessionState,
    /// How many events of the session were published.
    pub session_seq: u64,
    /// The newest of them.
    pub last_seq: Seq,
}
