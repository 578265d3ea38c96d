//! Messages by id and block, usage by message, and whatever else has no life of its own.

use crate::event::{
    BlockKind, Body, MessageCompleted, MessageDelta, MessageRetracted, Role, Trust, UsageUpdated,
};
use crate::id::Seq;
use crate::state::Answer;
use crate::state::bound::{self, push};
use crate::state::intake::Intake;
use crate::state::ledger::Prompted;
use crate::state::rules::{REPEAT, SKEW};
use crate::state::seen::Key;

impl Intake<'_> {
    /// `message.delta`: pieces come from one feed. What a lesser one repeats of a watched session is
    /// known already.
    pub(crate) fn message_delta(&mut self, data: MessageDelta) -> Answer {
        if self.overshadowed { Answer::Confirms(Seq(0)) } else { self.news(data) }
    }

    /// `message.completed`: by message and block, or by another name of the same line.
    pub(crate) fn message_completed(&mut self, data: MessageCompleted) -> Answer {
        let block = data.block.to_be_bytes();
        let mut keys = vec![Key::of(&[b"block", data.message.as_str().as_bytes(), &block])];
        keys.extend(self.hints.aliases.iter().map(|name| Key::of(&[b"line", name.as_bytes()])));
        let known = keys.iter().find_map(|key| self.ledger().seen.find(*key));
        if let Some((seq, _)) = known {
            self.remember(&keys, seq);
            return Answer::Confirms(seq);
        }
        let answer = if self.is_prompt(&data) { self.prompt_told(data) } else { self.news(data) };
        self.remember(&keys, answer.seq());
        answer
    }

    /// True for what a human said to the main agent.
    fn is_prompt(&self, data: &MessageCompleted) -> bool {
        let text = data.block_kind == BlockKind::Text && data.role == Role::User;
        text && !data.synthetic && self.scope.is_main() && !self.hints.evidence_only
    }

    /// A human's prompt. The host that sends it, the hook that is asked about it and the transcript give it
    /// different names: for them it is one by its size and its order. Where the stream tells prompts, it
    /// tells them all, and nobody beside it does.
    fn prompt_told(&mut self, data: MessageCompleted) -> Answer {
        let (at, trust) = (self.at, self.trust);
        let size = data.text.size;
        // Sent before it was taken up, at the most a moment apart the other way round.
        let fits = |it: &Prompted| {
            let later = at.duration_since(it.seen.at);
            let apart = if trust == Trust::Authoritative { -later } else { later };
            !it.seen.by.has(trust) && apart >= -SKEW
        };
        let prompts = &self.ledger().prompts;
        let streams = |it: &Prompted| it.seen.by.has(Trust::Authoritative);
        let known = prompts
            .iter()
            .position(|it| fits(it) && it.size == size)
            .or_else(|| prompts.iter().position(|it| self.overshadowed && streams(it) && fits(it)));
        if let Some(known) = known {
            let seen = &mut self.ledger_mut().prompts[known].seen;
            seen.by.add(trust);
            return Answer::Confirms(seen.seq);
        }
        if self.overshadowed && prompts.iter().any(streams) {
            return Answer::Confirms(Seq(0));
        }
        let answer = self.news(data);
        let seen = self.sighting(answer.seq());
        let prompts = &mut self.ledger_mut().prompts;
        push(prompts, bound::PROMPTS, Prompted { size, seen }, |_| true);
        answer
    }

    /// `message.retracted`.
    pub(crate) fn message_retracted(&mut self, data: MessageRetracted) -> Answer {
        let block = data.from_block.to_be_bytes();
        let key = Key::of(&[b"retracted", data.message.as_str().as_bytes(), &block]);
        self.once(key, data)
    }

    /// `usage.updated`: a message's usage is told once; totals are always news.
    pub(crate) fn usage_updated(&mut self, data: UsageUpdated) -> Answer {
        if let Some(cost) = data.cost_total_usd {
            self.record.state.cost_usd = Some(cost);
        }
        match &data.message {
            Some(message) => {
                let key = Key::of(&[b"usage", message.as_str().as_bytes()]);
                self.once(key, data)
            }
            None => self.news(data),
        }
    }

    /// Publishes what `key` names, unless it was published already.
    pub(crate) fn once(&mut self, key: Key, body: impl Into<Body>) -> Answer {
        if let Some((seq, _)) = self.ledger().seen.find(key) {
            return Answer::Confirms(seq);
        }
        let answer = self.news(body);
        self.remember(&[key], answer.seq());
        answer
    }

    /// What is not told is not known: whoever tells it must find it new.
    fn remember(&mut self, keys: &[Key], seq: Seq) {
        if !self.tells() {
            return;
        }
        let at = self.at;
        let seen = &mut self.ledger_mut().seen;
        for &key in keys {
            if seen.find(key).is_none() {
                seen.add(key, seq, at);
            }
        }
    }

    /// The key of this draft within its payload, if the feed gave a digest of that. Several drafts of one
    /// payload differ by kind and by the thing they are about.
    pub(crate) fn payload_key(&self, body: &Body) -> Option<Key> {
        let payload = self.hints.payload?;
        if matches!(body, Body::PermissionRequested(_)) {
            return None;
        }
        let about: &str = match body {
            Body::ToolStarted(data) => data.call.as_str(),
            Body::ToolEnded(data) => data.call.as_str(),
            Body::TaskStarted(data) => data.task.as_str(),
            Body::TaskEnded(data) => data.task.as_str(),
            Body::TaskProgress(data) => data.task.as_str(),
            Body::MessageCompleted(data) => data.message.as_str(),
            Body::Notice(data) => &data.code,
            _ => "",
        };
        let block = match body {
            Body::MessageCompleted(data) => data.block,
            Body::MessageDelta(data) => u32::try_from(data.offset).unwrap_or(u32::MAX),
            _ => 0,
        };
        let parts: [&[u8]; 4] =
            [payload.as_bytes(), body.kind().as_bytes(), about.as_bytes(), &block.to_be_bytes()];
        Some(Key::of(&parts))
    }

    /// The number of the same draft of the same payload, if it came within the last moment.
    pub(crate) fn repeated(&self, key: Key) -> Option<Seq> {
        let (seq, at) = self.ledger().seen.find(key)?;
        let apart = (self.at.as_millisecond() - at).abs();
        (i128::from(apart) <= REPEAT.as_millis()).then_some(seq)
    }

    /// Remembers the draft of a payload.
    pub(crate) fn remember_payload(&mut self, key: Key, answer: Answer) {
        let at = self.at;
        self.ledger_mut().seen.add(key, answer.seq(), at);
    }

    /// A notice, or anything that only its source can tell apart.
    pub(crate) fn plain(&mut self, body: Body) -> Answer {
        self.news(body)
    }

    /// True where a message of this feed shows that the agent was at work at its time: hooks tell of messages when
    /// they please, a record carries the time it was made.
    pub(crate) fn speaks_live(&self) -> bool {
        self.trust != Trust::Reported
    }
}
