//! From the evidence of a session to its state: a function of the record and the time, nothing else.
//!
//! Because it reads what is known and not how it came, the same evidence in any order gives the same
//! state.

use jiff::{SignedDuration, Timestamp};

use crate::draft::Ending;
use crate::event::{ErrorKind, RunMode, Status, Trust, TurnOutcome, WaitingFor};
use crate::id::EventId;
use crate::state::beside::Beside;
use crate::state::claims::{Claim, Over, Says, standing};
use crate::state::ledger::{Request, Turn};
use crate::state::rules::{LIMITS, SKEW};
use crate::state::stamp::{Sign, Stamp};
use crate::state::{Activity, SessionRecord};

/// What the evidence amounts to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) status: Status,
    pub(crate) waiting_for: Option<WaitingFor>,
    pub(crate) background: u32,
    pub(crate) activity: Option<Activity>,
    pub(crate) outcome: Option<TurnOutcome>,
    pub(crate) error: Option<ErrorKind>,
    /// The sign that decided, if there is any.
    pub(crate) because: Option<Reason>,
    /// When time alone may change the state.
    pub(crate) due: Option<Timestamp>,
}

/// The sign that decided, and how much it weighs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reason {
    pub(crate) sign: Sign,
    pub(crate) at: Timestamp,
    pub(crate) event: EventId,
    /// None where the kind of thing decides and not who told it (an open request, a subagent).
    pub(crate) trust: Option<Trust>,
}

impl Reason {
    fn of(claim: &Claim<'_>) -> Self {
        Self {
            sign: claim.stamp.sign,
            at: claim.stamp.at,
            event: claim.stamp.event,
            trust: Some(claim.trust),
        }
    }

    /// What a process keeps saying of itself.
    pub(crate) fn word(stamp: &Stamp) -> Self {
        Self { trust: Some(Trust::Reported), ..Self::sign(stamp.sign, stamp.at, stamp.event) }
    }

    /// A thing that decides whoever told of it.
    pub(crate) fn sign(sign: Sign, at: Timestamp, event: EventId) -> Self {
        Self { sign, at, event, trust: None }
    }
}

