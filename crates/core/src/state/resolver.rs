//! One draft in, the events it makes out: identity first, then state.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::draft::Draft;
use crate::event::{Body, Event, Origin, StartSource, Status, Trust};
use crate::id::{EventId, FeedName, Seq, SessionKey};
use crate::process::ProcessRef;
use crate::state::apply::shows_life;
use crate::state::begin::{end_as_said, first_state, watch};
use crate::state::desk::Desk;
use crate::state::explain::Explanation;
use crate::state::identity::held::release;
use crate::state::intake::Intake;
use crate::state::ledger::Start;
use crate::state::lineage::Processes;
use crate::state::record::Watch;
use crate::state::rules::{LIMITS, SKEW};
use crate::state::settle::{Unsettled, settle};
use crate::state::stamp::{Sign, Stamp};
use crate::state::word::let_go;
use crate::state::{Link, SessionRecord, SessionState};

/// What became of a draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was news and is published under this number.
    New(Seq),
    /// It had been published already, under this number (zero if that is no longer known); it counts as
    /// evidence.
    Confirms(Seq),
}

impl Answer {
    /// The number the thing was published under, now or before.
    pub fn seq(self) -> Seq {
        match self {
            Self::New(seq) | Self::Confirms(seq) => seq,
        }
    }
}

/// Evidence of all feeds in, one state per session out.
#[derive(Debug)]
pub struct Resolver {
    sessions: HashMap<SessionKey, Entry>,
    processes: Processes,
    next_seq: u64,
}

/// A session and when time alone may change it.
#[derive(Debug)]
struct Entry {
    record: Arc<SessionRecord>,
    due: Option<Timestamp>,
    unsettled: Option<Unsettled>,
}

impl Default for Resolver {
    fn default() -> Self {
        Self::restore(Seq(1), [])
    }
}

impl Resolver {
    /// Goes on from saved records; the next event gets `next_seq`.
    pub fn restore(next_seq: Seq, records: impl IntoIterator<Item = SessionRecord>) -> Self {
        let sessions: HashMap<_, _> = records
            .into_iter()
            .map(|record| {
                let key = record.state.session.clone();
                let due = Some(record.state.last_seen);
                (key, Entry { record: Arc::new(record), due, unsettled: None })
            })
            .collect();
        let processes = Processes::restore(sessions.values().map(|entry| &*entry.record));
        Self { sessions, processes, next_seq: next_seq.0.max(1) }
    }

    /// Takes one draft; every event it makes is appended to `out` in order.
    pub fn accept(
        &mut self,
        draft: Draft,
        origin: &Origin,
        observed_at: Timestamp,
        out: &mut Vec<Event>,
    ) -> Answer {
        self.take(draft, false, origin, observed_at, out)
    }

    /// Takes a draft of a moment that has more to tell about the session. The state is told with the last
    /// draft, which goes to [`accept`](Self::accept): what lies between two drafts of one moment nobody
    /// was ever in. Should the last one never come, the next [`tick`](Self::tick) tells the state.
    pub fn accept_part(
        &mut self,
        draft: Draft,
        origin: &Origin,
        observed_at: Timestamp,
        out: &mut Vec<Event>,
    ) -> Answer {
        self.take(draft, true, origin, observed_at, out)
    }

    fn take(
        &mut self,
        mut draft: Draft,
        more: bool,
        origin: &Origin,
        observed_at: Timestamp,
        out: &mut Vec<Event>,
    ) -> Answer {
        draft.at = draft.at.min(observed_at);
        let trust = draft.hints.at_most.map_or(origin.trust, |most| most.min(origin.trust));
        if let Some(seq) = self.stream_on(&mut draft, trust, origin, observed_at, out) {
            return Answer::New(seq);
        }
        let left = self.switch_process(&mut draft, origin, observed_at, out);
        let left = left.or_else(|| self.go_on_from_cleared(&mut draft));
        let entry = self.sessions.entry(draft.session.clone()).or_insert_with(|| Entry {
            record: Arc::new(SessionRecord::new(first_state(&draft, origin))),
            due: None,
            unsettled: None,
        });
        let record = Arc::make_mut(&mut entry.record);
        let desk = Desk { next_seq: &mut self.next_seq, out, observed_at };
        let id = draft.id.unwrap_or_else(|| EventId::random(draft.at));
        watch(record, &draft, trust);
        let overshadowed = trust < Trust::Authoritative
            && record
                .evidence
                .watch
                .is_some_and(|watch| watch.covers(draft.at) && !watch.is_foreign(draft.process));
        record.evidence.arrivals += 1;
        record.state.last_seen = record.state.last_seen.max(draft.at);
        let is_life = shows_life(&draft);
        let mut intake = Intake {
            record,
            desk,
            origin,
            id,
            at: draft.at,
            scope: draft.scope,
            process: draft.process,
            hints: draft.hints,
            trust,
            overshadowed,
        };
        let is_start = matches!(draft.body, Body::SessionStarted(_));
        let is_new = intake.record.ledger.starts.is_empty();
        let is_back = is_life
            && intake.record.is_over()
            && intake.record.last_end().is_some_and(|end| intake.at.duration_since(end) > SKEW);
        if !is_start && (is_new || is_back) {
            intake.discover(left.as_ref());
        }
        let answer = intake.take(draft.body);
        intake.descend(left, &self.processes);
        let (record, mut desk) = (intake.record, intake.desk);
        if more {
            entry.unsettled = Some(Unsettled::after(record, entry.unsettled, observed_at, id));
            entry.due = Some(observed_at);
            return answer;
        }
        let cause = entry.unsettled.take().map_or(id, |it| it.cause(record, observed_at, id));
        entry.due = settle(record, observed_at, Some(cause), origin, &mut desk);
        answer
    }

