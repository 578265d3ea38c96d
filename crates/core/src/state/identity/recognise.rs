//! Which request a draft speaks of.
//!
//! A source that names the request or its call is simple. A hook names neither: its request belongs to
//! the call of the same scope, tool and input that this kind of source has not asked about yet. Several
//! such calls are served in order; one that ended already is taken last.

use jiff::{SignedDuration, Timestamp};

use crate::event::{PermissionRequested, WaitingFor};
use crate::id::{CallId, PromptId};
use crate::state::intake::Intake;
use crate::state::ledger::{Call, Request, Sighting};
use crate::state::rules::SKEW;

/// Elicitations of one server as two feeds see them lie this close together.
const ELICITED: SignedDuration = SignedDuration::from_secs(5);

impl Intake<'_> {
    /// The request that is known already, if it is; and the call it is about.
    pub(crate) fn recognise(&self, data: &PermissionRequested) -> (Option<usize>, Option<CallId>) {
        let requests = &self.ledger().requests;
        let call = data.call.clone().filter(|call| !call.is_empty());
        if !data.request.is_empty() {
            let named = requests.iter().rposition(|request| request.is_called(&data.request));
            if named.is_some() {
                return (named, call);
            }
        }
        if let Some(call) = call {
            return (self.request_of_call(&call, data), Some(call));
        }
        if data.waiting_for == WaitingFor::Elicitation {
            return (self.elicitation(data), None);
        }
        if let Some(call) = self.unasked_call(data) {
            let call = call.id.clone();
            return (self.request_of_call(&call, data), Some(call));
        }
        // No call of that kind is known, or all were asked about: the same question again while it is
        // open is the same question.
        let open =
            requests.iter().position(|request| request.is_open() && self.is_alike(request, data));
        let asked = open.map(|index| requests[index].call.clone());
        (open, asked.unwrap_or_else(|| self.running_call(data)))
    }

    /// The request about `call` that this kind of source has not told of yet, or that is still open.
    fn request_of_call(&self, call: &CallId, data: &PermissionRequested) -> Option<usize> {
        let requests = &self.ledger().requests;
        let about = |request: &Request| request.call.as_ref() == Some(call);
        let unheard = |request: &Request| !request.opened.by.has(self.trust);
        requests
            .iter()
            .position(|request| about(request) && unheard(request))
            .or_else(|| requests.iter().position(|request| about(request) && request.is_open()))
            .or_else(|| {
                // Asked about before its call was known.
                requests.iter().position(|request| {
                    let loose = request.call.is_none() || request.guessed;
                    loose && unheard(request) && self.is_alike(request, data)
                })
            })
    }

    /// True if a request without a call may be the one `data` speaks of.
    fn is_alike(&self, request: &Request, data: &PermissionRequested) -> bool {
        request.scope == self.scope
            && request.tool == data.tool
            && request.waiting_for == data.waiting_for
            && agree(request.input.as_ref(), self.hints.input.as_ref())
            && agree(request.prompt.as_ref(), self.hints.prompt.as_ref())
    }

    fn elicitation(&self, data: &PermissionRequested) -> Option<usize> {
        let requests = &self.ledger().requests;
        let same = |request: &Request| {
            request.waiting_for == WaitingFor::Elicitation && request.server == data.server
        };
        let near = |request: &Request| {
            let distance = self.at.duration_since(request.opened.at).abs();
            !request.opened.by.has(self.trust) && distance <= ELICITED
        };
        requests.iter().position(|request| same(request) && near(request)).or_else(|| {
            let repeated =
                |request: &Request| data.request.is_empty() && request.is_open() && same(request);
            requests.iter().position(repeated)
        })
    }

    /// The call a request without an id belongs to: not asked about by this kind of source.
    fn unasked_call(&self, data: &PermissionRequested) -> Option<&Call> {
        let ledger = self.ledger();
        let requests = |call: &Call| {
            let id = call.id.clone();
            ledger.requests.iter().filter(move |request| request.call.as_ref() == Some(&id))
        };
        let unheard = |request: &Request| !request.opened.by.has(self.trust);
        // Another kind of source has told of its request.
        let told = |call: &&Call| requests(call).any(unheard);
        let equal = |call: &Call| call.input.is_some() && call.input == self.hints.input;
        let candidates = || {
            ledger.calls.iter().filter(|call| {
                call.scope == self.scope
                    && (call.tool == data.tool || call.tool.is_none() && equal(call))
                    && self.same_prompt(call.prompt.as_ref(), call)
                    && (requests(call).next().is_none() || told(call))
            })
        };
        let same = || candidates().filter(|call| equal(call));
        same()
            .find(told)
            .or_else(|| self.first_running(same()))
            .or_else(|| self.last_ended(same()))
            .or_else(|| candidates().find(told))
            .or_else(|| self.first_running(candidates()))
            .or_else(|| self.last_ended(candidates().filter(|call| call.input.is_none())))
    }

    /// The first call that ran at the draft's time.
    fn first_running<'c>(&self, mut calls: impl Iterator<Item = &'c Call>) -> Option<&'c Call> {
        calls.find(|call| {
            call.started.is_none_or(|started| self.at.duration_since(started.at) >= -SKEW)
                && call.ended.is_none_or(|ended| ended.at > self.at)
        })
    }

    /// The last call that ended since. Who told the end has the same clock; another feed may differ.
    fn last_ended<'c>(&self, calls: impl Iterator<Item = &'c Call>) -> Option<&'c Call> {
        let since = |ended: Sighting| {
            let skew = if ended.by.has(self.trust) { SignedDuration::ZERO } else { SKEW };
            ended.at.duration_since(self.at) >= -skew
        };
        calls.filter(|call| call.ended.is_some_and(since)).last()
    }

    /// A call asked about before may be asked about again while it runs.
    fn running_call(&self, data: &PermissionRequested) -> Option<CallId> {
        let found = self.ledger().calls.iter().rev().find(|call| {
            call.scope == self.scope
                && call.tool == data.tool
                && call.ended.is_none()
                && agree(call.input.as_ref(), self.hints.input.as_ref())
                && self.same_prompt(call.prompt.as_ref(), call)
        });
        found.map(|call| call.id.clone())
    }

    /// Calls of another prompt, or of a turn that is over, are not meant.
    fn same_prompt(&self, prompt: Option<&PromptId>, call: &Call) -> bool {
        let cut = self.record.evidence.prompt_cut.filter(|_| self.scope.is_main());
        let since = |at: Timestamp| cut.is_none_or(|cut| at >= cut || self.at < cut);
        agree(prompt, self.hints.prompt.as_ref())
            && call.started.is_none_or(|started| since(started.at))
    }

    /// A request may come before its call is known: it takes the call when that comes.
    pub(crate) fn adopt_request(&mut self, call: &CallId) {
        if !self.ledger().requests.iter().any(Request::is_open) {
            return;
        }
        let ledger = self.ledger();
        if ledger.requests.iter().any(|request| request.call.as_ref() == Some(call)) {
            return;
        }
        let Some(known) = ledger.calls.iter().find(|known| known.id == *call) else { return };
        let fits = |request: &Request| {
            request.is_open()
                && request.waiting_for != WaitingFor::Elicitation
                && request.scope == known.scope
                && (known.tool.is_none() || request.tool == known.tool)
                && agree(request.prompt.as_ref(), known.prompt.as_ref())
        };
        // A request of exactly this input was given to a call of another input only for want of this.
        let exact = |request: &Request| {
            request.input.is_some()
                && request.input == known.input
                && (request.call.is_none() || self.is_misgiven(request))
        };
        let open = |request: &Request| {
            request.call.is_none() && agree(request.input.as_ref(), known.input.as_ref())
        };
        let requests = &ledger.requests;
        let found = requests
            .iter()
            .position(|request| fits(request) && exact(request))
            .or_else(|| requests.iter().position(|request| fits(request) && open(request)));
        if let Some(index) = found {
            let request = &mut self.ledger_mut().requests[index];
            request.call = Some(call.clone());
            request.guessed = true;
        }
    }
}

