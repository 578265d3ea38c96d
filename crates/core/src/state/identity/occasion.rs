//! Compactions and retries: things without an id, told apart by their time.

use crate::event::{ApiRetry, CompactionEnded, CompactionStarted};
use crate::id::{Seq, TurnId};
use crate::state::Answer;
use crate::state::bound::{self, push};
use crate::state::identity::held::{End, Thing};
use crate::state::intake::Intake;
use crate::state::ledger::{Compaction, Retry};
use crate::state::rules::SKEW;

/// Two feeds tell of one retry within this time.
const RETRIED: jiff::SignedDuration = jiff::SignedDuration::from_secs(2);

impl Intake<'_> {
    /// The compaction that ran at the draft's time: open, or seen by another kind of source only.
    fn compaction(&self, heard: impl Fn(&Compaction) -> bool) -> Option<usize> {
        self.ledger().compactions.iter().rposition(|compaction| {
            let first = compaction.started.or(compaction.ended);
            let began = first.is_some_and(|first| self.at.duration_since(first.at) >= -SKEW);
            let runs = compaction
                .ended
                .is_none_or(|ended| self.at.duration_since(ended.at) <= SKEW && !heard(compaction));
            began && runs
        })
    }

    /// `compaction.started`.
    pub(crate) fn compaction_started(&mut self, data: CompactionStarted) -> Answer {
        let trust = self.trust;
        let heard = |it: &Compaction| it.started.is_some_and(|started| started.by.has(trust));
        if let Some(index) = self.compaction(heard) {
            let sighting = self.sighting(Seq(0));
            let tells = self.tells();
            let compaction = &mut self.ledger_mut().compactions[index];
            let untold = compaction.started.is_some_and(|started| started.seq.0 == 0)
                && compaction.ended.is_none_or(|ended| ended.seq.0 == 0);
            if untold && tells {
                let answer = self.news(data);
                let started = self.sighting(answer.seq());
                self.ledger_mut().compactions[index].started = Some(started);
                return answer;
            }
            let started = compaction.started.get_or_insert(sighting);
            started.by.add(trust);
            return Answer::Confirms(started.seq);
        }
        let answer = self.news(data);
        let started = Some(self.sighting(answer.seq()));
        self.add_compaction(Compaction { started, ended: None });
        answer
    }

    /// `compaction.ended`.
    pub(crate) fn compaction_ended(&mut self, data: CompactionEnded) -> Answer {
        let trust = self.trust;
        // An end that was only concluded, or is held back, is not told yet.
        let heard =
            |it: &Compaction| it.ended.is_some_and(|ended| ended.seq.0 != 0 && ended.by.has(trust));
        if let Some(index) = self.compaction(heard) {
            if let Some(ended) = &mut self.ledger_mut().compactions[index].ended
                && ended.seq.0 != 0
            {
                ended.by.add(trust);
                return Answer::Confirms(ended.seq);
            }
            let started = self.ledger().compactions[index].started;
            let answer = if self.leaves_to_stream(started) {
                self.hold(Thing::Compaction, End::Compaction(data));
                Answer::Confirms(Seq(0))
            } else {
                self.drop_held(Thing::Compaction);
                self.news(data)
            };
            let ended = self.sighting(answer.seq());
            self.ledger_mut().compactions[index].ended = Some(ended);
            return answer;
        }
        let answer = self.news(data);
        let ended = Some(self.sighting(answer.seq()));
        self.add_compaction(Compaction { started: None, ended });
        answer
    }

    /// The conversation goes on after a compaction whose end is not told yet.
    pub(crate) fn settle_compaction(&mut self) {
        let sighting = self.sighting(Seq(0));
        if let Some(index) = self.compaction(|_| true) {
            self.ledger_mut().compactions[index].ended.get_or_insert(sighting);
        }
    }

    fn add_compaction(&mut self, compaction: Compaction) {
        push(&mut self.ledger_mut().compactions, bound::COMPACTIONS, compaction, |it| {
            it.ended.is_some()
        });
    }

    /// `api.retry`: turn and attempt. Attempts count from 1 again with the next failing request.
    pub(crate) fn api_retry(&mut self, mut data: ApiRetry) -> Answer {
        let trust = self.trust;
        let named = data.turn.take().map(|turn| self.told_turn(turn));
        data.turn = named.or_else(|| self.open_turn());
        let tells = self.tells();
        let found = self.ledger().retries.iter().rposition(|retry| {
            retry.attempt == data.attempt
                && !retry.seen.by.has(trust)
                && (retry.seen.seq.0 != 0 || !tells)
                && self.at.duration_since(retry.seen.at).abs() <= RETRIED
        });
        if let Some(index) = found {
            let seen = &mut self.ledger_mut().retries[index].seen;
            seen.by.add(trust);
            return Answer::Confirms(seen.seq);
        }
        let (turn, attempt) = (data.turn.clone(), data.attempt);
        let answer = self.news(data);
        let seen = self.sighting(answer.seq());
        push(&mut self.ledger_mut().retries, bound::RETRIES, Retry { turn, attempt, seen }, |_| {
            true
        });
        answer
    }

    /// The turn that is open.
    pub(crate) fn open_turn(&self) -> Option<TurnId> {
        let turns = self.ledger().turns.iter().rev();
        turns.filter(|turn| turn.ended.is_none()).map(|turn| turn.id.clone()).next()
    }
}