    /// The short way for a piece of a message of a session that works anyway: nothing but the time of its
    /// newest sign changes.
    fn stream_on(
        &mut self,
        draft: &mut Draft,
        trust: Trust,
        origin: &Origin,
        observed_at: Timestamp,
        out: &mut Vec<Event>,
    ) -> Option<Seq> {
        let streams = matches!(draft.body, Body::MessageDelta(_))
            && trust == Trust::Authoritative
            && draft.scope.is_main()
            && !draft.hints.evidence_only
            && draft.hints.payload.is_none();
        if !streams {
            return None;
        }
        let entry = self.sessions.get_mut(&draft.session)?;
        let state = &entry.record.state;
        let steady = state.status == Status::Working
            && state.activity.is_none()
            && entry.unsettled.is_none();
        let open = entry.record.evidence.watch.filter(|watch| watch.closed.is_none())?;
        let busy = entry.record.evidence.claims.tier(trust).busy?;
        if !steady || open.is_foreign(draft.process) || draft.at < busy.at || draft.at < open.last {
            return None;
        }
        let id = draft.id.unwrap_or_else(|| EventId::random(draft.at));
        let record = Arc::make_mut(&mut entry.record);
        record.evidence.arrivals += 1;
        let order = record.evidence.arrivals;
        let stamp = Stamp { at: draft.at, order, event: id, sign: Sign::Content };
        record.evidence.claims.busy(trust, stamp);
        record.evidence.newest =
            record.evidence.newest.filter(|known| !stamp.is_after(known)).or(Some(stamp));
        record.evidence.watch = Some(Watch { last: draft.at, ..open });
        record.state.last_seen = record.state.last_seen.max(draft.at);
        let body = std::mem::replace(
            &mut draft.body,
            Body::Unknown { kind: String::new(), data: serde_json::Value::Null },
        );
        let mut desk = Desk { next_seq: &mut self.next_seq, out, observed_at };
        Some(desk.publish(record, (id, draft.at), origin.clone(), draft.scope.clone(), body))
    }

    /// A process that begins another session has left the one before. Gives that one, if the new session
    /// goes on from it.
    fn switch_process(
        &mut self,
        draft: &mut Draft,
        origin: &Origin,
        observed_at: Timestamp,
        out: &mut Vec<Event>,
    ) -> Option<Link> {
        let life = shows_life(draft);
        let (process, how) = match &draft.body {
            Body::SessionStarted(data) => (data.process.or(draft.process), data.source),
            _ if life => (draft.process, StartSource::Clear),
            _ => (None, StartSource::Clear),
        };
        let process = process?;
        let left = self.processes.take(process, &draft.session, draft.at)?;
        let how = if how == StartSource::Discovered { StartSource::Clear } else { how };
        // A session that nobody announced and that did nothing is nothing to go on from: it was a name for a moment.
        let was_used = |entry: &Entry| {
            let ledger = &entry.record.ledger;
            let announced = |start: &Start| start.source != StartSource::Discovered;
            !ledger.turns.is_empty() || ledger.starts.iter().any(announced)
        };
        let told = matches!(draft.body, Body::SessionStarted(_));
        let how = if told || self.sessions.get(&left).is_none_or(was_used) {
            how
        } else {
            StartSource::Discovered
        };
        if let Some(entry) = self.sessions.get_mut(&left) {
            let record = Arc::make_mut(&mut entry.record);
            let desk = Desk { next_seq: &mut self.next_seq, out, observed_at };
            let id = *draft.id.get_or_insert_with(|| EventId::random(draft.at));
            let named = (id, draft.at);
            let mut intake =
                Intake::inferred(record, desk, origin, named, Some(process), origin.trust);
            intake.leave_for(draft.session.id.clone(), how, process);
            let (record, mut desk) = (intake.record, intake.desk);
            entry.unsettled = None;
            entry.due = settle(record, observed_at, Some(id), origin, &mut desk);
        }
        // A session taken up again goes on from itself.
        let goes_on = matches!(how, StartSource::Clear | StartSource::Fork);
        if let Body::SessionStarted(data) = &mut draft.body
            && goes_on
        {
            data.parent.get_or_insert_with(|| left.id.clone());
        }
        goes_on.then_some(Link { id: left.id, how })
    }

