//! Open requests: what a human must do, and what became of it.
//!
//! A request is known by its id from the line that asks to the line that answers, withdraws or
//! outlives it. The two directions are read by two pumps, so an answer may be seen before its
//! request; it then settles it at once. A request id counts once, however often it is delivered.

use std::collections::VecDeque;

use linelamp_core::event::{
    Content, DecidedBy, Decision, PermissionRequested, PermissionResolved, Scope, WaitingFor,
};
use linelamp_core::id::{CallId, RequestId};

use super::decoder::StreamDecoder;
use crate::claude_code::private::Private;
use crate::claude_code::{tool, word};
use crate::json::Raw;

/// Requests open at the same time; more than any session has, few enough for any input.
const OPEN: usize = 64;
/// Settled ids remembered, and answers that came before their request.
const REMEMBERED: usize = 64;

/// An open request.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) id: RequestId,
    pub(super) call: Option<CallId>,
    pub(super) scope: Scope,
    pub(super) kind: WaitingFor,
}

/// An answer as the host wrote it.
#[derive(Debug, Clone, Default)]
pub(super) struct Answer {
    /// `allow`, `deny`, `completed`, `cancelled`, or the action of an elicitation.
    word: String,
    /// The refusal holds a person's words.
    words: bool,
    /// The turn ends with the refusal.
    interrupt: bool,
    message: Option<Content>,
}

/// See the module page.
#[derive(Debug, Default)]
pub(super) struct Requests {
    open: Vec<Request>,
    settled: VecDeque<String>,
    early: VecDeque<(String, Answer)>,
}

impl Requests {
    fn knows(&self, id: &str) -> bool {
        self.open.iter().any(|request| request.id.as_str() == id)
            || self.settled.iter().any(|settled| settled == id)
    }

    fn close(&mut self, id: &str) -> Option<Request> {
        let at = self.open.iter().position(|request| request.id.as_str() == id)?;
        remember(&mut self.settled, id.to_owned());
        Some(self.open.remove(at))
    }
}

fn remember<T>(list: &mut VecDeque<T>, item: T) {
    if list.len() == REMEMBERED {
        list.pop_front();
    }
    list.push_back(item);
}

impl Answer {
    /// Reads the body of a `control_response`.
    pub(super) fn read(private: Private, response: Raw<'_>) -> Self {
        let [subtype, body, error] =
            response.fields(&["subtype", "response", "error"]).unwrap_or_default();
        if subtype.is_some_and(|subtype| subtype.is("error")) {
            return Self { word: "error".into(), message: private.text(error), ..Self::default() };
        }
        let [behavior, action, message, interrupt] = body
            .and_then(|body| body.fields(&["behavior", "action", "message", "interrupt"]))
            .unwrap_or_default();
        Self {
            word: behavior.or(action).and_then(Raw::str).unwrap_or_default().into_owned(),
            words: message.and_then(Raw::str).is_some_and(|text| tool::carries_words(&text)),
            interrupt: interrupt.and_then(Raw::bool).unwrap_or(false),
            message: private.text(message),
        }
    }

    /// What the answer decides. The agent refuses what it cannot read, so an error and a body of
    /// the wrong shape are denials. A question is answered also by a denial that says something.
    fn decision(&self, kind: WaitingFor) -> Decision {
        match (kind, self.word.as_str()) {
            (WaitingFor::Elicitation, action) => match word::elicitation(action) {
                Decision::Unknown => Decision::Denied,
                decision => decision,
            },
            (WaitingFor::Question, "allow" | "completed") => Decision::Answered,
            (WaitingFor::Question, "deny") if self.words && !self.interrupt => Decision::Answered,
            (_, "allow" | "completed") => Decision::Allowed,
            (_, "cancelled") => Decision::Cancelled,
            _ => Decision::Denied,
        }
    }
}

