//! What linelamp knows about each coding agent, one folder per agent.
//!
//! A driver turns the raw signals of its agent into drafts of events and knows how to find and
//! recognise the agent. Drivers do no transport: bytes come from a feed, drafts go to whoever
//! asked. Start with [`line`] for how bytes become lines and with [`json`] for how lines are read.

pub mod json;
pub mod line;
