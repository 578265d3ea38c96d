//! What a client's drafts must keep to before they are published.

use linelamp_core::event::Body;
use linelamp_core::journal::Position;
use linelamp_core::{Draft, EventId, Timestamp};

/// Drops drafts of kinds that only the bus and the resolver make, and gives the number of them. The rest
/// gets an id from its position where it has none, its time moved by `step_ms`, and never a time to come.
pub(super) fn admit(
    drafts: &mut Vec<Draft>,
    position: &Position,
    step_ms: i64,
    now: Timestamp,
) -> u64 {
    let before = drafts.len();
    drafts.retain(|draft| is_a_clients(&draft.body));
    for (index, draft) in (0_u32..).zip(drafts.iter_mut()) {
        if draft.id.is_none() {
            draft.id = Some(EventId::derive(draft.at, position.0.as_bytes(), index));
        }
        let moved = draft.at.as_millisecond().saturating_add(step_ms);
        if step_ms != 0
            && let Ok(moved) = Timestamp::from_millisecond(moved)
        {
            draft.at = moved;
        }
        draft.at = draft.at.min(now);
    }
    (before - drafts.len()) as u64
}

fn is_a_clients(body: &Body) -> bool {
    let kind = body.kind();
    kind != "status.changed" && kind != "bus" && !kind.starts_with("bus.")
}

#[cfg(test)]
mod tests {
    use linelamp_core::SessionKey;
    use linelamp_core::event::{ModeChanged, Status, StatusChanged};

    use super::*;

    #[test]
    fn kinds_of_the_bus_are_refused_and_the_rest_gets_ids_and_times() {
        let session = SessionKey::new("claude-code", "s");
        let at = Timestamp::constant(1_800_000_000, 0);
        let claimed = StatusChanged {
            from: None,
            to: Status::Ended,
            waiting_for: None,
            background: 0,
            activity: None,
            outcome: None,
            error: None,
            because: Vec::new(),
        };
        let mode = ModeChanged { mode: "plan".into(), from: None };
        let unknown = Body::Unknown { kind: "bus.more".into(), data: serde_json::Value::Null };
        let mut drafts = vec![
            Draft::new(session.clone(), at, claimed),
            Draft::new(session.clone(), at, unknown),
            Draft::new(session, at, mode),
        ];
        let position = Position::new("wrap/a/1");
        let now = Timestamp::constant(1_800_000_001, 0);
        assert_eq!(admit(&mut drafts, &position, 5_000, now), 2);
        assert_eq!(drafts.len(), 1);
        assert_eq!(drafts[0].id, Some(EventId::derive(at, b"wrap/a/1", 0)));
        assert_eq!(drafts[0].at, now);
    }
}
