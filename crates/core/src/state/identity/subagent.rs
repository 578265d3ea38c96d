//! Subagents, by scope.

use jiff::{SignedDuration, Timestamp};

use crate::event::{Body, Scope, SubagentEnded, SubagentStarted, Trust};
use crate::id::{ScopeId, Seq};
use crate::state::Answer;
use crate::state::bound::{self, push};
use crate::state::identity::held::{End, Thing};
use crate::state::identity::request::WITHDRAWN;
use crate::state::intake::Intake;
use crate::state::ledger::Child;
use crate::state::rules::{Effect, SKEW, effect};

impl Intake<'_> {
    pub(crate) fn child_index(&self, scope: &ScopeId) -> Option<usize> {
        self.ledger().children.iter().position(|child| child.scope == *scope)
    }

    pub(crate) fn add_child(&mut self, scope: ScopeId) -> usize {
        let child = Child {
            scope,
            call: None,
            background: None,
            since: self.at,
            last: self.at,
            event: self.id,
            started: None,
            ended: None,
            over: None,
            task_started: None,
            task_ended: None,
        };
        let children = &mut self.ledger_mut().children;
        push(children, bound::CHILDREN, child, |child| child.over.is_some());
        children.len() - 1
    }

    /// Any draft of a subagent shows that it lives; some begin it.
    pub(crate) fn sign_of_child(&mut self, body: &Body) {
        let Scope::Child(scope) = &self.scope else { return };
        let scope = scope.clone();
        let begins = matches!(
            body,
            Body::SubagentStarted(_) | Body::ToolStarted(_) | Body::PermissionRequested(_)
        ) || matches!(effect(body), Effect::Opens(_));
        let (at, id) = (self.at, self.id);
        let Some(index) = self.child_index(&scope) else {
            if begins {
                let index = self.add_child(scope);
                let gone = self.record.evidence.childless.filter(|none| *none >= at);
                self.ledger_mut().children[index].over = gone;
            }
            return;
        };
        let named = matches!(body, Body::SubagentStarted(_));
        let child = &mut self.ledger_mut().children[index];
        child.last = child.last.max(at);
        child.since = child.since.min(at);
        let Some(over) = child.over.filter(|_| begins) else { return };
        let grace = if named { SignedDuration::ZERO } else { SKEW };
        if at.duration_since(over) > grace {
            child.over = None;
            child.since = at;
            child.event = id;
        }
    }

    /// `subagent.started`.
    pub(crate) fn subagent_started(&mut self, data: SubagentStarted) -> Answer {
        let trust = self.trust;
        let Scope::Child(scope) = self.scope.clone() else { return self.news(data) };
        let index = self.child_index(&scope).unwrap_or_else(|| self.add_child(scope.clone()));
        let child = &mut self.ledger_mut().children[index];
        if data.background {
            child.background = Some(true);
        } else if trust == Trust::Authoritative {
            child.background.get_or_insert(false);
        }
        if child.call.is_none() {
            child.call.clone_from(&data.call);
        }
        let again = child.ended.is_some_and(|ended| child.since > ended.at);
        if again {
            self.release(Thing::Subagent(&scope));
        }
        let tells = self.tells();
        let child = &mut self.ledger_mut().children[index];
        let known = child.started.as_mut().filter(|it| !again && (it.seq.0 != 0 || !tells));
        if let Some(started) = known {
            started.by.add(trust);
            return Answer::Confirms(started.seq);
        }
        let answer = self.news(data);
        let started = self.sighting(answer.seq());
        let child = &mut self.ledger_mut().children[index];
        child.started = Some(started);
        child.event = started.event;
        if again {
            child.ended = None;
        }
        answer
    }

    /// `subagent.ended`: its requests are settled with it.
    pub(crate) fn subagent_ended(&mut self, data: SubagentEnded) -> Answer {
        let trust = self.trust;
        let Scope::Child(scope) = self.scope.clone() else { return self.news(data) };
        let index = self.child_index(&scope).unwrap_or_else(|| self.add_child(scope.clone()));
        self.child_is_over(index, self.at);
        let child = &mut self.ledger_mut().children[index];
        let started = child.started;
        if let Some(ended) = &mut child.ended {
            ended.by.add(trust);
            if ended.seq.0 != 0 {
                return Answer::Confirms(ended.seq);
            }
        }
        let answer = if self.leaves_to_stream(started) {
            self.hold(Thing::Subagent(&scope), End::Subagent(data));
            Answer::Confirms(Seq(0))
        } else {
            self.drop_held(Thing::Subagent(&scope));
            self.news(data)
        };
        let ended = self.sighting(answer.seq());
        self.ledger_mut().children[index].ended = Some(ended);
        answer
    }

    /// A subagent is over at `at`, and what it asked with it.
    pub(crate) fn child_is_over(&mut self, index: usize, at: Timestamp) {
        let child = &mut self.ledger_mut().children[index];
        if at < child.since {
            return;
        }
        child.over = Some(child.over.map_or(at, |known| known.max(at)));
        let scope = Scope::Child(child.scope.clone());
        self.settle_requests("scope", WITHDRAWN, |request| {
            request.scope == scope && request.opened.at <= at
        });
    }
}
