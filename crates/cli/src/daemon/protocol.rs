//! What is spoken on `control.sock`: newline-delimited JSON, one request, then answers.
//!
//! The first line both ways is a greeting with the protocol number. Unknown fields are ignored on both
//! sides, so that a client and a daemon of different releases get along.

use linelamp_core::id::SessionKey;
use linelamp_core::state::{Explanation, SessionState};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The protocol number of all sockets.
pub(crate) const PROTOCOL: u32 = 1;

/// The longest line either side reads.
pub(crate) const MAX_LINE: usize = 64 << 20;

/// The first line, both ways.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// The protocol number.
    pub(crate) linelamp: u32,
    /// `control` from the client, `daemon` from the server.
    pub(crate) role: String,
    /// The program's version.
    pub(crate) version: String,
    /// The daemon's process id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pid: Option<u32>,
}

impl Hello {
    /// This program's greeting in a role.
    pub(crate) fn new(role: &str) -> Self {
        Self {
            linelamp: PROTOCOL,
            role: role.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: (role == "daemon").then(std::process::id),
        }
    }
}

/// What a client asks for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub(crate) enum Request {
    /// The state of every session. One answer.
    Sessions,
    /// The state of every session, then every event as it comes. Answers until the client goes away.
    Watch,
    /// Why a session is in its state. One answer.
    Explain {
        /// The session, by its whole name.
        session: SessionKey,
    },
    /// How the daemon is doing. One answer.
    Health,
    /// Everything accepted so far is settled: the answer comes when the spool is empty and committed.
    Settle,
    /// Drain and end. One answer, then the daemon goes.
    Stop,
}

/// What the daemon answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub(crate) enum Response {
    /// All sessions.
    Sessions {
        /// In no particular order.
        sessions: Vec<SessionState>,
        /// Something the user should know about the daemon itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        warning: Option<String>,
    },
    /// Why a session is in its state.
    Explanation {
        /// None if there is no such session.
        explanation: Option<Box<Explanation>>,
    },
    /// One event, at the metadata level.
    Event {
        /// In its wire form.
        event: Value,
    },
    /// How the daemon is doing.
    Health {
        /// Counters by name.
        counters: Value,
    },
    /// Done.
    Ok,
    /// The request could not be served.
    Error {
        /// Why.
        message: String,
    },
}
