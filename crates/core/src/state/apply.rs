//! What a draft means for the state: evidence is taken from it whether or not it was news.

use crate::draft::Draft;
use crate::event::{
    Body, ErrorKind, ReportedStatus, Scope, Trust, TurnEnded, TurnOrigin, TurnOutcome, WaitingFor,
};
use crate::id::TurnId;
use crate::state::Answer;
use crate::state::claims::{Claims, Over, Waiting};
use crate::state::identity::request::WITHDRAWN;
use crate::state::intake::Intake;
use crate::state::ledger::Settled;
use crate::state::record::Counted;
use crate::state::rules::{Effect, effect};
use crate::state::stamp::{Sign, keep_later};

impl Intake<'_> {
    /// Finds out what the draft is about, publishes it if it is news, and takes its evidence.
    pub(crate) fn take(&mut self, body: Body) -> Answer {
        let key = self.payload_key(&body);
        if let Some(seq) = key.and_then(|key| self.repeated(key)) {
            return Answer::Confirms(seq);
        }
        self.sign_of_child(&body);
        let effect = effect(&body);
        let answer = match body {
            Body::TurnStarted(data) => {
                let origin = data.origin;
                let answer = self.turn_started(data);
                self.prompted(origin);
                answer
            }
            Body::TurnEnded(data) => {
                let facts = Ending::of(&data);
                if self.trust == Trust::Authoritative && self.scope.is_main() {
                    self.release_turn();
                }
                let (answer, turn) = self.turn_ended(data);
                self.turn_is_over(&facts, turn);
                answer
            }
            other => self.identify(other),
        };
        if let Some(key) = key {
            self.remember_payload(key, answer);
        }
        self.weigh(effect);
        answer
    }

    fn identify(&mut self, body: Body) -> Answer {
        match body {
            Body::SessionStarted(data) => self.session_started(data),
            Body::SessionUpdated(data) => self.session_updated(data),
            Body::SessionEnded(data) => self.session_ended(data),
            Body::ModeChanged(data) => self.mode_changed(data),
            Body::ToolStarted(data) => self.tool_started(data),
            Body::ToolProgress(data) => self.tool_progress(data),
            Body::ToolEnded(data) => self.tool_ended(data),
            Body::PermissionRequested(data) => self.permission_requested(data),
            Body::PermissionResolved(data) => self.permission_resolved(data),
            Body::MessageDelta(data) => self.message_delta(data),
            Body::MessageCompleted(data) => self.message_completed(data),
            Body::MessageRetracted(data) => self.message_retracted(data),
            Body::UsageUpdated(data) => self.usage_updated(data),
            Body::SubagentStarted(data) => self.subagent_started(data),
            Body::SubagentEnded(data) => self.subagent_ended(data),
            Body::TaskStarted(data) => self.task_started(data),
            Body::TaskProgress(data) => self.task_progress(data),
            Body::TaskEnded(data) => self.task_ended(data),
            Body::TasksChanged(data) => self.tasks_changed(data),
            Body::CompactionStarted(data) => self.compaction_started(data),
            Body::CompactionEnded(data) => self.compaction_ended(data),
            Body::ApiRetry(data) => self.api_retry(data),
            Body::StatusReported(data) => {
                self.reported(data.status, data.waiting_for);
                if self.hints.stands && self.scope.is_main() {
                    self.keep_word(data.status, data.waiting_for);
                }
                self.news(data)
            }
            other => self.plain(other),
        }
    }

    /// True for a draft of another process than the watched one: it has turns of its own.
    fn is_foreign(&self) -> bool {
        self.record.evidence.watch.is_some_and(|watch| watch.is_foreign(self.process))
    }

    /// The claims this draft's feed speaks for: of the watched process, or of another one.
    pub(crate) fn claims(&mut self) -> &mut Claims {
        let foreign = self.is_foreign();
        let evidence = &mut self.record.evidence;
        if foreign { &mut evidence.elsewhere } else { &mut evidence.claims }
    }

    /// Adds what the draft says of the main agent's activity.
    fn weigh(&mut self, effect: Effect) {
        if self.trust > Trust::Hint {
            let stamp = self.stamp(Sign::Activity);
            keep_later(&mut self.record.evidence.newest, stamp);
        }
        if !self.scope.is_main() || self.trust == Trust::Hint {
            return;
        }
        let trust = self.trust;
        match effect {
            Effect::Opens(Sign::Content) if !self.speaks_live() => {
                let stamp = self.stamp(Sign::Content);
                self.claims().touch(trust, stamp);
            }
            Effect::Opens(sign) => {
                let stamp = self.stamp(sign);
                self.claims().busy(trust, stamp);
            }
            Effect::Confirms => {
                let stamp = self.stamp(Sign::Activity);
                self.claims().touch(trust, stamp);
            }
            Effect::Ends | Effect::Says(_) | Effect::Nothing => {}
        }
    }

    /// A new prompt of a human: what the main agent asked before is settled.
    fn prompted(&mut self, origin: TurnOrigin) {
        let speaks = self.scope.is_main() && !self.overshadowed && !self.is_foreign();
        if !speaks || origin != TurnOrigin::Human {
            return;
        }
        let at = self.at;
        let cut = &mut self.record.evidence.prompt_cut;
        *cut = (*cut).max(Some(at));
        self.settle_requests("prompt", Settled::UNSEEN, |request| {
            request.scope.is_main() && request.opened.at < at
        });
    }

    /// The end of a turn: a fact about the main agent, and about what it leaves running.
    fn turn_is_over(&mut self, facts: &Ending, turn: TurnId) {
        let (at, trust) = (self.at, self.trust);
        if let Scope::Child(scope) = &self.scope {
            let index = self.ledger().children.iter().position(|child| child.scope == *scope);
            if let Some(index) = index {
                self.child_is_over(index, at);
            }
            return;
        }
        if self.overshadowed {
            return;
        }
        if let Some(cost) = facts.cost_total_usd {
            self.record.state.cost_usd = Some(cost);
        }
        let stamp = self.stamp(Sign::TurnEnd);
        let (outcome, error) = (facts.outcome, facts.error);
        let ending = self.hints.ending;
        self.claims().end(trust, Over { stamp, outcome, error, turn, ending });
        if self.is_foreign() {
            return;
        }
        let cut = &mut self.record.evidence.turn_cut;
        *cut = (*cut).max(Some(at));
        self.settle_requests("turn", WITHDRAWN, |request| {
            request.scope.is_main() && request.opened.at <= at
        });
        self.leave_behind(facts.background, outcome);
    }

    /// Which subagents outlive the turn.
    fn leave_behind(&mut self, background: u32, outcome: TurnOutcome) {
        let (at, trust) = (self.at, self.trust);
        let running = self.hints.running_agents;
        if let Some(agents) = running {
            let counted = &mut self.record.evidence.counted;
            let stamp = crate::state::stamp::Stamp {
                at,
                order: self.record.evidence.arrivals,
                event: self.id,
                sign: Sign::Background,
            };
            if counted.is_none_or(|known| stamp.is_after(&known.stamp)) {
                let others = background.saturating_sub(agents);
                *counted = Some(Counted { stamp, agents, others });
            }
        }
        if running == Some(0) {
            let none = &mut self.record.evidence.childless;
            *none = (*none).max(Some(at));
        }
        for index in 0..self.ledger().children.len() {
            let child = &self.ledger().children[index];
            if child.over.is_some() || child.since > at {
                continue;
            }
            let stays = match running {
                Some(0) => false,
                Some(_) => child.background != Some(false),
                // A hook that does not count at a plain end means that nothing is left.
                None if trust == Trust::Reported => outcome != TurnOutcome::Completed,
                None if trust < Trust::Reported => child.background != Some(false),
                None => child.background == Some(true),
            };
            if !stays {
                self.child_is_over(index, at);
            }
        }
    }

    /// What the agent says of itself.
    fn reported(&mut self, status: ReportedStatus, waiting_for: Option<WaitingFor>) {
        let (at, trust) = (self.at, self.trust);
        if trust == Trust::Hint || !self.scope.is_main() {
            return;
        }
        match status {
            ReportedStatus::Busy => {
                self.back_at_work();
                let stamp = self.stamp(Sign::SaysBusy);
                self.claims().busy(trust, stamp);
            }
            ReportedStatus::Idle | ReportedStatus::Shell => {
                self.back_from_waiting();
                let ready = &mut self.record.evidence.ready;
                *ready = (*ready).max(Some(at));
                // That one process rests says nothing of one that does not.
                if !self.hints.stands || self.record.rests_but(self.process) {
                    let stamp = self.stamp(Sign::SaysIdle);
                    keep_later(&mut self.claims().tier_mut(trust).idle, stamp);
                }
            }
            // Who is in the stream sees the request itself.
            ReportedStatus::Waiting if trust < Trust::Authoritative => {
                let stamp = self.stamp(Sign::SaysWaiting);
                let waiting_for = waiting_for.unwrap_or(WaitingFor::Permission);
                let slot = &mut self.claims().tier_mut(trust).waiting;
                if slot.is_none_or(|known| stamp.is_after(&known.stamp)) {
                    *slot = Some(Waiting { stamp, waiting_for });
                }
            }
            ReportedStatus::Waiting | ReportedStatus::Unknown => {}
        }
    }
}

/// What counts of the end of a turn.
struct Ending {
    outcome: TurnOutcome,
    error: Option<ErrorKind>,
    background: u32,
    cost_total_usd: Option<f64>,
}

impl Ending {
    fn of(data: &TurnEnded) -> Self {
        Self {
            outcome: data.outcome,
            error: data.error,
            background: data.background,
            cost_total_usd: data.cost_total_usd,
        }
    }
}

/// True if a draft shows that a session is, or is again, alive.
pub(crate) fn shows_life(draft: &Draft) -> bool {
    draft.hints.stands || matches!(effect(&draft.body), Effect::Opens(_))
}
