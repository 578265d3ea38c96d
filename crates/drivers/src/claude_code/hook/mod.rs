//! Reads hook payloads, each by itself.
//!
//! A payload says which session and whose it is, so nothing is remembered between two of them:
//! they come from separate processes, in any order, sometimes twice. What needs the others (which
//! call a permission request is about, whether a turn was already told) is left to identity in
//! core, which gets hints. Start at `decoder`.

mod decoder;
mod payload;
mod session;
mod tool;
mod turn;

pub use decoder::HookDecoder;