impl StreamDecoder {
    /// Opens a request, unless its id was seen before.
    pub(super) fn open_request(&mut self, scope: Scope, asked: PermissionRequested) {
        let id = asked.request.clone();
        if self.requests.knows(id.as_str()) {
            return;
        }
        if self.requests.open.len() >= OPEN
            && let Some(oldest) = self.requests.open.first().map(|request| request.id.clone())
            && let Some(oldest) = self.requests.close(oldest.as_str())
        {
            // The newest is what somebody is asked now; how the oldest ends will not be seen.
            self.resolved(oldest, Decision::Unknown, DecidedBy::Unknown, None);
        }
        self.requests.open.push(Request {
            id: id.clone(),
            call: asked.call.clone(),
            scope: scope.clone(),
            kind: asked.waiting_for,
        });
        let digest = asked
            .input
            .as_ref()
            .and_then(|input| input.value.as_ref())
            .map(|input| self.digester.digest(input));
        self.outlet.emit(scope, asked).hints.input = digest;
        if let Some(at) = self.requests.early.iter().position(|(early, _)| early == id.as_str())
            && let Some((_, answer)) = self.requests.early.remove(at)
        {
            self.answered(id.as_str(), &answer);
        }
    }

    /// The host's answer to `id`.
    pub(super) fn answer_request(&mut self, id: &str, answer: Answer) {
        if self.requests.open.iter().any(|request| request.id.as_str() == id) {
            self.answered(id, &answer);
        } else if !self.requests.knows(id) {
            remember(&mut self.requests.early, (id.to_owned(), answer));
        }
    }

    fn answered(&mut self, id: &str, answer: &Answer) {
        if let Some(request) = self.requests.close(id) {
            let decision = answer.decision(request.kind);
            self.resolved(request, decision, DecidedBy::Host, answer.message.clone());
        }
    }

    /// The agent withdrew `id`: nobody is asked any more. In an interrupt that is the end of it, as
    /// it is for a tool server's question, which no hook races. Otherwise a hook or another dialog
    /// was faster, and the line does not say what it decided; the call's result does, which may be
    /// long in coming.
    pub(super) fn withdraw_request(&mut self, id: &str) {
        if let Some(request) = self.requests.close(id) {
            let interrupted = self.turns.open.as_ref().is_some_and(|turn| turn.interrupted);
            let (decision, by) = if interrupted || request.kind == WaitingFor::Elicitation {
                (Decision::Cancelled, DecidedBy::Agent)
            } else {
                (Decision::Unknown, DecidedBy::Unknown)
            };
            self.resolved(request, decision, by, None);
        }
    }

    /// Settles every open request that `which` picks.
    pub(super) fn settle_requests(&mut self, which: impl Fn(&Request) -> bool, decision: Decision) {
        let ids: Vec<RequestId> = self
            .requests
            .open
            .iter()
            .filter(|request| which(request))
            .map(|request| request.id.clone())
            .collect();
        for id in ids {
            if let Some(request) = self.requests.close(id.as_str()) {
                self.resolved(request, decision, DecidedBy::Agent, None);
            }
        }
    }

    /// Whether somebody is asked about the call.
    pub(super) fn asks_about(&self, call: &str) -> bool {
        let is_about =
            |request: &Request| request.call.as_ref().is_some_and(|c| c.as_str() == call);
        self.requests.open.iter().any(is_about)
    }

    /// The call ended, so whatever was asked about it is settled.
    pub(super) fn settle_call(&mut self, call: &str, decision: Decision, by: DecidedBy) {
        let id = self
            .requests
            .open
            .iter()
            .find(|request| request.call.as_ref().is_some_and(|asked| asked.as_str() == call))
            .map(|request| request.id.clone());
        if let Some(request) = id.and_then(|id| self.requests.close(id.as_str())) {
            self.resolved(request, decision, by, None);
        }
    }

    fn resolved(
        &mut self,
        request: Request,
        decision: Decision,
        by: DecidedBy,
        message: Option<Content>,
    ) {
        if let Some(call) = &request.call {
            self.calls.entry(call.as_str()).decision = Some((decision, by));
        }
        self.outlet.emit(
            request.scope,
            PermissionResolved { request: request.id, call: request.call, decision, by, message },
        );
    }
}
