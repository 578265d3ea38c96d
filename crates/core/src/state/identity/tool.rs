//! Tool calls, by call id.

use crate::event::{DecidedBy, Decision, ToolEnded, ToolProgress, ToolStarted};
use crate::id::{CallId, Seq};
use crate::state::Answer;
use crate::state::bound::{self, push};
use crate::state::identity::held::{End, Thing};
use crate::state::intake::Intake;
use crate::state::ledger::{Call, Settled};

impl Intake<'_> {
    fn call_index(&self, id: &CallId) -> Option<usize> {
        if id.is_empty() {
            return None;
        }
        self.ledger().calls.iter().rposition(|call| call.id == *id)
    }

    fn new_call(&self, id: CallId) -> Call {
        Call {
            id,
            tool: None,
            scope: self.scope.clone(),
            input: self.hints.input,
            prompt: self.hints.prompt.clone(),
            started: None,
            ended: None,
            settled: None,
        }
    }

    fn add_call(&mut self, call: Call) {
        push(&mut self.ledger_mut().calls, bound::CALLS, call, |call| call.ended.is_some());
    }

    /// `tool.started`.
    pub(crate) fn tool_started(&mut self, data: ToolStarted) -> Answer {
        let trust = self.trust;
        let id = data.call.clone();
        let tool = data.tool.clone();
        if let Some(index) = self.call_index(&id) {
            let (input, prompt) = (self.hints.input, self.hints.prompt.clone());
            let call = &mut self.ledger_mut().calls[index];
            call.input = call.input.or(input);
            call.prompt = call.prompt.take().or(prompt);
            if let Some(started) = call.started.as_mut().filter(|started| started.seq.0 != 0) {
                started.by.add(trust);
                let seq = started.seq;
                self.adopt_request(&id);
                return Answer::Confirms(seq);
            }
            // Its end came first: it is told, and stays over.
            let answer = self.news(data);
            let sighting = self.sighting(answer.seq());
            let call = &mut self.ledger_mut().calls[index];
            call.started = Some(sighting);
            call.tool.get_or_insert(tool);
            return answer;
        }
        let answer = self.news(data);
        let started = Some(self.sighting(answer.seq()));
        self.add_call(Call { tool: Some(tool), started, ..self.new_call(id.clone()) });
        self.adopt_request(&id);
        answer
    }

    /// `tool.ended`. The request about the call, if one is open, is settled by it.
    pub(crate) fn tool_ended(&mut self, mut data: ToolEnded) -> Answer {
        let trust = self.trust;
        let id = data.call.clone();
        let tool = data.tool.clone();
        // Evidence alone tells that a call is over, not how.
        let settled = if self.hints.evidence_only && data.decision.is_none() {
            Settled::UNSEEN
        } else {
            Settled::by_tool(data.outcome, data.decision, data.decided_by)
        };
        self.take_decision(&mut data);
        let index = self.call_index(&id);
        let told = !self.hints.evidence_only;
        let started = index.and_then(|index| self.ledger().calls[index].started);
        let leaves = self.leaves_to_stream(started);
        if let Some(index) = index
            && let Some(ended) = &mut self.ledger_mut().calls[index].ended
        {
            ended.by.add(trust);
            if ended.seq.0 != 0 || !told {
                return Answer::Confirms(ended.seq);
            }
            if leaves {
                self.hold(Thing::Tool(&id), End::Tool(Box::new(data)));
                return Answer::Confirms(Seq(0));
            }
            self.drop_held(Thing::Tool(&id));
            let answer = self.news(data);
            let call = &mut self.ledger_mut().calls[index];
            call.settled = Some(settled);
            if let Some(ended) = &mut call.ended {
                ended.seq = answer.seq();
            }
            return answer;
        }
        if index.is_none() {
            let call = Call { tool, ..self.new_call(id.clone()) };
            self.add_call(call);
            self.adopt_request(&id);
        }
        self.reconsider(&id);
        self.settle_requests("call", settled, |request| request.call.as_ref() == Some(&id));
        let answer = if leaves {
            self.hold(Thing::Tool(&id), End::Tool(Box::new(data)));
            Answer::Confirms(Seq(0))
        } else {
            self.news(data)
        };
        let ended = self.sighting(answer.seq());
        if let Some(index) = self.call_index(&id) {
            let call = &mut self.ledger_mut().calls[index];
            call.ended = Some(ended);
            call.settled = Some(settled);
        }
        answer
    }

    /// How the request about the call was settled tells who let it run, or did not.
    fn take_decision(&self, data: &mut ToolEnded) {
        let requests = self.ledger().requests.iter().rev();
        let mut about =
            requests.filter(|it| it.closed.is_some() && it.call.as_ref() == Some(&data.call));
        let Some(settled) = about.find_map(|request| request.settled) else { return };
        if data.decision.is_none() && settled.decision != Decision::Unknown {
            data.decision = Some(settled.decision);
        }
        if data.decided_by.is_none()
            && settled.by != DecidedBy::Unknown
            && data.decision == Some(settled.decision)
        {
            data.decided_by = Some(settled.by);
        }
    }

    /// `tool.progress`: pieces come from one feed; what a lesser one repeats of a watched session is
    /// known already.
    pub(crate) fn tool_progress(&mut self, data: ToolProgress) -> Answer {
        if self.overshadowed { Answer::Confirms(Seq(0)) } else { self.news(data) }
    }
}
