//! What processes keep saying of themselves.
//!
//! An event tells of a moment; a status file tells of a state, which holds until the file says something else. So
//! the word of a process outlasts what others saw before it, and what they saw of the same change a little
//! earlier: that a turn's end was announced does not end it while the process says that it works.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::draft::Hints;
use crate::event::{DecidedBy, Decision, Origin, ReportedStatus, Scope, Status, Trust, WaitingFor};
use crate::process::ProcessRef;
use crate::state::SessionRecord;
use crate::state::bound;
use crate::state::desk::{Desk, conclusion_id};
use crate::state::identity::request::REFUSED;
use crate::state::intake::Intake;
use crate::state::ledger::{Request, Settled};
use crate::state::rules::{LIMITS, SKEW};
use crate::state::stamp::{Sign, Stamp};
use crate::state::verdict::{Reason, Verdict, after, bring_forward};

impl Request {
    /// When a request that a process waits for no more counts as allowed, if nothing else was heard of it.
    pub(crate) fn let_go_at(&self) -> Option<Timestamp> {
        self.passed.filter(|_| self.is_open()).map(|passed| after(passed, LIMITS.let_go))
    }
}

/// Whoever goes on working after a wait was let.
pub(crate) fn let_go(
    record: &mut SessionRecord,
    now: Timestamp,
    origin: &Origin,
    desk: &mut Desk<'_>,
) {
    let due = |request: &Request| request.let_go_at().filter(|at| *at <= now);
    while let Some((index, at)) = record
        .ledger
        .requests
        .iter()
        .enumerate()
        .find_map(|(index, request)| Some((index, due(request)?)))
    {
        record.evidence.arrivals += 1;
        let request = &record.ledger.requests[index];
        let settled = Settled { decision: Decision::Allowed, by: DecidedBy::User };
        let settled = settled.of(request.waiting_for);
        let cause = request.opened.event;
        let desk = Desk { next_seq: desk.next_seq, out: desk.out, observed_at: desk.observed_at };
        let id = conclusion_id(record, cause, at, "let go");
        let mut intake = Intake {
            record,
            desk,
            origin,
            id,
            at,
            scope: Scope::Main,
            process: None,
            hints: Hints::default(),
            trust: Trust::Reported,
            overshadowed: false,
        };
        intake.close(index, "let go", settled);
    }
}

/// The state one process says it is in.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Word {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    process: Option<ProcessRef>,
    #[serde(flatten)]
    pub(crate) stamp: Stamp,
    status: ReportedStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    waiting_for: Option<WaitingFor>,
}

impl Word {
    pub(crate) fn status(&self) -> Status {
        match self.status {
            ReportedStatus::Waiting => self.waiting_for.unwrap_or(WaitingFor::Permission).status(),
            ReportedStatus::Busy => Status::Working,
            _ => Status::Idle,
        }
    }
}