impl SessionRecord {
    /// The claims about the main agent that count at `now`, oldest first.
    pub(crate) fn claims(&self, now: Timestamp) -> Vec<Claim<'_>> {
        let shift = |trust, over: &Over| self.end_counts_to(trust, over);
        let mut claims = self.evidence.claims.in_order(self.least_trust(now), self.past(), shift);
        let prompt = self.last_prompt();
        claims.retain(|claim| match claim.says {
            Says::Waiting(_) => self.may_wait() && !self.is_request_since(claim.stamp.at),
            Says::Idle => prompt.is_none_or(|prompt| claim.stamp.at >= prompt),
            Says::Busy | Says::Over(_) => true,
        });
        claims
    }

    /// True if a wait reported at `at` was that for a request that has been settled since.
    fn is_request_since(&self, at: Timestamp) -> bool {
        self.ledger.requests.iter().any(|request| {
            at.duration_since(request.opened.at) >= -SKEW
                && request.closed.is_some_and(|closed| closed.at >= at)
        })
    }

    /// A failed turn's end may be told after the next turn began: it counts for its own turn only.
    fn end_counts_to(&self, trust: Trust, over: &Over) -> Timestamp {
        let at = over.stamp.at;
        if over.outcome != TurnOutcome::Failed || trust == Trust::Authoritative {
            return at;
        }
        let begin = |turn: &Turn| turn.started.map(|started| started.at);
        let Some(own) = self.ledger.turns.iter().find(|turn| turn.id == over.turn).and_then(begin)
        else {
            return at;
        };
        let next = self.ledger.turns.iter().filter_map(begin).filter(|next| *next > own).min();
        match next {
            Some(next) if next <= at => next - SignedDuration::from_nanos(1),
            _ => at,
        }
    }

    /// Decides.
    pub(crate) fn verdict(&self, now: Timestamp) -> Verdict {
        let claims = self.claims(now);
        let (stands, _) = standing(&claims);
        let (outcome, error) = last_outcome(&claims);
        let mut verdict = Verdict {
            status: Status::Idle,
            waiting_for: None,
            background: 0,
            activity: None,
            outcome,
            error,
            because: None,
            due: None,
        };
        if self.is_over() {
            verdict.status = Status::Ended;
            let ends = self.ledger.starts.iter().filter_map(|start| start.ended);
            verdict.because = ends
                .max_by_key(|ended| ended.at)
                .map(|ended| Reason::sign(Sign::End, ended.at, ended.event));
            return verdict;
        }
        let beside = self.beside(now, stands.as_ref());
        verdict.background = beside.others;
        verdict.due = beside.due;
        if let Some(until) = self.ledger.requests.iter().filter_map(Request::let_go_at).min() {
            bring_forward(&mut verdict.due, until);
        }
        if let Some((_, until)) = settles(now, &claims, stands.as_ref()) {
            bring_forward(&mut verdict.due, until);
        }
        let limit;
        if let Some(request) = self.ledger.requests.iter().find(|request| request.waits()) {
            verdict.status = request.waiting_for.status();
            verdict.waiting_for = Some(request.waiting_for);
            let opened = request.opened;
            verdict.because = Some(Reason::sign(Sign::Request, opened.at, opened.event));
            limit = LIMITS.request;
        } else if let Some((reason, activity, holds)) =
            self.work(now, &claims, stands.as_ref(), &beside)
        {
            verdict.status = Status::Working;
            verdict.activity = activity;
            verdict.because = Some(reason);
            limit = holds;
        } else if let Some(Claim { says: Says::Waiting(waiting_for), .. }) = stands {
            verdict.status = waiting_for.status();
            verdict.waiting_for = Some(waiting_for);
            verdict.because = stands.as_ref().map(Reason::of);
            limit = LIMITS.request;
        } else {
            self.rest(now, stands.as_ref(), &mut verdict);
            limit = LIMITS.idle;
        }
        let limit = if self.heed_word(now, &mut verdict) { LIMITS.word } else { limit };
        self.age(now, limit, &mut verdict);
        verdict
    }

    /// Why the session works, if it does: the reason, what it does beside its turn, and how long that
    /// holds.
    fn work(
        &self,
        now: Timestamp,
        claims: &[Claim<'_>],
        stands: Option<&Claim<'_>>,
        beside: &Beside,
    ) -> Option<(Reason, Option<Activity>, SignedDuration)> {
        let past = self.past();
        let touched = self.evidence.claims.touched(self.least_trust(now), past);
        let thinking = if self.runs_tool() { LIMITS.tool } else { LIMITS.thinking };
        let compacts = self.compacts(stands, touched);
        if let Some(reason) = compacts {
            return Some((reason, Some(Activity::Compacting), LIMITS.thinking));
        }
        if let Some(claim) = stands.filter(|claim| claim.says == Says::Busy) {
            let retries =
                claim.stamp.is_retry() && touched.is_none_or(|touch| claim.stamp.is_after(&touch));
            let activity = retries.then_some(Activity::Retrying);
            return Some((Reason::of(claim), activity, thinking));
        }
        if let Some((reason, _)) = settles(now, claims, stands) {
            return Some((reason, None, thinking));
        }
        if let Some(Claim { says: Says::Waiting(_), .. }) = stands {
            return None;
        }
        if stands.is_none()
            && let Some(touch) = touched
        {
            return Some((Reason::sign(Sign::Activity, touch.at, touch.event), None, thinking));
        }
        let elsewhere =
            self.evidence.elsewhere.in_order(Trust::Inferred, past, |_, over| over.stamp.at);
        if let (Some(claim), _) = standing(&elsewhere)
            && claim.says == Says::Busy
        {
            return Some((Reason::of(&claim), None, thinking));
        }
        if let Some(reason) = beside.agent {
            return Some((reason, None, LIMITS.background));
        }
        if self.state.mode == Some(RunMode::OneShot)
            && let Some(reason) = beside.other
        {
            return Some((reason, None, LIMITS.background));
        }
        None
    }

    /// A compaction that is open: nothing newer shows that it is over.
    fn compacts(&self, stands: Option<&Claim<'_>>, touched: Option<Stamp>) -> Option<Reason> {
        let newest = self.ledger.compactions.iter().max_by_key(|it| it.started.map(|s| s.at))?;
        let started = newest.started.filter(|_| newest.ended.is_none())?;
        let later = |at: Timestamp| at > started.at;
        let passed = stands.is_some_and(|claim| later(claim.stamp.at))
            || touched.is_some_and(|touch| later(touch.at))
            || self.past().is_some_and(later);
        (!passed).then(|| Reason::sign(Sign::Compaction, started.at, started.event))
    }

    /// A session that neither works nor waits: it starts, or has nothing to do.
    fn rest(&self, now: Timestamp, stands: Option<&Claim<'_>>, verdict: &mut Verdict) {
        if let Some(claim) = stands {
            verdict.because = Some(Reason::of(claim));
            return;
        }
        let open = self.ledger.starts.iter().filter(|start| start.ended.is_none());
        let Some(start) = open.max_by_key(|start| start.began.at) else { return };
        let began = start.began;
        verdict.because = Some(Reason::sign(Sign::Start, began.at, began.event));
        let ready = self.evidence.ready.is_some_and(|ready| ready >= began.at);
        let until = began.at + LIMITS.starting;
        if !ready && now < until {
            verdict.status = Status::Starting;
            bring_forward(&mut verdict.due, until);
        }
    }

    /// Lets a claim that nothing confirms any more become stale.
    fn age(&self, now: Timestamp, limit: SignedDuration, verdict: &mut Verdict) {
        let watch = self.evidence.watch.as_ref();
        if let Some(watch) = watch.filter(|watch| watch.lives(now)) {
            bring_forward(&mut verdict.due, after(watch.last, LIMITS.silence));
            return;
        }
        let Some(newest) = self.evidence.newest else { return };
        let until = after(newest.at, limit);
        if now < until {
            bring_forward(&mut verdict.due, until);
        } else {
            verdict.status = Status::Stale;
            verdict.waiting_for = None;
            verdict.activity = None;
        }
    }

    fn runs_tool(&self) -> bool {
        let over = self.evidence.turn_cut;
        self.ledger.calls.iter().any(|call| {
            call.ended.is_none()
                && call.started.is_some_and(|started| over.is_none_or(|over| started.at > over))
        })
    }
}

