//! The control lines of both directions.

use linelamp_core::driver::Decoded;
use linelamp_core::event::{PermissionRequested, Scope, WaitingFor};
use linelamp_core::id::{CallId, RequestId, ScopeId, ToolName};

use super::decoder::StreamDecoder;
use super::head::Head;
use super::request::Answer;
use crate::claude_code::tool;
use crate::json::Raw;

impl StreamDecoder {
    /// The agent asks the host for something.
    pub(super) fn control_request(&mut self, head: &Head<'_>) -> Decoded {
        let (Some(id), Some(body)) = (head.request.and_then(Raw::id), head.body) else {
            return Decoded::Ignored;
        };
        match body.get("subtype").and_then(Raw::quoted).unwrap_or_default() {
            b"can_use_tool" => self.ask_tool(&id, body),
            b"elicitation" => self.ask_elicitation(&id, body),
            b"request_user_dialog" => self.ask_dialog(&id, body),
            _ => return self.unknown(head),
        }
        Decoded::Understood
    }

    fn ask_tool(&mut self, id: &str, body: Raw<'_>) {
        let [name, input, call, agent, title, description, suggestions, reason] = body
            .fields(&[
                "tool_name",
                "input",
                "tool_use_id",
                "agent_id",
                "title",
                "description",
                "permission_suggestions",
                "decision_reason_type",
            ])
            .unwrap_or_default();
        let name = name.and_then(Raw::id);
        let waiting_for = name.as_deref().map_or(WaitingFor::Permission, tool::waiting_for);
        let call = call.and_then(Raw::id).map(|call| CallId::new(&*call));
        let (text, options) = tool::asked(self.private, waiting_for, input);
        let plan = || self.calls.get(call.as_ref()?.as_str())?.plan.clone();
        let text = text.or_else(plan).or_else(|| self.private.text(description));
        let scope = agent
            .and_then(Raw::id)
            .map_or(Scope::Main, |agent| Scope::Child(ScopeId::new(&*agent)));
        let server = body
            .get("mcp_server")
            .and_then(|server| server.get("name"))
            .and_then(Raw::id)
            .map(Into::into)
            .or_else(|| name.as_deref().and_then(tool::server));
        let asked = PermissionRequested {
            request: RequestId::new(id),
            call,
            tool: name.map(|name| ToolName::new(&*name)),
            waiting_for,
            input: self.private.json(input),
            title: self.private.text(title),
            text,
            options,
            suggestions: self.private.json(suggestions),
            reason: reason.and_then(Raw::id).map(Into::into),
            server,
        };
        self.open_request(scope, asked);
    }

    fn ask_elicitation(&mut self, id: &str, body: Raw<'_>) {
        let [server, message, mode, schema, title] = body
            .fields(&["mcp_server_name", "message", "mode", "requested_schema", "title"])
            .unwrap_or_default();
        let asked = PermissionRequested {
            request: RequestId::new(id),
            call: None,
            tool: None,
            waiting_for: WaitingFor::Elicitation,
            input: self.private.json(schema),
            title: self.private.text(title),
            text: self.private.text(message),
            options: Vec::new(),
            suggestions: None,
            reason: mode.and_then(Raw::id).map(Into::into),
            server: server.and_then(Raw::id).map(Into::into),
        };
        self.open_request(Scope::Main, asked);
    }

    fn ask_dialog(&mut self, id: &str, body: Raw<'_>) {
        let [kind, payload, call] =
            body.fields(&["dialog_kind", "payload", "tool_use_id"]).unwrap_or_default();
        let asked = PermissionRequested {
            request: RequestId::new(id),
            call: call.and_then(Raw::id).map(|call| CallId::new(&*call)),
            tool: None,
            waiting_for: WaitingFor::Question,
            input: self.private.json(payload),
            title: None,
            text: None,
            options: Vec::new(),
            suggestions: None,
            reason: kind.and_then(Raw::id).map(Into::into),
            server: None,
        };
        self.open_request(Scope::Main, asked);
    }

    /// The agent withdraws a request.
    pub(super) fn control_cancel(&mut self, head: &Head<'_>) -> Decoded {
        let Some(id) = head.request.and_then(Raw::id) else { return Decoded::Ignored };
        self.withdraw_request(&id);
        Decoded::Understood
    }

    /// The agent answers the host. Answers come out of order and may be seen before the request,
    /// so they are known by their shape.
    pub(super) fn control_response(&mut self, head: &Head<'_>) -> Decoded {
        let Some([body, permissions, dialogs, elicitations]) = head.body.and_then(|body| {
            body.fields(&[
                "response",
                "pending_permission_requests",
                "pending_user_dialog_requests",
                "pending_elicitation_requests",
            ])
        }) else {
            return Decoded::Ignored;
        };
        let [mode, current, state] = body
            .and_then(|body| body.fields(&["mode", "current_permission_mode", "session_state"]))
            .unwrap_or_default();
        if let Some(state) = state.and_then(Raw::id) {
            self.says(&state);
        }
        if let Some(mode) = current.or(mode).and_then(Raw::id) {
            self.mode_is(mode.into_owned());
        }
        for (list, subtype) in [
            (permissions, "can_use_tool"),
            (dialogs, "request_user_dialog"),
            (elicitations, "elicitation"),
        ] {
            for entry in list.into_iter().flat_map(Raw::elements) {
                self.restore(entry, subtype);
            }
        }
        Decoded::Understood
    }

    /// A request that was open before this host connected: a whole `control_request`, or its body
    /// with the id beside the other fields.
    fn restore(&mut self, entry: Raw<'_>, default: &str) {
        let [id, request, subtype] =
            entry.fields(&["request_id", "request", "subtype"]).unwrap_or_default();
        let Some(id) = id.and_then(Raw::id) else { return };
        let body = request.unwrap_or(entry);
        let subtype =
            request.and_then(|request| request.get("subtype")).or(subtype).and_then(Raw::id);
        match subtype.as_deref().unwrap_or(default) {
            "elicitation" => self.ask_elicitation(&id, body),
            "request_user_dialog" => self.ask_dialog(&id, body),
            _ => self.ask_tool(&id, body),
        }
    }

    /// The host answers the agent.
    pub(super) fn answer(&mut self, head: &Head<'_>) -> Decoded {
        let Some(body) = head.body else { return Decoded::Ignored };
        let Some(id) = body.get("request_id").and_then(Raw::id) else { return Decoded::Ignored };
        let answer = Answer::read(self.private, body);
        self.answer_request(&id, answer);
        Decoded::Understood
    }

    /// The host asks the agent for something.
    pub(super) fn host_request(&mut self, head: &Head<'_>) -> Decoded {
        let [subtype, cancel] = head
            .body
            .and_then(|body| body.fields(&["subtype", "cancel_queued"]))
            .unwrap_or_default();
        if subtype.is_some_and(|subtype| subtype.is("interrupt")) {
            if let Some(turn) = &mut self.turns.open {
                turn.interrupted = true;
            }
            if cancel.and_then(Raw::bool) == Some(true) {
                self.turns.prompts.retain(|prompt| prompt.taken);
            }
        }
        Decoded::Understood
    }
}
