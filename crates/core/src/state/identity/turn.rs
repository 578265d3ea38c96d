//! Turns of the main agent.
//!
//! Different prompts are different turns. Where an authoritative feed is, or was at the time, it alone
//! opens and closes turns and the others confirm. Else one turn is recognised by its id, its prompt, or
//! the time it was seen to run.

use jiff::Timestamp;

use crate::event::{Scope, Trust, TurnEnded, TurnOutcome, TurnStarted, UsageUpdated};
use crate::id::{Seq, TurnId};
use crate::state::Answer;
use crate::state::bound::{self, push};
use crate::state::intake::Intake;
use crate::state::ledger::{Sighting, Turn};
use crate::state::rules::SKEW;

/// A second sighting of the start of a turn that a host asked for may come this long after it was
/// asked: the agent may still have been starting.
const ASKED: jiff::SignedDuration = jiff::SignedDuration::from_secs(60);

impl Turn {
    fn is_called(&self, id: &TurnId) -> bool {
        !id.is_empty() && (self.id == *id || self.aliases.contains(id))
    }

    /// True if anything was published of it.
    fn is_told(&self) -> bool {
        [self.started, self.ended].into_iter().flatten().any(|sighting| sighting.seq.0 != 0)
    }

    fn began(&self) -> Option<Timestamp> {
        self.started.or(self.ended).map(|sighting| sighting.at)
    }

    /// True if the turn ran at `at`, give or take what two feeds may differ.
    fn ran_at(&self, at: Timestamp) -> bool {
        self.began().is_some_and(|began| at.duration_since(began) >= -SKEW)
            && self.ended.is_none_or(|ended| at.duration_since(ended.at) <= SKEW)
    }

    fn alias(&mut self, id: TurnId) {
        if !id.is_empty() && !self.is_called(&id) && self.aliases.len() < bound::ALIASES {
            self.aliases.push(id);
        }
    }
}