    /// Without a process, a session that begins with a clear goes on from the one that was just cleared in
    /// the same folder.
    fn go_on_from_cleared(&mut self, draft: &mut Draft) -> Option<Link> {
        let Body::SessionStarted(data) = &mut draft.body else { return None };
        if data.source != StartSource::Clear || data.parent.is_some() || data.cwd.is_none() {
            return None;
        }
        let process = data.process.or(draft.process);
        let cleared = self.sessions.values_mut().filter_map(|entry| {
            let state = &entry.record.state;
            let other = state.session.agent == draft.session.agent
                && state.session != draft.session
                && state.cwd == data.cwd;
            let at = entry.record.cleared(process).filter(|at| {
                let since = draft.at.duration_since(*at);
                other && since >= -SKEW && since <= LIMITS.clearing
            })?;
            Some((at, entry))
        });
        let (_, entry) = cleared.max_by_key(|(at, _)| *at)?;
        let record = Arc::make_mut(&mut entry.record);
        record.go_on_as(draft.session.id.clone());
        data.parent = Some(record.state.session.id.clone());
        Some(Link { id: record.state.session.id.clone(), how: StartSource::Clear })
    }

    /// Lets time pass: claims age. Sessions whose state changes make events.
    pub fn tick(&mut self, now: Timestamp, out: &mut Vec<Event>) {
        let mut due: Vec<&SessionKey> = self
            .sessions
            .iter()
            .filter(|(_, entry)| entry.due.is_some_and(|due| due <= now))
            .map(|(key, _)| key)
            .collect();
        due.sort_unstable();
        let due: Vec<SessionKey> = due.into_iter().cloned().collect();
        for key in due {
            let Some(entry) = self.sessions.get_mut(&key) else { continue };
            let record = Arc::make_mut(&mut entry.record);
            let origin = Origin {
                feed: FeedName::new("resolver"),
                trust: Trust::Inferred,
                pid: record.state.process.map(|process: ProcessRef| process.pid),
                host: Arc::clone(&record.state.host),
            };
            let mut desk = Desk { next_seq: &mut self.next_seq, out, observed_at: now };
            entry.unsettled = None;
            let_go(record, now, &origin, &mut desk);
            entry.due = settle(record, now, None, &origin, &mut desk);
        }
        self.forget(now);
    }

    fn forget(&mut self, now: Timestamp) {
        let processes = &mut self.processes;
        self.sessions.retain(|key, entry| {
            let keep = !entry.record.is_forgettable(now);
            if !keep {
                processes.forget(key);
            }
            keep
        });
    }

    /// The authoritative feed of a session is gone and nobody saw its process end: from here on others
    /// decide, and claims age.
    pub fn feed_closed(
        &mut self,
        session: &SessionKey,
        at: Timestamp,
        origin: &Origin,
        out: &mut Vec<Event>,
    ) {
        let Some(entry) = self.sessions.get_mut(session) else { return };
        let record = Arc::make_mut(&mut entry.record);
        let Some(watch) = &mut record.evidence.watch else { return };
        watch.closed.get_or_insert(at);
        let mut desk = Desk { next_seq: &mut self.next_seq, out, observed_at: at };
        release(record, &mut desk, |_, _| true);
        end_as_said(record, &mut desk, origin);
        entry.unsettled = None;
        entry.due = settle(record, at, None, origin, &mut desk);
    }

    /// The state of every session, in no particular order.
    pub fn snapshot(&self) -> Vec<SessionState> {
        self.sessions.values().map(|entry| entry.record.state.clone()).collect()
    }

    /// The processes in which sessions are open, each with its session; in no particular order.
    pub fn open_processes(&self) -> Vec<(SessionKey, ProcessRef)> {
        let records = self.sessions.values().map(|entry| &entry.record);
        records
            .flat_map(|record| {
                let open = record.ledger.starts.iter().filter(|start| start.ended.is_none());
                open.filter_map(|start| Some((record.state.session.clone(), start.process?)))
            })
            .collect()
    }

    /// Everything kept of one session.
    pub fn record(&self, session: &SessionKey) -> Option<&Arc<SessionRecord>> {
        self.sessions.get(session).map(|entry| &entry.record)
    }

    /// The number the next event gets.
    pub fn next_seq(&self) -> Seq {
        Seq(self.next_seq)
    }

    /// Why a session is in its state at `now`.
    pub fn explain(&self, session: &SessionKey, now: Timestamp) -> Option<Explanation> {
        self.record(session).map(|record| record.explain(now))
    }
}
