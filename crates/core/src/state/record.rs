//! Everything that is kept of one session: its state, the evidence behind it, and its identity keys.
//!
//! A record is what a store saves and a restart restores: the future of a restored session is that of
//! the one that went on. It holds no content.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::event::Trust;
use crate::id::Seq;
use crate::process::ProcessRef;
use crate::state::SessionState;
use crate::state::claims::Claims;
use crate::state::ledger::Ledger;
use crate::state::rules::{LIMITS, SKEW};
use crate::state::stamp::Stamp;
use crate::state::word::Word;

/// One session, restorable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// What the world sees.
    pub state: SessionState,
    /// How many events of the session were published.
    pub session_seq: u64,
    /// The newest of them.
    pub last_seq: Seq,
    /// What the state was decided on.
    #[serde(default)]
    pub(crate) evidence: Evidence,
    /// The things of the session that have an identity. Shared, so that a copy of the record made while
    /// pieces of messages stream by costs little.
    #[serde(default)]
    pub(crate) ledger: Arc<Ledger>,
}

/// The signs that belong to no single thing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Evidence {
    /// Drafts taken so far.
    pub(crate) arrivals: u64,
    /// What each trust says of the main agent.
    pub(crate) claims: Claims,
    /// The same from processes other than the one whose stream is watched.
    pub(crate) elsewhere: Claims,
    /// What its processes keep saying of themselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) words: Vec<Word>,
    /// The authoritative feed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) watch: Option<Watch>,
    /// The session was ready for a prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ready: Option<Timestamp>,
    /// The newest word of a source that no subagent runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) childless: Option<Timestamp>,
    /// Requests of the main agent opened up to here are settled: its turn ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) turn_cut: Option<Timestamp>,
    /// Requests of the main agent opened before this are settled: a human prompted anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prompt_cut: Option<Timestamp>,
    /// The newest whole set of background tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) listed: Option<Timestamp>,
    /// What the end of a turn counted in the background.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) counted: Option<Counted>,
    /// The authoritative feed tells the permission mode.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) streams_mode: bool,
    /// The authoritative feed tells the title.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) streams_title: bool,
    /// The newest sign of any kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) newest: Option<Stamp>,
}

/// The authoritative feed of a session.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Watch {
    /// Its first word.
    pub(crate) since: Timestamp,
    /// Its newest word.
    pub(crate) last: Timestamp,
    /// Its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) closed: Option<Timestamp>,
    /// Whose stream it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) process: Option<ProcessRef>,
}

/// How much ran in the background when a turn ended, by the source's own count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counted {
    pub(crate) stamp: Stamp,
    pub(crate) agents: u32,
    pub(crate) others: u32,
}

impl Watch {
    /// True if the feed is open and was heard from lately.
    pub(crate) fn lives(&self, now: Timestamp) -> bool {
        self.closed.is_none() && now.duration_since(self.last) <= LIMITS.silence
    }

    /// True if the feed was open at `at`.
    pub(crate) fn covers(&self, at: Timestamp) -> bool {
        at.duration_since(self.since) >= -SKEW
            && self.closed.is_none_or(|closed| at.duration_since(closed) <= SKEW)
    }

    /// True if `process` is known not to be the one whose stream it is.
    pub(crate) fn is_foreign(&self, process: Option<ProcessRef>) -> bool {
        match (self.process, process) {
            (Some(own), Some(other)) => own.pid != other.pid,
            _ => false,
        }
    }
}

impl SessionRecord {
    /// The record of a session of which nothing but its first draft is known.
    pub(crate) fn new(state: SessionState) -> Self {
        Self {
            state,
            session_seq: 0,
            last_seq: Seq(0),
            evidence: Evidence::default(),
            ledger: Arc::default(),
        }
    }

    /// The things with an identity, to change.
    pub(crate) fn ledger_mut(&mut self) -> &mut Ledger {
        Arc::make_mut(&mut self.ledger)
    }

    /// The least trust that has a say at `now`. An authoritative feed has the word alone from the first
    /// thing it says of activity: that the session exists says nothing of what it does.
    pub(crate) fn least_trust(&self, now: Timestamp) -> Trust {
        let tier = self.evidence.claims.tier(Trust::Authoritative);
        let speaks = || tier.speaks(self.past(), self.last_prompt());
        match &self.evidence.watch {
            Some(watch) if watch.lives(now) && speaks() => Trust::Authoritative,
            _ => Trust::Inferred,
        }
    }

    /// When the newest turn began. What the agent called itself before then says nothing any more.
    pub(crate) fn last_prompt(&self) -> Option<Timestamp> {
        let starts = self.ledger.turns.iter().filter_map(|turn| turn.started);
        starts.map(|started| started.at).max()
    }

    /// The newest end of the session in any process.
    pub(crate) fn last_end(&self) -> Option<Timestamp> {
        self.ledger.starts.iter().filter_map(|start| start.ended).map(|ended| ended.at).max()
    }

    /// When the session was over and began again afterwards, the newest such end: what was seen up to
    /// then says nothing any more.
    pub(crate) fn past(&self) -> Option<Timestamp> {
        let starts = &self.ledger.starts;
        if starts.len() < 2 {
            return None;
        }
        let gap = |end: &Timestamp| {
            let covered = starts.iter().any(|start| {
                start.began.at < *end && start.ended.is_none_or(|ended| ended.at > *end)
            });
            !covered && starts.iter().any(|start| start.began.at >= *end)
        };
        starts.iter().filter_map(|start| start.ended).map(|ended| ended.at).filter(gap).max()
    }

    /// True if every process that had the session open has left it.
    pub(crate) fn is_over(&self) -> bool {
        let starts = &self.ledger.starts;
        !starts.is_empty() && starts.iter().all(|start| start.ended.is_some())
    }

    /// True if its processes left it long ago and none came back.
    pub(crate) fn is_forgettable(&self, now: Timestamp) -> bool {
        self.is_over() && now.duration_since(self.state.last_seen) > LIMITS.forget
    }
}
