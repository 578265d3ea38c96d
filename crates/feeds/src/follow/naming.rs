//! Names for what is read from files.

use std::path::Path;

use linelamp_core::{Draft, EventId, Timestamp};

/// Gives drafts the ids of their place in a file, the same at every reading, and no time to come.
///
/// What has no time of its own has the time of the reading, `now`, which is another each time: its id is
/// derived from `timeless`.
pub(super) fn name(
    drafts: &mut [Draft],
    path: &Path,
    place: [u64; 2],
    timeless: Timestamp,
    now: Timestamp,
) {
    let mut position = path.as_os_str().as_encoded_bytes().to_vec();
    position.push(0);
    position.extend(place.map(u64::to_be_bytes).concat());
    for (index, draft) in (0_u32..).zip(drafts) {
        let at = if draft.at == now { timeless } else { draft.at };
        draft.id = Some(EventId::derive(at, &position, index));
        draft.at = draft.at.min(now);
    }
}