impl Intake<'_> {
    fn named_turn(&self, id: &TurnId) -> Option<usize> {
        let turns = &self.ledger().turns;
        let by_prompt = || {
            let prompt = self.hints.prompt.as_ref()?;
            turns.iter().rposition(|turn| turn.prompt.as_ref() == Some(prompt))
        };
        turns.iter().rposition(|turn| turn.is_called(id)).or_else(by_prompt)
    }

    /// The id under which the turn that a source calls `id` was told.
    pub(crate) fn told_turn(&self, id: TurnId) -> TurnId {
        let known = self.ledger().turns.iter().rev().find(|turn| turn.is_called(&id));
        known.map_or(id, |turn| turn.id.clone())
    }

    /// True if both name a prompt and not the same one.
    fn other_prompt(&self, turn: &Turn) -> bool {
        matches!((&turn.prompt, &self.hints.prompt), (Some(one), Some(other)) if one != other)
    }

    fn known_start(&self, id: &TurnId) -> Option<usize> {
        if let Some(named) = self.named_turn(id) {
            return Some(named);
        }
        let turns = &self.ledger().turns;
        let mine = |turn: &Turn| turn.started.is_some_and(|seen| seen.by.has(self.trust));
        let near = |turn: &Turn| {
            if self.trust == Trust::Authoritative {
                // Asked for at `at`, seen by another feed when it really began.
                let began = turn.began().map(|began| began.duration_since(self.at));
                turn.ran_at(self.at) || began.is_some_and(|late| late >= -SKEW && late <= ASKED)
            } else {
                turn.ran_at(self.at)
            }
        };
        let unheard =
            turns.iter().position(|turn| !self.other_prompt(turn) && !mine(turn) && near(turn));
        unheard.or_else(|| {
            // The same feed again without a name: the turn that is open goes on.
            let nameless = id.is_empty() && self.hints.prompt.is_none();
            turns.iter().rposition(|turn| nameless && turn.ended.is_none() && turn.ran_at(self.at))
        })
    }

    /// `turn.started`.
    pub(crate) fn turn_started(&mut self, mut data: TurnStarted) -> Answer {
        if !self.scope.is_main() {
            return self.news(data);
        }
        let trust = self.trust;
        let known = if self.overshadowed {
            self.named_turn(&data.turn)
        } else {
            self.known_start(&data.turn)
        };
        if let Some(index) = known {
            let prompt = self.hints.prompt.clone();
            let unseen = self.sighting(Seq(0));
            let tells = self.tells();
            let turn = &mut self.ledger_mut().turns[index];
            turn.alias(data.turn.clone());
            turn.prompt = turn.prompt.take().or(prompt);
            if tells && !turn.is_told() {
                data.turn = turn.id.clone();
                let answer = self.news(data);
                let started = self.sighting(answer.seq());
                self.ledger_mut().turns[index].started = Some(started);
                return answer;
            }
            let started = turn.started.get_or_insert(unseen);
            started.by.add(trust);
            return Answer::Confirms(started.seq);
        }
        if self.overshadowed {
            return Answer::Confirms(self.shadow());
        }
        self.lose_open_turns(self.at);
        if data.turn.is_empty() {
            data.turn = self.name_turn();
        }
        let id = data.turn.clone();
        let answer = self.news(data);
        let started = Some(self.sighting(answer.seq()));
        self.add_turn(id, started, None);
        answer
    }

    fn name_turn(&self) -> TurnId {
        match &self.hints.prompt {
            Some(prompt) => TurnId::new(prompt.as_str()),
            None => TurnId::new(self.id.to_string()),
        }
    }

    fn add_turn(&mut self, id: TurnId, started: Option<Sighting>, ended: Option<Sighting>) {
        let turn = Turn {
            id,
            aliases: Vec::new(),
            prompt: self.hints.prompt.clone(),
            started,
            ended,
            outcome: None,
            priced: false,
        };
        push(&mut self.ledger_mut().turns, bound::TURNS, turn, |_| true);
    }

    /// The turn that an overshadowed draft most likely saw.
    fn shadow(&self) -> Seq {
        let turns = self.ledger().turns.iter().rev();
        let mut near = turns.filter(|turn| turn.ran_at(self.at));
        near.find_map(|turn| turn.started).map_or(Seq(0), |started| started.seq)
    }

    /// A turn begins, or the session ends, while another turn is open: nobody saw how that one ended.
    pub(crate) fn lose_open_turns(&mut self, at: Timestamp) {
        for index in 0..self.ledger().turns.len() {
            let turn = &self.ledger().turns[index];
            let earlier = turn.started.is_some_and(|started| started.at < at);
            if turn.ended.is_some() || !earlier {
                continue;
            }
            let id = turn.id.clone();
            // Of a turn that was never told nobody misses the end.
            let seq = if turn.is_told() {
                let what = format!("lost/{id}");
                self.conclude(&what, Scope::Main, TurnEnded::new(id, TurnOutcome::Lost))
            } else {
                Seq(0)
            };
            let ended = self.sighting(seq);
            let turn = &mut self.ledger_mut().turns[index];
            turn.ended = Some(ended);
            turn.outcome = Some(TurnOutcome::Lost);
        }
    }

    /// The turn whose end this is.
    fn ending_turn(&self, id: &TurnId) -> Option<usize> {
        if let Some(named) = self.named_turn(id) {
            return Some(named);
        }
        let turns = &self.ledger().turns;
        let fits = |turn: &Turn| !self.other_prompt(turn) && turn.ran_at(self.at);
        turns.iter().rposition(|turn| fits(turn) && turn.ended.is_none()).or_else(|| {
            turns.iter().rposition(|turn| {
                let heard = turn.ended.is_some_and(|ended| ended.by.has(self.trust));
                fits(turn) && !heard
            })
        })
    }

    /// `turn.ended` of the main agent. Gives the answer and the turn's id.
    pub(crate) fn turn_ended(&mut self, mut data: TurnEnded) -> (Answer, TurnId) {
        if !self.scope.is_main() {
            let turn = data.turn.clone();
            return (self.news(data), turn);
        }
        let trust = self.trust;
        let tells = self.tells();
        let known = self.ending_turn(&data.turn);
        let priced =
            data.usage.is_some() || data.cost_usd.is_some() || data.cost_total_usd.is_some();
        if let Some(index) = known {
            let turn = &mut self.ledger_mut().turns[index];
            let id = turn.id.clone();
            let ended_untold = turn.ended.is_some_and(|ended| ended.seq.0 == 0);
            if let Some(ended) = turn.ended.as_mut().filter(|_| !(ended_untold && tells)) {
                ended.by.add(trust);
                let seq = ended.seq;
                let price = priced && !turn.priced;
                turn.priced |= priced;
                if price && !self.overshadowed {
                    let usage = UsageUpdated {
                        message: None,
                        usage: data.usage,
                        cost_total_usd: data.cost_total_usd,
                        context_tokens: None,
                        context_limit: None,
                    };
                    self.conclude("price", Scope::Main, usage);
                }
                return (Answer::Confirms(seq), id);
            }
            if self.overshadowed {
                return (Answer::Confirms(Seq(0)), id);
            }
            data.turn = id.clone();
            let outcome = data.outcome;
            let answer = self.news(data);
            let ended = self.sighting(answer.seq());
            let turn = &mut self.ledger_mut().turns[index];
            turn.ended = Some(ended);
            turn.outcome = Some(outcome);
            turn.priced = priced;
            if trust == Trust::Authoritative {
                // What others took for turns before the stream was heard.
                self.lose_open_turns(self.at);
            }
            return (answer, id);
        }
        if self.overshadowed {
            return (Answer::Confirms(self.shadow()), data.turn);
        }
        if data.turn.is_empty() {
            data.turn = self.name_turn();
        }
        let id = data.turn.clone();
        let answer = self.news(data);
        let ended = Some(self.sighting(answer.seq()));
        self.add_turn(id.clone(), None, ended);
        (answer, id)
    }
}
