//! The rules a draft must keep before it is let in.
//!
//! What breaks them is a fault of a feed or a plugin, not of the agent: it is counted and refused, and
//! the feed goes on.

use crate::draft::Draft;
use crate::event::{Body, Content};

/// The longest agent name.
const MAX_AGENT: usize = 64;
/// The longest native session id.
const MAX_SESSION: usize = 512;

/// Says what is wrong with a draft, if anything is.
pub(super) fn check(draft: &Draft) -> Result<(), &'static str> {
    let agent = draft.session.agent.as_str();
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if agent.is_empty() || agent.len() > MAX_AGENT || !agent.bytes().all(known) {
        return Err("agent is no name");
    }
    let id = draft.session.id.as_str();
    if id.is_empty() || id.len() > MAX_SESSION || id.chars().any(char::is_control) {
        return Err("session id is empty, too long or not printable");
    }
    match &draft.body {
        Body::StatusChanged(_) => Err("only the resolver says status.changed"),
        Body::BusGap(_) | Body::BusSnapshot(_) | Body::BusSinkStatus(_) => {
            Err("only the bus says bus.*")
        }
        Body::Unknown { kind, .. } if kind.starts_with("bus.") => Err("only the bus says bus.*"),
        Body::Unknown { kind, .. } if kind.is_empty() => Err("kind is empty"),
        Body::MessageDelta(delta) => piece(delta.offset, Some(&delta.text)),
        Body::ToolProgress(progress) => piece(progress.offset, progress.output.as_ref()),
        _ => Ok(()),
    }
}

/// A piece is joined with its neighbours by offset and size, so both must be true.
fn piece(offset: u64, text: Option<&Content>) -> Result<(), &'static str> {
    let Some(text) = text else { return Ok(()) };
    if text.value.as_ref().is_some_and(|value| value.len() as u64 != text.size) {
        return Err("size is not that of the text");
    }
    match offset.checked_add(text.size) {
        Some(_) => Ok(()),
        None => Err("offset is out of range"),
    }
}
