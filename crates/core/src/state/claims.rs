//! What each trust claims about the main agent, and which claim stands.
//!
//! For every trust the newest sign of each sort is kept. Which one stands is a function of that set
//! alone, so the same evidence gives the same answer in whatever order it came.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::draft::Ending;
use crate::event::{ErrorKind, Trust, TurnOutcome, WaitingFor};
use crate::id::TurnId;
use crate::state::stamp::{Sign, Stamp, keep_later};

/// The newest signs of one trust.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Tier {
    /// Work began or goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) busy: Option<Stamp>,
    /// A turn ended: a fact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) over: Option<Over>,
    /// The agent says it is idle: a bare claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) idle: Option<Stamp>,
    /// The agent says it waits: a bare claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) waiting: Option<Waiting>,
    /// Something that confirms work and cannot begin it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) touch: Option<Stamp>,
}

impl Tier {
    /// True if anything was said of activity after `past`. To be idle before the newest `prompt` is a thing
    /// of the past, too.
    pub(crate) fn speaks(&self, past: Option<Timestamp>, prompt: Option<Timestamp>) -> bool {
        let over = self.over.as_ref().map(|over| over.stamp);
        let idle = self.idle.filter(|idle| prompt.is_none_or(|prompt| idle.at >= prompt));
        let stamps = [self.busy, over, idle, self.touch];
        stamps.into_iter().flatten().any(|stamp| past.is_none_or(|past| stamp.at > past))
    }
}

/// The end of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Over {
    #[serde(flatten)]
    pub(crate) stamp: Stamp,
    pub(crate) outcome: TurnOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<ErrorKind>,
    /// The turn that ended.
    pub(crate) turn: TurnId,
    /// Whether that is the last word about it.
    #[serde(default, skip_serializing_if = "Ending::is_final")]
    pub(crate) ending: Ending,
}

/// A wait that the agent reports without naming a request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Waiting {
    #[serde(flatten)]
    pub(crate) stamp: Stamp,
    pub(crate) waiting_for: WaitingFor,
}

/// The claims of all trusts about the main agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Claims([Tier; 4]);

/// What a standing claim says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Says<'a> {
    /// The main agent works.
    Busy,
    /// The agent waits for a human.
    Waiting(WaitingFor),
    /// The agent says it is idle.
    Idle,
    /// The last turn is over.
    Over(&'a Over),
}

/// One claim with its weight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim<'a> {
    pub(crate) says: Says<'a>,
    pub(crate) stamp: Stamp,
    pub(crate) trust: Trust,
}

impl Claim<'_> {
    /// A fact wins by its time alone; a bare claim also needs the weight.
    fn is_fact(&self) -> bool {
        matches!(self.says, Says::Over(_))
    }
}

impl Claims {
    pub(crate) fn tier(&self, trust: Trust) -> &Tier {
        &self.0[trust as usize]
    }

    pub(crate) fn tier_mut(&mut self, trust: Trust) -> &mut Tier {
        &mut self.0[trust as usize]
    }

    /// Takes the end of a turn.
    pub(crate) fn end(&mut self, trust: Trust, over: Over) {
        let slot = &mut self.tier_mut(trust).over;
        if slot.as_ref().is_none_or(|known| over.stamp.is_after(&known.stamp)) {
            *slot = Some(over);
        }
    }

    /// Takes a sign of work.
    pub(crate) fn busy(&mut self, trust: Trust, stamp: Stamp) {
        keep_later(&mut self.tier_mut(trust).busy, stamp);
    }

    /// Takes a sign that only confirms work.
    pub(crate) fn touch(&mut self, trust: Trust, stamp: Stamp) {
        keep_later(&mut self.tier_mut(trust).touch, stamp);
    }

    /// Every claim of at least `least` trust made after `after`, oldest first. `shift` gives the time
    /// up to which an end counts (the end of a turn counts for nothing in the next one).
    pub(crate) fn in_order(
        &self,
        least: Trust,
        after: Option<Timestamp>,
        shift: impl Fn(Trust, &Over) -> Timestamp,
    ) -> Vec<Claim<'_>> {
        let mut all = Vec::with_capacity(8);
        for &trust in Trust::ALL {
            if trust < least || trust == Trust::Hint {
                continue;
            }
            let tier = self.tier(trust);
            let mut add = |says, stamp: Stamp| {
                if after.is_none_or(|after| stamp.at > after) {
                    all.push(Claim { says, stamp, trust });
                }
            };
            if let Some(stamp) = tier.busy {
                add(Says::Busy, stamp);
            }
            if let Some(waiting) = tier.waiting {
                add(Says::Waiting(waiting.waiting_for), waiting.stamp);
            }
            if let Some(stamp) = tier.idle {
                add(Says::Idle, stamp);
            }
            if let Some(over) = &tier.over {
                let stamp = Stamp { at: shift(trust, over), ..over.stamp };
                add(Says::Over(over), stamp);
            }
        }
        all.sort_by_key(|claim| (claim.stamp.at, claim.trust, claim.stamp.order));
        all
    }

    /// The newest sign that confirms work without beginning it.
    pub(crate) fn touched(&self, least: Trust, after: Option<Timestamp>) -> Option<Stamp> {
        self.0
            .iter()
            .skip((least as usize).max(Trust::Inferred as usize))
            .filter_map(|tier| tier.touch)
            .filter(|stamp| after.is_none_or(|after| stamp.at > after))
            .max_by_key(|stamp| (stamp.at, stamp.order))
    }
}

/// The claim that stands at the end of `claims`, which are in order of time, and those it overruled:
/// the ones it replaced last and the ones too weak to replace it.
pub(crate) fn standing<'a>(claims: &[Claim<'a>]) -> (Option<Claim<'a>>, Vec<Claim<'a>>) {
    let mut stands: Option<Claim<'a>> = None;
    let mut overruled = Vec::new();
    for &claim in claims {
        match stands {
            Some(before) if !claim.is_fact() && claim.trust < before.trust => overruled.push(claim),
            Some(before) => {
                overruled.push(before);
                stands = Some(claim);
            }
            None => stands = Some(claim),
        }
    }
    (stands, overruled)
}

impl Stamp {
    /// True for a sign that a model request is being tried again.
    pub(crate) fn is_retry(&self) -> bool {
        self.sign == Sign::Retry
    }
}
