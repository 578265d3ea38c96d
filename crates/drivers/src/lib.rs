//! What linelamp knows about each coding agent, one folder per agent.
//!
//! A driver turns the raw signals of its agent into drafts of events and knows how to find and
//! recognise the agent. Drivers do no transport: bytes come from a feed, drafts go to whoever
//! asked. Start with [`claude_code`], with [`mod@line`] for how bytes become lines and with [`json`]
//! for how lines are read.
//!
//! ```
//! use linelamp_core::Timestamp;
//! use linelamp_core::digest::Digester;
//! use linelamp_core::driver::{DecoderOptions, Direction, Driver, Raw, Reading, Source};
//! use linelamp_drivers::claude_code::ClaudeCode;
//!
//! let options = DecoderOptions::new(Reading::State, Digester::new(&[0; 32]));
//! let mut decoder = ClaudeCode::new().decoder(Source::Stream, options).expect("it has a stream");
//! let mut drafts = Vec::new();
//! let line = br#"{"type":"system","subtype":"init","session_id":"s1","model":"m"}"#;
//! let raw = Raw::Line { direction: Direction::FromAgent, bytes: line };
//! decoder.push(raw, Timestamp::UNIX_EPOCH, &mut drafts);
//! let kinds: Vec<&str> = drafts.iter().map(|draft| draft.body.kind()).collect();
//! assert_eq!(kinds, ["session.started", "turn.started"]);
//! ```

pub mod claude_code;
pub mod json;
pub mod line;
