//! Starts and ends of a session, by process.
//!
//! A session is open in every process that started it and has not left it. A source without a process
//! means the newest start that is still open.

use crate::event::{
    EndReason, Scope, SessionEnded, SessionStarted, SessionUpdated, StartSource, Trust,
};
use crate::id::{NativeId, Seq};
use crate::process::ProcessRef;
use crate::state::bound::{self, push};
use crate::state::claims::Claims;
use crate::state::identity::facts::update_of;
use crate::state::identity::request::WITHDRAWN;
use crate::state::intake::Intake;
use crate::state::ledger::{Sighting, Start};
use crate::state::rules::SKEW;
use crate::state::stamp::{SeenBy, Sign, keep_later};
use crate::state::{Answer, Link};

/// The start that a source without a process means began at most so long after the session was seen.
const DISCOVERED: jiff::SignedDuration = jiff::SignedDuration::from_secs(10);

impl Intake<'_> {
    /// The session is seen for the first time, or again after its end, by something else than its start. It may
    /// be known which one it goes on from.
    pub(crate) fn discover(&mut self, left: Option<&Link>) {
        let source = left.map_or(StartSource::Discovered, |left| left.how);
        let started = SessionStarted {
            source,
            cwd: None,
            model: None,
            version: None,
            entrypoint: None,
            mode: None,
            parent: left.map(|left| left.id.clone()),
            process: self.process,
        };
        self.record.state.source = source;
        if let Some(left) = left {
            self.record.state.parent.get_or_insert_with(|| left.clone());
        }
        let seq = self.conclude("discovered", Scope::Main, started);
        let began = Sighting { by: SeenBy::default(), ..self.sighting(seq) };
        self.add_start(Start {
            process: self.process,
            source,
            began,
            ended: None,
            reason: None,
            said_over: None,
            next: None,
        });
        if self.process.is_some() {
            self.record.state.process = self.process;
        }
    }

    /// The session is open in `process`, whose own word says so: as a start of which the process was not known, or
    /// besides the processes that are known.
    pub(crate) fn is_open_in(&mut self, process: Option<ProcessRef>) {
        let open = |start: &Start| start.ended.is_none();
        let starts = &mut self.ledger_mut().starts;
        if process.is_none() || starts.iter().any(|it| open(it) && same(it.process, process)) {
            return;
        }
        if let Some(start) = starts.iter_mut().rfind(|it| open(it) && it.process.is_none()) {
            start.process = process;
        } else {
            let began = Sighting { by: SeenBy::default(), ..self.sighting(Seq(0)) };
            self.add_start(Start {
                process,
                source: StartSource::Discovered,
                began,
                ended: None,
                reason: None,
                said_over: None,
                next: None,
            });
        }
        self.record.state.process = process;
    }

    fn add_start(&mut self, start: Start) {
        push(&mut self.ledger_mut().starts, bound::STARTS, start, |start| start.ended.is_some());
    }

    /// The start a second sighting is about.
    fn known_start_of(&self, source: StartSource, process: Option<ProcessRef>) -> Option<usize> {
        let starts = &self.ledger().starts;
        let open = |start: &Start| start.ended.is_none_or(|ended| ended.at > self.at);
        if let Some(same) =
            starts.iter().rposition(|start| open(start) && same(start.process, process))
        {
            return Some(same);
        }
        starts.iter().rposition(|start| {
            let lone = start.process.is_none() || process.is_none();
            let heard = start.began.by.has(self.trust);
            let near = start.source != StartSource::Discovered
                || source == StartSource::Discovered
                || self.trust == Trust::Authoritative
                || self.at.duration_since(start.began.at) <= DISCOVERED;
            open(start) && lone && !heard && near
        })
    }

    /// `session.started`.
    pub(crate) fn session_started(&mut self, data: SessionStarted) -> Answer {
        if data.source == StartSource::Compact {
            self.settle_compaction();
            self.learn(&update_of(&data));
            return Answer::Confirms(Seq(0));
        }
        if self.trust == Trust::Reported {
            let ready = &mut self.record.evidence.ready;
            *ready = (*ready).max(Some(self.at));
        }
        let trust = self.trust;
        let process = data.process.or(self.process);
        let source = data.source;
        if let Some(index) = self.known_start_of(source, process) {
            let start = &mut self.ledger_mut().starts[index];
            start.began.by.add(trust);
            start.process = start.process.or(process);
            if start.source == StartSource::Discovered && source != StartSource::Discovered {
                start.source = source;
                self.record.state.source = source;
            }
            let seq = self.ledger().starts[index].began.seq;
            self.learn(&SessionUpdated { process, ..update_of(&data) });
            self.descends_as(&data);
            return Answer::Confirms(seq);
        }
        self.record.state.source = source;
        self.note(&update_of(&data));
        self.descends_as(&data);
        if process.is_some() {
            self.record.state.process = process;
        }
        let answer = self.news(data);
        if self.trust == Trust::Reported {
            // A process that begins has nothing to do yet, whatever an earlier one left undone.
            let stamp = self.stamp(Sign::Start);
            keep_later(&mut self.record.evidence.claims.tier_mut(self.trust).idle, stamp);
        }
        let began = self.sighting(answer.seq());
        self.add_start(Start {
            process,
            source,
            began,
            ended: None,
            reason: None,
            said_over: None,
            next: None,
        });
        answer
    }

    /// Who tells of the session before tells how the new one came of it.
    fn descends_as(&mut self, data: &SessionStarted) {
        if let Some(link) = &mut self.record.state.parent
            && data.parent.as_ref() == Some(&link.id)
        {
            link.how = data.source;
        }
    }

    /// `session.ended`: the session is over as far as one process goes.
    pub(crate) fn session_ended(&mut self, mut data: SessionEnded) -> Answer {
        let process = data.process.or(self.process);
        let Some(index) = self.ending_start(process) else {
            if self.trust == Trust::Authoritative {
                self.close_watch();
            }
            return Answer::Confirms(self.repeated_end(process));
        };
        if self.record.evidence.watch.is_some_and(|watch| watch.closed.is_some()) {
            // Nobody holds the stream any more who could know better.
            self.overshadowed = false;
        }
        if self.overshadowed && self.is_watched(index) {
            // The one who holds the stream will see it, and how.
            let (at, reason) = (self.at, data.reason);
            let start = &mut self.ledger_mut().starts[index];
            if start.said_over.is_none_or(|said| at < said) {
                start.said_over = Some(at);
                start.reason = Some(reason);
            }
            return Answer::Confirms(Seq(0));
        }
        self.release_all();
        data.process = process.or(self.ledger().starts[index].process);
        let reason = data.reason;
        let last = self.ledger().starts.iter().filter(|start| start.ended.is_none()).count() == 1;
        if last {
            self.close_session();
        }
        let answer = self.news(data);
        let ended = self.sighting(answer.seq());
        let start = &mut self.ledger_mut().starts[index];
        start.ended = Some(ended);
        start.reason = Some(reason);
        self.close_watch();
        self.forget_word(self.record.ledger.starts[index].process);
        answer
    }

    /// The stream of a process ends with it, and what other processes said ends with them.
    fn close_watch(&mut self) {
        let (at, trust, process) = (self.at, self.trust, self.process);
        let evidence = &mut self.record.evidence;
        if evidence.watch.is_some_and(|watch| watch.is_foreign(process)) {
            evidence.elsewhere = Claims::default();
        } else if trust == Trust::Authoritative
            && let Some(watch) = &mut evidence.watch
        {
            watch.closed = Some(at);
        }
    }

    /// What is open in a session is over with it.
    pub(crate) fn close_session(&mut self) {
        let at = self.at;
        self.settle_requests("end", WITHDRAWN, |request| request.opened.at <= at);
        if !self.overshadowed {
            self.lose_open_turns(at);
        }
        for child in &mut self.ledger_mut().children {
            if child.over.is_none() && child.since <= at {
                child.over = Some(at);
            }
        }
        for task in &mut self.ledger_mut().tasks {
            if task.over.is_none() && task.since <= at {
                task.over = Some(at);
            }
        }
    }

    /// True if the start is that of the process whose stream is watched.
    fn is_watched(&self, index: usize) -> bool {
        self.ledger().starts[index].began.by.has(Trust::Authoritative)
    }

    fn ending_start(&self, process: Option<ProcessRef>) -> Option<usize> {
        let starts = &self.ledger().starts;
        let open = |start: &Start| {
            start.ended.is_none() && self.at.duration_since(start.began.at) >= -SKEW
        };
        if process.is_some() {
            let known = starts.iter().rposition(|start| same(start.process, process));
            if let Some(known) = known {
                return starts
                    .iter()
                    .rposition(|start| open(start) && same(start.process, process))
                    .filter(|found| *found >= known);
            }
        }
        let lone = |start: &Start| start.process.is_none() || process.is_none();
        if self.trust == Trust::Authoritative {
            let own = starts
                .iter()
                .rposition(|start| open(start) && start.began.by.has(Trust::Authoritative));
            if own.is_some() {
                return own;
            }
        }
        starts.iter().rposition(|start| open(start) && lone(start))
    }

    /// The number of the end that was told already.
    fn repeated_end(&mut self, process: Option<ProcessRef>) -> Seq {
        let trust = self.trust;
        let found = self.ledger().starts.iter().rposition(|start| {
            start.ended.is_some()
                && (process.is_none() || start.process.is_none() || same(start.process, process))
        });
        let Some(index) = found else { return Seq(0) };
        let Some(ended) = &mut self.ledger_mut().starts[index].ended else { return Seq(0) };
        ended.by.add(trust);
        ended.seq
    }

    /// The process goes on with another session, `next`, that began as `how` says.
    pub(crate) fn leave_for(&mut self, next: NativeId, how: StartSource, process: ProcessRef) {
        let Some(index) = self.ending_start(Some(process)) else { return };
        self.release_all();
        let last = self.ledger().starts.iter().filter(|start| start.ended.is_none()).count() == 1;
        if last {
            self.close_session();
        }
        let reason = if how == StartSource::Clear { EndReason::Clear } else { EndReason::Unknown };
        let ended = SessionEnded {
            reason,
            exit_code: None,
            signal: None,
            process: Some(process),
            error: None,
        };
        let seq = self.conclude("left", Scope::Main, ended);
        let ended = self.sighting(seq);
        let start = &mut self.ledger_mut().starts[index];
        start.ended = Some(ended);
        start.reason = Some(reason);
        start.next = Some(next);
        self.forget_word(Some(process));
        self.close_watch();
    }
}

/// Both are known and the same process.
fn same(one: Option<ProcessRef>, other: Option<ProcessRef>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => {
            one.pid == other.pid
                && (one.start == other.start || one.start.is_none() || other.start.is_none())
        }
        _ => false,
    }
}