impl Intake<'_> {
    /// `call` is over, by the draft's time. A request that was made later and was only guessed to be about
    /// it is about another one.
    pub(crate) fn reconsider(&mut self, call: &CallId) {
        for index in 0..self.ledger().requests.len() {
            let ledger = self.ledger();
            let request = &ledger.requests[index];
            let mistaken = request.is_open()
                && request.guessed
                && request.call.as_ref() == Some(call)
                && request.opened.at > self.at
                && (request.opened.by.has(self.trust) || self.is_misgiven(request));
            if !mistaken {
                continue;
            }
            let asked = |call: &Call| {
                ledger.requests.iter().any(|request| request.call.as_ref() == Some(&call.id))
            };
            let other = ledger.calls.iter().find(|other| {
                other.ended.is_none()
                    && other.scope == request.scope
                    && other.tool == request.tool
                    && agree(other.input.as_ref(), request.input.as_ref())
                    && agree(other.prompt.as_ref(), request.prompt.as_ref())
                    && !asked(other)
            });
            let other = other.map(|other| other.id.clone());
            self.ledger_mut().requests[index].call = other;
        }
    }

    /// True if the request's call has another input than the request, as far as is known.
    fn is_misgiven(&self, request: &Request) -> bool {
        let call = self.ledger().calls.iter().find(|call| request.call.as_ref() == Some(&call.id));
        call.is_some_and(|call| call.input.is_some() && call.input != request.input)
    }
}

/// True unless both are known and differ.
fn agree<T: PartialEq>(one: Option<&T>, other: Option<&T>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    }
}
