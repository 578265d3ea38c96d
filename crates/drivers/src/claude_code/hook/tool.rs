//! Payloads about tool calls and what they ask of a human.

use linelamp_core::driver::Decoded;
use linelamp_core::event::{
    BlockKind, DecidedBy, Decision, Part, PermissionRequested, PermissionResolved, ToolEnded,
    ToolOutcome, ToolStarted, WaitingFor,
};
use linelamp_core::id::{CallId, RequestId, ToolName};

use super::decoder::{HookDecoder, Outbox};
use super::payload::Payload;
use crate::claude_code::{tool, word};
use crate::json::Raw;

impl HookDecoder {
    pub(super) fn pre_tool(&self, payload: &Payload<'_>, out: &mut Outbox<'_>) -> Decoded {
        let Some(call) = call(payload) else { return Decoded::Understood };
        let tool = name(payload).unwrap_or_default();
        let server = server(payload);
        let input = self.private.json(payload.input);
        let digest = self.input_digest(payload);
        out.emit(ToolStarted { call, tool, input, server }).hints.input = digest;
        Decoded::Understood
    }

    pub(super) fn post_tool(&self, payload: &Payload<'_>, out: &mut Outbox<'_>) -> Decoded {
        let Some(call) = call(payload) else { return Decoded::Understood };
        let [response, duration] = payload.fields(&["tool_response", "duration_ms"]);
        let tool = name(payload);
        let question = tool
            .as_ref()
            .is_some_and(|tool| tool::waiting_for(tool.as_str()) == WaitingFor::Question);
        let stopped = response
            .and_then(|response| response.get("interrupted"))
            .and_then(Raw::bool)
            .unwrap_or(false);
        let digest = self.input_digest(payload);
        let structured = self.private.json(response);
        out.emit(ToolEnded {
            outcome: if stopped { ToolOutcome::Interrupted } else { ToolOutcome::Ok },
            structured,
            decision: question.then_some(Decision::Answered),
            duration_ms: duration.and_then(Raw::u64),
            ..ended(call, tool)
        })
        .hints
        .input = digest;
        Decoded::Understood
    }

    /// The tool ran and failed, or was stopped while it ran.
    pub(super) fn tool_failed(&self, payload: &Payload<'_>, out: &mut Outbox<'_>) -> Decoded {
        let Some(call) = call(payload) else { return Decoded::Understood };
        let [error, interrupt, duration] =
            payload.fields(&["error", "is_interrupt", "duration_ms"]);
        let tool = name(payload);
        let bash = tool.as_ref().is_none_or(|tool| tool.as_str() == "Bash");
        let code = error.filter(|_| bash).and_then(Raw::str);
        let stopped = interrupt.and_then(Raw::bool) == Some(true);
        let digest = self.input_digest(payload);
        let output = self.private.text(error).map(|data| Part {
            kind: BlockKind::Text,
            media_type: None,
            data,
        });
        out.emit(ToolEnded {
            outcome: if stopped { ToolOutcome::Interrupted } else { ToolOutcome::Error },
            exit_code: code.and_then(|text| tool::exit_code(&text)),
            output: output.into_iter().collect(),
            duration_ms: duration.and_then(Raw::u64),
            ..ended(call, tool)
        })
        .hints
        .input = digest;
        Decoded::Understood
    }

    /// Every call of a message is settled, refused ones included. How each ended is told by its own
    /// hook where it has one, so this is evidence only.
    pub(super) fn tool_batch(payload: &Payload<'_>, out: &mut Outbox<'_>) -> Decoded {
        let [calls] = payload.fields(&["tool_calls"]);
        for entry in calls.into_iter().flat_map(Raw::elements) {
            let [id, name] = entry.fields(&["tool_use_id", "tool_name"]).unwrap_or_default();
            let Some(id) = id.and_then(Raw::id) else { continue };
            let tool = name.and_then(Raw::id).map(|name| ToolName::new(&*name));
            out.emit(ToolEnded {
                raw: Some("batch".to_owned()),
                ..ended(CallId::new(&*id), tool)
            })
            .hints
            .evidence_only = true;
        }
        Decoded::Understood
    }

