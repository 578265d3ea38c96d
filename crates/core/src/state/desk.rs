//! Where events get their number: one after the other, on this bus and in their session.

use std::sync::{Arc, LazyLock};

use jiff::Timestamp;

use crate::event::{Body, Event, Origin, Scope};
use crate::id::{EventId, FeedName, Seq};
use crate::state::SessionRecord;

static RESOLVER: LazyLock<FeedName> = LazyLock::new(|| FeedName::new("resolver"));

/// Numbers events and hands them out.
#[derive(Debug)]
pub(crate) struct Desk<'a> {
    pub(crate) next_seq: &'a mut u64,
    pub(crate) out: &'a mut Vec<Event>,
    pub(crate) observed_at: Timestamp,
}

impl Desk<'_> {
    /// The desk for a while, for whoever needs one of his own.
    pub(crate) fn lend(&mut self) -> Desk<'_> {
        Desk { next_seq: self.next_seq, out: self.out, observed_at: self.observed_at }
    }

    /// Publishes an event of the session of `record`.
    pub(crate) fn publish(
        &mut self,
        record: &mut SessionRecord,
        (id, at): (EventId, Timestamp),
        origin: Origin,
        scope: Scope,
        body: Body,
    ) -> Seq {
        let seq = Seq(*self.next_seq);
        *self.next_seq += 1;
        record.session_seq += 1;
        record.last_seq = seq;
        self.out.push(Event {
            id,
            seq,
            session: record.state.session.clone(),
            session_seq: record.session_seq,
            at,
            observed_at: self.observed_at,
            origin,
            scope,
            body,
        });
        seq
    }
}

/// The origin of what is concluded from a draft of `origin`.
pub(crate) fn concluded(origin: &Origin) -> Origin {
    Origin {
        feed: RESOLVER.clone(),
        trust: origin.trust,
        pid: origin.pid,
        host: Arc::clone(&origin.host),
    }
}

/// The id of what is concluded from `cause`: the same conclusion of the same cause has the same id.
pub(crate) fn conclusion_id(
    record: &SessionRecord,
    cause: EventId,
    at: Timestamp,
    what: &str,
) -> EventId {
    let session = &record.state.session;
    let mut position = Vec::with_capacity(96);
    position.extend_from_slice(cause.as_uuid().as_bytes());
    for part in [session.agent.as_str(), session.id.as_str(), what] {
        position.extend_from_slice(part.as_bytes());
        position.push(0);
    }
    EventId::derive(at, &position, 0)
}
