//! What processes keep saying of themselves.
//!
//! An event tells of a moment; a status file tells of a state, which holds until the file says something else. So
//! the word of a process outlasts what others saw before it, and what they saw of the same change a little
//! earlier: that a turn's end was announced does not end it while the process says that it works.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::event::{DecidedBy, Decision, Origin, ReportedStatus, Status, Trust, WaitingFor};
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
        let request = &record.ledger.requests[index];
        let settled = Settled { decision: Decision::Allowed, by: DecidedBy::User };
        let settled = settled.of(request.waiting_for);
        let id = conclusion_id(record, request.opened.event, at, "let go");
        let mut intake =
            Intake::inferred(record, desk.lend(), origin, (id, at), None, Trust::Reported);
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

    fn waits(&self) -> bool {
        self.status == ReportedStatus::Waiting
    }

    /// It works or waits.
    fn is_up(&self) -> bool {
        self.waits() || self.status == ReportedStatus::Busy
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
        let word = Word { process, stamp, status, waiting_for };
        bound::push(words, bound::STARTS, word, |_| true);
    }

    /// The process works: what it waited for is settled. How will be told by what comes of it.
    pub(crate) fn back_at_work(&mut self) {
        let at = self.at;
        if self.record.another(self.process, Word::waits) {
            return;
        }
        let Some(until) = self.waited_until() else { return };
        let about = |request: &Request| request.waits() && request.opened.at <= until.min(at);
        if self.ledger().requests.iter().any(about) {
            for request in self.ledger_mut().requests.iter_mut().filter(|it| about(it)) {
                request.passed = Some(at);
            }
        }
    }

    /// The process has nothing to do: what it waited for was refused. While a dialog is open it says that it waits.
    pub(crate) fn back_from_waiting(&mut self) {
        let at = self.at;
        if self.trust == Trust::Authoritative
            || self.overshadowed
            || self.record.another(self.process, Word::waits)
        {
            return;
        }
        let until = self.waited_until();
        let stands = self.hints.stands && self.record.rests_but(self.process);
        self.settle_requests("status", REFUSED, |request| {
            let said = until.is_some_and(|until| request.opened.at <= until);
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

    /// Up to when what was asked belongs to the wait that is over now. What was asked while a dialog was open already
    /// was part of the same wait.
    fn waited_until(&mut self) -> Option<Timestamp> {
        let (at, process) = (self.at, self.process);
        let waited = self.waited().filter(|waited| *waited <= at)?;
        let mut words = self.record.evidence.words.iter();
        let waits = self.hints.stands && words.any(|word| word.process == process && word.waits());
        let joined = at.checked_sub(LIMITS.following).ok().filter(|_| waits);
        Some(after(waited, SKEW)).max(joined)
    }

    /// Since when a process that waited for a request made now has been working again.
    pub(crate) fn passed_since(&mut self) -> Option<Timestamp> {
        let at = self.at;
        let waited = self.waited().filter(|waited| waited.duration_since(at) >= -SKEW)?;
        if self.record.another(None, Word::waits) {
            return None;
        }
        let words = self.record.evidence.words.iter();
        let busy = words.filter(|word| word.status == ReportedStatus::Busy);
        busy.map(|word| word.stamp.at).filter(|busy| *busy >= at && *busy >= waited).max()
    }

    /// True if a process of the session had nothing to do after now, and no other one has.
    pub(crate) fn has_rested_since(&self) -> bool {
        let (at, overshadowed) = (self.at, self.overshadowed);
        let rested = |word: &Word| {
            matches!(word.status, ReportedStatus::Idle | ReportedStatus::Shell)
                && word.stamp.at > at
        };
        !overshadowed
            && self.record.evidence.words.iter().any(rested)
            && self.record.rests_but(None)
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
        if self.evidence.words.is_empty() || self.least_trust(now) == Trust::Authoritative {
            return None;
        }
        let rank = |word: &&Word| (word.waits(), word.status == ReportedStatus::Busy);
        let past = self.past();
        let words = self.evidence.words.iter();
        words
            .filter(|word| word.status != ReportedStatus::Unknown)
            .filter(|word| past.is_none_or(|past| word.stamp.at > past))
            .max_by_key(|word| (rank(word), word.stamp.at, word.stamp.order))
    }

    /// True if a process other than this one says of itself what `is` looks for.
    fn another(&self, process: Option<ProcessRef>, is: impl Fn(&Word) -> bool) -> bool {
        let mut others = self.evidence.words.iter().filter(|word| word.process != process);
        others.any(is)
    }

    /// True if no process but this one says that it works or waits.
    pub(crate) fn rests_but(&self, process: Option<ProcessRef>) -> bool {
        !self.another(process, Word::is_up)
    }

    /// False if every process that says what it does says something else than that it waits.
    pub(crate) fn may_wait(&self) -> bool {
        let words = &self.evidence.words;
        words.is_empty() || words.iter().any(Word::waits)
    }

    /// Lets the word of the process decide, where it does. Gives true if it did.
    ///
    /// What others have seen since is in its word a moment later, or never was: a prompt that a hook refused, a
    /// dialog that nobody was shown. A turn that is over for others may still be held up. If the process does not
    /// follow in time it is not believed.
    pub(crate) fn heed_word(&self, now: Timestamp, verdict: &mut Verdict) -> bool {
        let Some(word) = self.word(now) else { return false };
        let waits = verdict.waiting_for.is_some();
        let status = word.status();
        if verdict.status == status || (waits && word.waits()) {
            return true;
        }
        // What another process said of itself is no contradiction.
        let later = |reason: &Reason| reason.at > word.stamp.at && !reason.sign.is_word();
        if let Some(reason) = verdict.because.filter(later) {
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
