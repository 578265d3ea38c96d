//! Joins pieces of a message, or of a tool's output, that wait one behind the other.

use std::sync::Arc;

use crate::event::{Body, Content, Event};

/// A joined piece grows no longer than this; then a new one begins. So a long message is copied once,
/// not again for each of its pieces.
pub(super) const MAX_PIECE: u64 = 16 * 1_024;

/// Bytes by which `queued` would grow if `next` were joined to it; none if they cannot be joined.
pub(super) fn growth(queued: &Event, next: &Event) -> Option<usize> {
    if queued.scope != next.scope || queued.origin.feed != next.origin.feed {
        return None;
    }
    match (&queued.body, &next.body) {
        (Body::MessageDelta(queued), Body::MessageDelta(next)) => {
            let same = queued.block_kind == next.block_kind;
            let joins = same && contiguous(queued.offset, &queued.text, next.offset, &next.text);
            joins.then(|| held(&next.text))
        }
        (Body::ToolProgress(queued), Body::ToolProgress(next)) => {
            match (&queued.output, &next.output) {
                (Some(a), Some(b)) => contiguous(queued.offset, a, next.offset, b).then(|| held(b)),
                // A sign of life without output moves nothing.
                (Some(a), None) => {
                    (queued.offset.checked_add(a.size) == Some(next.offset)).then_some(0)
                }
                (None, output) => {
                    (queued.offset == next.offset).then(|| output.as_ref().map_or(0, held))
                }
            }
        }
        _ => None,
    }
}

/// Joins `next` to `queued`; only after [`growth`] allowed it. The joined piece keeps the first one's
/// number and id, so that the order of what waits stays the order of numbers.
pub(super) fn join(queued: &mut Arc<Event>, next: &Event) {
    // Copied at most once: afterwards nobody else holds the joined piece.
    match (&mut Arc::make_mut(queued).body, &next.body) {
        (Body::MessageDelta(queued), Body::MessageDelta(next)) => {
            append(&mut queued.text, &next.text);
        }
        (Body::ToolProgress(queued), Body::ToolProgress(next)) => {
            match (&mut queued.output, &next.output) {
                (Some(a), Some(b)) => append(a, b),
                (none @ None, Some(b)) => *none = Some(b.clone()),
                (_, None) => {}
            }
            queued.elapsed_ms = next.elapsed_ms.or(queued.elapsed_ms);
            queued.tool = queued.tool.take().or_else(|| next.tool.clone());
        }
        _ => {}
    }
}

fn contiguous(offset: u64, queued: &Content, next_offset: u64, next: &Content) -> bool {
    let end = offset.checked_add(queued.size);
    let whole = queued.size.saturating_add(next.size);
    end == Some(next_offset) && whole <= MAX_PIECE && queued.value.is_some() == next.value.is_some()
}

fn append(queued: &mut Content, next: &Content) {
    queued.size += next.size;
    if let (Some(text), Some(more)) = (&mut queued.value, &next.value) {
        text.push_str(more);
    }
}

/// Bytes of text that are really there.
fn held(content: &Content) -> usize {
    content.value.as_ref().map_or(0, String::len)
}
