//! What runs beside the main agent: subagents, shells, other tasks.

use jiff::Timestamp;

use crate::state::SessionRecord;
use crate::state::claims::{Claim, Says};
use crate::state::rules::{LIMITS, SKEW};
use crate::state::stamp::Sign;
use crate::state::verdict::{Reason, after, bring_forward};

/// What runs beside the main agent.
#[derive(Default)]
pub(crate) struct Beside {
    /// A subagent that runs, or whose report is awaited.
    pub(crate) agent: Option<Reason>,
    /// Background shells and tasks that run, or whose report is awaited.
    pub(crate) others: u32,
    pub(crate) other: Option<Reason>,
    /// When an awaited report is given up.
    pub(crate) due: Option<Timestamp>,
}

impl SessionRecord {
    /// What runs beside the main agent. A background task that ended while the main agent was idle
    /// wakes it: until it has, or for a short time, the task counts as not yet over.
    pub(crate) fn beside(&self, now: Timestamp, stands: Option<&Claim<'_>>) -> Beside {
        let mut beside = Beside::default();
        let spoke = stands.map(|claim| claim.stamp.at);
        let rests = stands.is_some_and(|claim| claim.says != Says::Busy);
        let mut awaited = |over: Timestamp| {
            let until = after(over, LIMITS.report);
            let is = rests && spoke.is_some_and(|spoke| over > spoke) && now < until;
            if is {
                bring_forward(&mut beside.due, until);
            }
            is
        };
        for child in &self.ledger.children {
            if child.over.is_none() || child.over.is_some_and(&mut awaited) {
                beside.agent = Some(Reason::sign(Sign::Subagent, child.since, child.event));
            }
        }
        for task in self.ledger.tasks.iter().filter(|task| task.background) {
            if task.over.is_none() || task.over.is_some_and(&mut awaited) {
                beside.others += 1;
                beside.other = Some(Reason::sign(Sign::Background, task.since, task.event));
            }
        }
        self.count_unnamed(&mut beside);
        beside
    }

    /// Where a source counts without naming, the count holds until the next one.
    fn count_unnamed(&self, beside: &mut Beside) {
        let Some(counted) = self.evidence.counted else { return };
        let since = counted.stamp.at;
        if self.past().is_some_and(|end| end >= since)
            || self.evidence.listed.is_some_and(|listed| listed >= since)
        {
            return;
        }
        let event = counted.stamp.event;
        if beside.agent.is_none() && counted.agents > 0 {
            let ended = self.ledger.children.iter().filter(|child| {
                child.ended.is_some_and(|ended| ended.at.duration_since(since) >= -SKEW)
            });
            if u32::try_from(ended.count()).unwrap_or(u32::MAX) < counted.agents {
                beside.agent = Some(Reason::sign(Sign::Subagent, since, event));
            }
        }
        if counted.others > beside.others && self.ledger.tasks.is_empty() {
            beside.others = counted.others;
            beside.other = Some(Reason::sign(Sign::Background, since, event));
        }
    }
}