/// Whoever stands beside the stream hears of a turn's end while the agent is still asking around whether
/// it may end, and before a prompt that waits begins the next turn. For a moment, or until the last word about it
/// comes where that is sure to come, the turn counts as running: because of what, and until when.
fn settles(
    now: Timestamp,
    claims: &[Claim<'_>],
    stands: Option<&Claim<'_>>,
) -> Option<(Reason, Timestamp)> {
    let stands = stands.filter(|claim| claim.trust < Trust::Authoritative)?;
    let Says::Over(over) = stands.says else { return None };
    let told = |trusts: &[Trust], ending| {
        claims.iter().any(|claim| {
            let Says::Over(other) = claim.says else { return false };
            trusts.contains(&claim.trust) && other.ending == ending && other.turn == over.turn
        })
    };
    let beside = &[Trust::Inferred, Trust::Reported];
    // Whoever reports the announcement was asked.
    let asked = || told(&[Trust::Reported], Ending::Announced);
    let holds = if told(beside, Ending::Final) {
        LIMITS.settling
    } else if told(beside, Ending::Sealed) || (told(beside, Ending::SealedIfAsked) && asked()) {
        LIMITS.sealing
    } else {
        LIMITS.announced
    };
    let until = after(stands.stamp.at, holds);
    if over.outcome != TurnOutcome::Completed || now >= until {
        return None;
    }
    let busy = claims.iter().rev().find(|claim| claim.says == Says::Busy)?;
    Some((Reason::of(busy), until))
}

/// How the last turn ended, unless another one began since.
fn last_outcome(claims: &[Claim<'_>]) -> (Option<TurnOutcome>, Option<ErrorKind>) {
    let last = claims.iter().rev().find_map(|claim| match claim.says {
        Says::Over(over) => Some(Some(over)),
        Says::Busy => Some(None),
        Says::Waiting(_) | Says::Idle => None,
    });
    last.flatten().map_or((None, None), |over| (Some(over.outcome), over.error))
}

/// Brings a deadline forward to `at`.
pub(crate) fn bring_forward(due: &mut Option<Timestamp>, at: Timestamp) {
    *due = Some(due.map_or(at, |due| due.min(at)));
}

/// `at` and so much later; the end of time where there is no such time.
pub(crate) fn after(at: Timestamp, span: SignedDuration) -> Timestamp {
    at.checked_add(span).unwrap_or(Timestamp::MAX)
}
