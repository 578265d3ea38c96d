//! Why a session is in its state: what decided, what was overruled, and what would change it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::event::{Status, Trust, WaitingFor};
use crate::id::EventId;
use crate::state::claims::{Claim, Says, standing};
use crate::state::{OpenRequest, SessionRecord, Sign};

/// One piece of evidence with its weight and age.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Weighed {
    /// What was seen.
    pub sign: Sign,
    /// The event that told it.
    pub event: EventId,
    /// When it was seen, by the source's clock.
    pub at: Timestamp,
    /// How old it is.
    pub age_ms: i64,
    /// How much it weighs; none where the thing decides and not who told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// The state it speaks for.
    pub status: Status,
}

/// Why a session is in its state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// The state.
    pub status: Status,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<WaitingFor>,
    /// What decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<Weighed>,
    /// What was outweighed or outlived, oldest first.
    pub overruled: Vec<Weighed>,
    /// Requests that hold the state until they are settled.
    pub open: Vec<OpenRequest>,
    /// Feeds that weigh less than this have no say now.
    pub least_trust: Trust,
    /// When time alone may change the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl SessionRecord {
    /// Why the session is in its state at `now`.
    pub fn explain(&self, now: Timestamp) -> Explanation {
        let verdict = self.verdict(now);
        let claims = self.claims(now);
        let (stands, mut overruled) = standing(&claims);
        let decided = verdict.because;
        if let Some(stands) = stands
            && decided.is_none_or(|reason| reason.event != stands.stamp.event)
        {
            overruled.push(stands);
        }
        let age =
            |at: Timestamp| i64::try_from(now.duration_since(at).as_millis()).unwrap_or(i64::MAX);
        Explanation {
            status: verdict.status,
            waiting_for: verdict.waiting_for,
            decided: decided.map(|reason| Weighed {
                sign: reason.sign,
                event: reason.event,
                at: reason.at,
                age_ms: age(reason.at),
                trust: reason.trust,
                status: verdict.status,
            }),
            overruled: overruled
                .iter()
                .map(|claim| Weighed {
                    sign: claim.stamp.sign,
                    event: claim.stamp.event,
                    at: claim.stamp.at,
                    age_ms: age(claim.stamp.at),
                    trust: Some(claim.trust),
                    status: speaks_for(claim),
                })
                .collect(),
            open: self.state.open.clone(),
            least_trust: self.least_trust(now),
            until: verdict.due,
        }
    }
}

fn speaks_for(claim: &Claim<'_>) -> Status {
    match claim.says {
        Says::Busy => Status::Working,
        Says::Waiting(waiting_for) => waiting_for.status(),
        Says::Idle | Says::Over(_) => Status::Idle,
    }
}