impl Intake<'_> {
    /// The process says that it is in another state.
    pub(crate) fn keep_word(&mut self, status: ReportedStatus, waiting_for: Option<WaitingFor>) {
        let process = self.process;
        if self.record.is_over() {
            // It speaks of the session it has just left.
            return;
        }
        self.is_open_in(process);
        let sign = match status {
            ReportedStatus::Busy => Sign::SaysBusy,
            ReportedStatus::Waiting => Sign::SaysWaiting,
            _ => Sign::SaysIdle,
        };
        let stamp = self.stamp(sign);
        let words = &mut self.record.evidence.words;
        let known = words.iter().position(|word| word.process == process);
        if known.is_some_and(|known| !stamp.is_after(&words[known].stamp)) {
            return;
        }
        known.map(|known| words.remove(known));
        if status != ReportedStatus::Unknown {
            let word = Word { process, stamp, status, waiting_for };
            bound::push(words, bound::STARTS, word, |_| true);
        }
    }

    /// The process works: what it waited for is settled. How will be told by what comes of it.
    pub(crate) fn back_at_work(&mut self) {
        let at = self.at;
        let Some(waited) = self.waited().filter(|waited| *waited <= at) else { return };
        let about = |request: &Request| {
            request.waits()
                && request.opened.at <= at
                && waited.duration_since(request.opened.at) >= -SKEW
        };
        if self.ledger().requests.iter().any(about) {
            for request in self.ledger_mut().requests.iter_mut().filter(|it| about(it)) {
                request.passed = Some(at);
            }
        }
    }

    /// The process has nothing to do: what it waited for was refused. While a dialog is open it says that it waits.
    pub(crate) fn back_from_waiting(&mut self) {
        let at = self.at;
        if self.trust == Trust::Authoritative || self.overshadowed {
            return;
        }
        let waited = self.waited().filter(|waited| *waited <= at);
        let stands = self.hints.stands;
        self.settle_requests("status", REFUSED, |request| {
            let said =
                waited.is_some_and(|waited| waited.duration_since(request.opened.at) >= -SKEW);
            request.opened.at < at && (said || (stands && request.scope.is_main()))
        });
    }

    /// When the process said last that it waits.
    fn waited(&mut self) -> Option<Timestamp> {
        if self.trust == Trust::Authoritative || self.overshadowed {
            return None;
        }
        let trust = self.trust;
        self.claims().tier(trust).waiting.map(|waiting| waiting.stamp.at)
    }

    /// Since when a process that waited for a request made now has been working again.
    pub(crate) fn passed_since(&mut self) -> Option<Timestamp> {
        let at = self.at;
        let waited = self.waited().filter(|waited| waited.duration_since(at) >= -SKEW)?;
        let busy =
            self.record.evidence.words.iter().filter(|word| word.status == ReportedStatus::Busy);
        busy.map(|word| word.stamp.at).filter(|busy| *busy >= at && *busy >= waited).max()
    }

    /// True if a process of the session had nothing to do after now.
    pub(crate) fn has_rested_since(&self) -> bool {
        let (at, overshadowed) = (self.at, self.overshadowed);
        let rested = |word: &Word| {
            matches!(word.status, ReportedStatus::Idle | ReportedStatus::Shell)
                && word.stamp.at > at
        };
        !overshadowed && self.record.evidence.words.iter().any(rested)
    }

    /// The process has left the session: its word counts no more.
    pub(crate) fn forget_word(&mut self, process: Option<ProcessRef>) {
        let lone = self.record.evidence.words.len() <= 1;
        self.record
            .evidence
            .words
            .retain(|word| word.process != process && !(lone && process.is_none()));
    }
}

impl SessionRecord {
    /// The word that counts: of several processes whoever waits, else whoever works.
    pub(crate) fn word(&self, now: Timestamp) -> Option<&Word> {
        if self.least_trust(now) == Trust::Authoritative {
            return None;
        }
        let rank = |word: &&Word| {
            (word.status == ReportedStatus::Waiting, word.status == ReportedStatus::Busy)
        };
        let past = self.past();
        let words = self.evidence.words.iter();
        words
            .filter(|word| past.is_none_or(|past| word.stamp.at > past))
            .max_by_key(|word| (rank(word), word.stamp.at, word.stamp.order))
    }

    /// Lets the word of the process decide, where it does. Gives true if it did.
    ///
    /// What others have seen since is in its word a moment later, or never was: a prompt that a hook refused, a
    /// dialog that nobody was shown. A turn that is over for others may still be held up. If the process does not
    /// follow in time it is not believed.
    pub(crate) fn heed_word(&self, now: Timestamp, verdict: &mut Verdict) -> bool {
        let Some(word) = self.word(now) else { return false };
        let waits = verdict.waiting_for.is_some();
        if let Some(reason) = verdict.because.filter(|reason| reason.at > word.stamp.at) {
            let holds_up = match word.status {
                ReportedStatus::Busy => !waits,
                ReportedStatus::Waiting => true,
                _ => false,
            };
            let until = after(reason.at, if holds_up { LIMITS.believed } else { LIMITS.following });
            if now >= until {
                return false;
            }
            bring_forward(&mut verdict.due, until);
        } else if waits && word.status == ReportedStatus::Busy {
            return false;
        }
        let status = word.status();
        if verdict.status == status || (waits && word.status == ReportedStatus::Waiting) {
            return true;
        }
        verdict.status = status;
        verdict.waiting_for = match word.status {
            ReportedStatus::Waiting => Some(word.waiting_for.unwrap_or(WaitingFor::Permission)),
            _ => None,
        };
        if status != Status::Working {
            verdict.activity = None;
        }
        verdict.because = Some(Reason::word(&word.stamp));
        true
    }
}
