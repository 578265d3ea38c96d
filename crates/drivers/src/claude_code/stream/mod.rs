//! Reads both directions of `stream-json`.
//!
//! One decoder follows one process over its whole life: sessions that replace one another, turns,
//! blocks of messages, calls, open requests, tasks. It reads fields off the bytes and builds no
//! tree of a line. It never decides whether a session works or waits, only what was said; and it
//! publishes nothing before the stream has named its session. Start at `decoder`.

mod block;
mod call;
mod control;
mod cost;
mod decoder;
mod exit;
mod head;
mod message;
mod outcome;
mod outlet;
mod partial;
mod request;
mod result;
mod session;
mod system;
mod task;
mod tool;
mod turn;

pub use decoder::StreamDecoder;
