//! Requests: opened once, settled once, whoever saw them.

use jiff::Timestamp;

use crate::event::{DecidedBy, Decision, PermissionRequested, PermissionResolved, Scope};
use crate::id::{CallId, RequestId, Seq};
use crate::state::Answer;
use crate::state::bound::{self, push};
use crate::state::intake::Intake;
use crate::state::ledger::{Answered, Request, Settled};

/// What nobody decided: the turn, the agent or the session it belonged to is over.
pub(crate) const WITHDRAWN: Settled =
    Settled { decision: Decision::Cancelled, by: DecidedBy::Agent };

/// Whoever waited and then had nothing to do was not let.
pub(crate) const REFUSED: Settled = Settled { decision: Decision::Denied, by: DecidedBy::User };

impl Intake<'_> {
    /// `permission.requested`.
    pub(crate) fn permission_requested(&mut self, mut data: PermissionRequested) -> Answer {
        let (at, trust) = (self.at, self.trust);
        let named = data.call.as_ref().is_some_and(|call| !call.is_empty());
        let (known, call) = self.recognise(&data);
        if let Some(index) = known
            && (self.overshadowed || !self.ledger().requests[index].hearsay)
        {
            let (given, input) = (data.request, self.hints.input);
            let request = &mut self.ledger_mut().requests[index];
            request.opened.by.add(trust);
            request.input = request.input.or(input);
            request.passed.take_if(|passed| *passed < at);
            if named || request.call.is_none() {
                request.guessed = !named && call.is_some();
                request.call = call.or(request.call.take());
            }
            if !given.is_empty()
                && !request.is_called(&given)
                && request.aliases.len() < bound::ALIASES
            {
                request.aliases.push(given.clone());
            }
            let seq = request.opened.seq;
            self.settle_if_answered(index, &given);
            return Answer::Confirms(seq);
        }
        // What was heard beside the stream opens nothing; the stream's own word does, under its own id.
        let same = |index: &usize| {
            let heard = &self.ledger().requests[*index].call;
            heard.is_none() || call.is_none() || *heard == call
        };
        let heard = known.filter(same).map(|index| self.ledger_mut().requests.remove(index));
        if data.request.is_empty() {
            data.request = match &call {
                Some(call) => RequestId::new(call.as_str()),
                None => RequestId::new(self.id.to_string()),
            };
        }
        data.call = call.clone().filter(|call| !call.is_empty());
        let request = Request {
            id: data.request.clone(),
            aliases: heard.iter().flat_map(Request::names).collect(),
            guessed: !named && call.is_some(),
            call,
            tool: data.tool.clone(),
            input: self.hints.input.or(heard.as_ref().and_then(|heard| heard.input)),
            prompt: self.hints.prompt.clone(),
            server: data.server.clone(),
            scope: self.scope.clone(),
            waiting_for: data.waiting_for,
            opened: self.sighting(Seq(0)),
            hearsay: self.overshadowed,
            passed: self.passed_since(),
            closed: None,
            settled: None,
        };
        let told = heard.as_ref().and_then(|heard| heard.settled);
        let over = self.settled_already(&request).or(told).filter(|_| !request.hearsay);
        let answer = if request.hearsay { Answer::Confirms(Seq(0)) } else { self.news(data) };
        let mut opened = self.sighting(answer.seq());
        if let Some(heard) = heard {
            opened.by.merge(heard.opened.by);
        }
        let requests = &mut self.ledger_mut().requests;
        push(
            requests,
            bound::OPEN_REQUESTS + bound::CLOSED_REQUESTS,
            Request { opened, ..request },
            |request| !request.is_open(),
        );
        let newest = requests.len() - 1;
        if requests.iter().filter(|request| request.is_open()).count() > bound::OPEN_REQUESTS {
            let oldest = requests.iter().position(Request::is_open);
            oldest.map(|oldest| requests.remove(oldest));
        } else if let Some(settled) = over {
            self.close(newest, "late", settled);
        }
        answer
    }

    /// An answer may have come before its request.
    fn settle_if_answered(&mut self, index: usize, id: &RequestId) {
        if self.ledger().requests[index].is_open()
            && let Some(settled) = self.take_answer(id)
        {
            self.close(index, "answer", settled);
        }
    }

    fn take_answer(&mut self, id: &RequestId) -> Option<Settled> {
        let found = self.ledger().answers.iter().position(|answer| answer.request == *id)?;
        Some(self.ledger_mut().answers.remove(found).settled)
    }

    /// How a request that comes now is settled already, if it is: its answer, the end of its call, or
    /// the end of what it belonged to was seen before it.
    fn settled_already(&mut self, request: &Request) -> Option<Settled> {
        if let Some(settled) = self.take_answer(&request.id) {
            return Some(settled);
        }
        let ledger = self.ledger();
        let ended = request.call.as_ref().and_then(|id| {
            ledger.calls.iter().find(|call| call.id == *id).and_then(|call| call.settled)
        });
        if let Some(settled) = ended {
            return Some(settled.of(request.waiting_for));
        }
        if self.is_cut(&request.scope, self.at) {
            return Some(WITHDRAWN);
        }
        if request.scope.is_main() && self.has_rested_since() {
            return Some(REFUSED);
        }
        let passed = self.record.evidence.prompt_cut.is_some_and(|cut| cut > self.at);
        (request.scope.is_main() && passed).then_some(Settled::UNSEEN)
    }

    /// True if what a request of `scope` opened at `at` belonged to is known to be over since.
    fn is_cut(&self, scope: &Scope, at: Timestamp) -> bool {
        let evidence = &self.record.evidence;
        if self.record.is_over() && self.record.last_end().is_some_and(|end| end >= at) {
            return true;
        }
        match scope {
            Scope::Main => evidence.turn_cut.is_some_and(|cut| cut >= at),
            Scope::Child(id) => {
                evidence.childless.is_some_and(|cut| cut >= at)
                    || self
                        .ledger()
                        .children
                        .iter()
                        .any(|child| child.scope == *id && child.over.is_some_and(|cut| cut >= at))
            }
        }
    }

    /// `permission.resolved`.
    pub(crate) fn permission_resolved(&mut self, data: PermissionResolved) -> Answer {
        let trust = self.trust;
        let Some(index) = self.resolved_request(&data) else {
            if !data.request.is_empty() {
                let settled = Settled { decision: data.decision, by: data.by };
                let answer = Answered { request: data.request, settled };
                push(&mut self.ledger_mut().answers, bound::ANSWERS, answer, |_| true);
            }
            return Answer::Confirms(Seq(0));
        };
        let request = &mut self.ledger_mut().requests[index];
        if let Some(closed) = &mut request.closed {
            closed.by.add(trust);
            return Answer::Confirms(closed.seq);
        }
        let settled = Settled { decision: data.decision, by: data.by };
        request.settled = Some(settled);
        if request.hearsay {
            return Answer::Confirms(Seq(0));
        }
        let (id, call) = (request.id.clone(), request.call.clone().filter(|call| !call.is_empty()));
        let answer = self.news(PermissionResolved { request: id, call, ..data });
        let closed = self.sighting(answer.seq());
        self.ledger_mut().requests[index].closed = Some(closed);
        answer
    }

    /// The request an answer is about: by id, by call, else the newest open one of the scope.
    fn resolved_request(&self, data: &PermissionResolved) -> Option<usize> {
        let requests = &self.ledger().requests;
        if !data.request.is_empty() {
            let named = requests.iter().rposition(|request| request.is_called(&data.request));
            if named.is_some() || data.call.is_none() {
                return named;
            }
        }
        if let Some(call) = data.call.as_ref().filter(|call| !call.is_empty()) {
            let about = |request: &Request| request.call.as_ref() == Some(call);
            return requests
                .iter()
                .rposition(|request| about(request) && request.is_open())
                .or_else(|| requests.iter().rposition(about));
        }
        let servers = &self.hints.aliases;
        requests.iter().rposition(|request| {
            request.is_open()
                && request.scope == self.scope
                && request.opened.at <= self.at
                && (servers.is_empty()
                    || request.server.as_ref().is_some_and(|server| servers.contains(server)))
        })
    }

    /// Settles every open request that `which` picks.
    pub(crate) fn settle_requests(
        &mut self,
        what: &str,
        settled: Settled,
        which: impl Fn(&Request) -> bool,
    ) {
        if !self.ledger().requests.iter().any(|request| request.is_open() && which(request)) {
            return;
        }
        for index in 0..self.ledger().requests.len() {
            let request = &self.ledger().requests[index];
            if request.is_open() && which(request) {
                let settled = settled.of(request.waiting_for);
                self.close(index, what, settled);
            }
        }
    }

    pub(crate) fn close(&mut self, index: usize, what: &str, settled: Settled) {
        let request = &self.ledger().requests[index];
        let call: Option<CallId> = request.call.clone().filter(|call| !call.is_empty());
        let (id, scope) = (request.id.clone(), request.scope.clone());
        let what = format!("{what}/{id}");
        let body = PermissionResolved {
            request: id,
            call,
            decision: settled.decision,
            by: settled.by,
            message: None,
        };
        let seq = self.conclude(&what, scope, body);
        let closed = self.sighting(seq);
        let request = &mut self.ledger_mut().requests[index];
        request.closed = Some(closed);
        request.settled = Some(settled);
    }
}