    /// A dialog opens, or would if there were somebody to ask. The payload names no call.
    pub(super) fn permission_request(
        &self,
        payload: &Payload<'_>,
        out: &mut Outbox<'_>,
    ) -> Decoded {
        let [suggestions] = payload.fields(&["permission_suggestions"]);
        let tool = name(payload);
        let waiting_for =
            tool.as_ref().map_or(WaitingFor::Permission, |tool| tool::waiting_for(tool.as_str()));
        let (text, options) = tool::asked(self.private, waiting_for, payload.input);
        let digest = self.input_digest(payload);
        let (input, suggestions) =
            (self.private.json(payload.input), self.private.json(suggestions));
        let described = payload.input.and_then(|input| input.get("description"));
        out.emit(PermissionRequested {
            request: RequestId::default(),
            call: call(payload),
            tool,
            waiting_for,
            input,
            title: None,
            text: text.or_else(|| self.private.text(described)),
            options,
            suggestions,
            reason: None,
            server: server(payload),
        })
        .hints
        .input = digest;
        Decoded::Understood
    }

    /// Auto mode refused by itself.
    pub(super) fn permission_denied(&self, payload: &Payload<'_>, out: &mut Outbox<'_>) -> Decoded {
        let [reason] = payload.fields(&["reason"]);
        let digest = self.input_digest(payload);
        let message = self.private.text(reason);
        out.emit(PermissionResolved {
            request: RequestId::default(),
            call: call(payload),
            decision: Decision::Denied,
            by: DecidedBy::Rule,
            message: message.clone(),
        })
        .hints
        .input = digest;
        if let Some(call) = call(payload) {
            out.emit(ToolEnded {
                outcome: ToolOutcome::Denied,
                decision: Some(Decision::Denied),
                decided_by: Some(DecidedBy::Rule),
                raw: Some("PermissionDenied".to_owned()),
                ..ended(call, name(payload))
            });
        }
        Decoded::Understood
    }

    pub(super) fn elicitation(&self, payload: &Payload<'_>, out: &mut Outbox<'_>) -> Decoded {
        let [server, message, mode, schema] =
            payload.fields(&["mcp_server_name", "message", "mode", "requested_schema"]);
        let server: Option<String> = server.and_then(Raw::id).map(Into::into);
        let asked = PermissionRequested {
            request: RequestId::default(),
            call: None,
            tool: None,
            waiting_for: WaitingFor::Elicitation,
            input: self.private.json(schema),
            title: None,
            text: self.private.text(message),
            options: Vec::new(),
            suggestions: None,
            reason: mode.and_then(Raw::id).map(Into::into),
            server: server.clone(),
        };
        out.emit(asked).hints.aliases.extend(server);
        Decoded::Understood
    }

    pub(super) fn elicitation_result(payload: &Payload<'_>, out: &mut Outbox<'_>) -> Decoded {
        let [server, action] = payload.fields(&["mcp_server_name", "action"]);
        let resolved = PermissionResolved {
            request: RequestId::default(),
            call: None,
            decision: word::elicitation(&action.and_then(Raw::str).unwrap_or_default()),
            by: DecidedBy::User,
            message: None,
        };
        let server: Option<String> = server.and_then(Raw::id).map(Into::into);
        out.emit(resolved).hints.aliases.extend(server);
        Decoded::Understood
    }
}

fn call(payload: &Payload<'_>) -> Option<CallId> {
    payload.call.and_then(Raw::id).map(|id| CallId::new(&*id))
}

fn name(payload: &Payload<'_>) -> Option<ToolName> {
    payload.tool.and_then(Raw::id).map(|name| ToolName::new(&*name))
}

fn server(payload: &Payload<'_>) -> Option<String> {
    payload.tool.and_then(Raw::id).as_deref().and_then(tool::server)
}

fn ended(call: CallId, tool: Option<ToolName>) -> ToolEnded {
    ToolEnded {
        call,
        tool,
        outcome: ToolOutcome::Ok,
        exit_code: None,
        output: Vec::new(),
        structured: None,
        decision: None,
        decided_by: None,
        raw: None,
        duration_ms: None,
    }
}
