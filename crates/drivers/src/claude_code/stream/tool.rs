//! Tool calls: their start in an assistant block, their end in a user block.

use linelamp_core::driver::Decoded;
use linelamp_core::event::{
    DecidedBy, Decision, PermissionResolved, Scope, ToolEnded, ToolOutcome, ToolProgress,
    ToolStarted, WaitingFor,
};
use linelamp_core::id::{CallId, RequestId, ToolName};

use super::call::Call;
use super::decoder::StreamDecoder;
use super::head::Head;
use crate::claude_code::{tool, word};
use crate::json::Raw;

/// What a `tool_result_meta` entry says of a call.
#[derive(Default)]
struct Meta<'a> {
    unexecuted: Option<Raw<'a>>,
    decision: Option<Raw<'a>>,
    source: Option<Raw<'a>>,
}

impl<'a> Meta<'a> {
    fn of(call: &str, list: Option<Raw<'a>>) -> Self {
        for entry in list.into_iter().flat_map(Raw::elements) {
            let [id, unexecuted, decided] = entry
                .fields(&["id", "non_execution_kind", "permission_decision"])
                .unwrap_or_default();
            if id.is_some_and(|id| id.is(call)) {
                let [decision, source] = decided
                    .and_then(|decided| decided.fields(&["decision", "source"]))
                    .unwrap_or_default();
                return Self { unexecuted, decision, source };
            }
        }
        Self::default()
    }
}

impl StreamDecoder {
    pub(super) fn tool_started(
        &mut self,
        scope: Scope,
        id: Option<Raw<'_>>,
        name: Option<Raw<'_>>,
        input: Option<Raw<'_>>,
    ) {
        let Some(id) = id.and_then(Raw::id) else { return };
        let name = ToolName::new(name.and_then(Raw::str).unwrap_or_default().as_ref());
        let call = self.calls.entry(&id);
        call.tool = Some(name.clone());
        if let Some(input) = input
            && memchr::memmem::find(input.bytes(), b"run_in_background").is_some()
        {
            call.background = input.get("run_in_background").and_then(Raw::bool).unwrap_or(false);
        }
        if self.private.is_full() && tool::waiting_for(name.as_str()) == WaitingFor::Plan {
            call.plan = tool::asked(self.private, WaitingFor::Plan, input).0;
        }
        let input = self.private.json(input);
        let digest = input
            .as_ref()
            .and_then(|input| input.value.as_ref())
            .map(|input| self.digester.digest(input));
        let server = tool::server(name.as_str());
        let started = ToolStarted { call: CallId::new(&*id), tool: name, input, server };
        self.outlet.emit(scope, started).hints.input = digest;
    }

    /// The tool results of a user line. The structured result beside them belongs to the only one.
    pub(super) fn tool_results(&mut self, head: &Head<'_>, scope: &Scope, content: Raw<'_>) {
        let results: Vec<_> = content
            .elements()
            .filter_map(|block| block.fields(&["type", "tool_use_id", "is_error", "content"]))
            .filter(|[kind, ..]| kind.is_some_and(|kind| kind.is("tool_result")))
            .collect();
        let structured = head.structured.filter(|_| results.len() == 1);
        if scope.is_main() {
            self.turns.take_prompts();
        }
        for [_, id, is_error, content] in results {
            if let Some(id) = id.and_then(Raw::id) {
                let failed = is_error.and_then(Raw::bool).unwrap_or(false);
                self.tool_ended(scope.clone(), &id, failed, content, structured, head.meta);
            }
        }
    }

    fn tool_ended(
        &mut self,
        scope: Scope,
        id: &str,
        failed: bool,
        content: Option<Raw<'_>>,
        structured: Option<Raw<'_>>,
        meta: Option<Raw<'_>>,
    ) {
        let meta = Meta::of(id, meta);
        let call = self.calls.take(id);
        let interrupted = self.turns.open.as_ref().is_some_and(|turn| turn.interrupted);
        let around =
            Around { interrupted: interrupted && scope.is_main(), asked: self.asks_about(id) };
        let (outcome, decision) = judge(failed, content, structured, &meta, &call, around);
        let by = decision.map(|_| {
            let host = call.decision.is_some_and(|(_, by)| by == DecidedBy::Host);
            match meta.source.and_then(Raw::str) {
                Some(source) => word::decided_by(&source, host),
                None => call.decision.map_or(DecidedBy::Unknown, |(_, by)| by),
            }
        });
        self.settle_call(
            id,
            decision.unwrap_or(Decision::Unknown),
            by.unwrap_or(DecidedBy::Unknown),
        );
        if structured.is_some_and(|result| result.get("isAsync").and_then(Raw::bool) == Some(true))
        {
            self.task_in_background(id);
        }
        let bash = call.tool.as_ref().is_none_or(|tool| tool.as_str() == "Bash");
        let exit_code = if failed && bash {
            content.and_then(Raw::str).and_then(|text| tool::exit_code(&text))
        } else {
            None
        };
        let raw = meta.unexecuted.and_then(Raw::id).map(Into::into).or(call.refusal);
        let ended = ToolEnded {
            call: CallId::new(id),
            tool: call.tool,
            outcome,
            exit_code,
            output: self.private.parts(content),
            structured: self.private.json(structured),
            decision,
            decided_by: by,
            raw,
            duration_ms: None,
        };
        self.outlet.emit(scope, ended);
    }

    /// A tool that ran at the API itself.
    pub(super) fn server_tool_result(&mut self, scope: Scope, block: Raw<'_>) {
        let [id, content] = block.fields(&["tool_use_id", "content"]).unwrap_or_default();
        let Some(id) = id.and_then(Raw::id) else { return };
        let call = self.calls.take(&id);
        let failed = content
            .and_then(|content| content.get("type"))
            .and_then(Raw::quoted)
            .is_some_and(|kind| kind.ends_with(b"_error"));
        let ended = ToolEnded {
            call: CallId::new(&*id),
            tool: call.tool,
            outcome: if failed { ToolOutcome::Error } else { ToolOutcome::Ok },
            exit_code: None,
            output: Vec::new(),
            structured: self.private.json(content),
            decision: None,
            decided_by: None,
            raw: None,
            duration_ms: None,
        };
        self.outlet.emit(scope, ended);
    }

    /// `system/permission_denied`: refused with nobody to ask. The call's result follows.
    pub(super) fn permission_denied(&mut self, head: &Head<'_>) -> Decoded {
        let [call, reason, message, name] =
            head.fields(&["tool_use_id", "decision_reason_type", "message", "tool_name"]);
        let Some(id) = call.and_then(Raw::id) else { return Decoded::Understood };
        let scope = self.scope(head);
        let call = self.calls.entry(&id);
        call.decision = Some((Decision::Denied, DecidedBy::Rule));
        call.refusal =
            Some(reason.and_then(Raw::id).map_or("permission_denied".into(), Into::into));
        if call.tool.is_none() {
            call.tool = name.and_then(Raw::id).map(|name| ToolName::new(&*name));
        }
        let message = self.private.text(message);
        self.outlet.emit(
            scope,
            PermissionResolved {
                request: RequestId::default(),
                call: Some(CallId::new(&*id)),
                decision: Decision::Denied,
                by: DecidedBy::Rule,
                message,
            },
        );
        Decoded::Understood
    }

    /// A call still runs. Only the full reading tells it: it changes no state.
    pub(super) fn tool_progress(&mut self, head: &Head<'_>) -> Decoded {
        if self.private.is_full() {
            let [id, name, elapsed] =
                head.fields(&["tool_use_id", "tool_name", "elapsed_time_seconds"]);
            let Some(id) = id.and_then(Raw::id) else { return Decoded::Understood };
            let scope = self.scope(head);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a float is cut to the range of the integer"
            )]
            let elapsed_ms = elapsed.and_then(Raw::f64).map(|seconds| (seconds * 1e3) as u64);
            self.outlet.emit(
                scope,
                ToolProgress {
                    call: CallId::new(&*id),
                    tool: name.and_then(Raw::id).map(|name| ToolName::new(&*name)),
                    elapsed_ms,
                    offset: 0,
                    output: None,
                },
            );
        }
        Decoded::Understood
    }
}

/// What goes on around a call when its result comes.
#[derive(Clone, Copy)]
struct Around {
    /// The host asked for an interrupt.
    interrupted: bool,
    /// The host was asked about the call, and no answer was seen.
    asked: bool,
}

/// How a call ended and how it was decided. Only structured fields and the answers seen decide,
/// with one exception: whether a refused question carries words is read from the words.
fn judge(
    failed: bool,
    content: Option<Raw<'_>>,
    structured: Option<Raw<'_>>,
    meta: &Meta<'_>,
    call: &Call,
    around: Around,
) -> (ToolOutcome, Option<Decision>) {
    let settled = call.decision.map(|(decision, _)| decision);
    let seen = settled.filter(|decision| *decision != Decision::Unknown);
    let told = meta.decision.and_then(Raw::quoted).map(|word| match word {
        b"accept" => Decision::Allowed,
        b"reject" => Decision::Denied,
        _ => Decision::Unknown,
    });
    let question = call
        .tool
        .as_ref()
        .is_some_and(|tool| tool::waiting_for(tool.as_str()) == WaitingFor::Question);
    let stopped = structured
        .and_then(|result| result.get("interrupted"))
        .and_then(Raw::bool)
        .unwrap_or(false);
    if !failed {
        let decision = if question && seen != Some(Decision::Denied) {
            Some(Decision::Answered)
        } else {
            // It was asked about, somebody decided unseen, and it ran.
            told.or(seen).or(settled.map(|_| Decision::Allowed))
        };
        let outcome = if stopped { ToolOutcome::Interrupted } else { ToolOutcome::Ok };
        return (outcome, decision);
    }
    if seen == Some(Decision::Answered) {
        return (ToolOutcome::Ok, seen);
    }
    let by_hook = meta.source.is_some_and(|source| source.is("hook"));
    if question && told == Some(Decision::Denied) && by_hook {
        let words = content.and_then(Raw::str);
        if words.is_some_and(|text| tool::carries_words(&text)) {
            return (ToolOutcome::Ok, Some(Decision::Answered));
        }
    }
    let dropped = meta.unexecuted.is_some_and(|kind| kind.is("user-rejected"))
        || (meta.unexecuted.is_none()
            && structured.is_some_and(|result| result.is("User rejected tool use")));
    let unexecuted = dropped || meta.unexecuted.is_some();
    // Calls that an interrupt stops are dropped in the words of a refusal. Where nobody was asked
    // and nobody decided, it was an interrupt, by the host or by a signal.
    let cut = match seen {
        None => around.interrupted || (dropped && !around.asked),
        Some(seen) => around.interrupted || seen == Decision::Cancelled,
    };
    if stopped || (unexecuted && told.is_none() && cut) {
        return (ToolOutcome::Interrupted, seen);
    }
    if unexecuted || told == Some(Decision::Denied) || seen == Some(Decision::Denied) {
        return (ToolOutcome::Denied, told.or(seen).or(Some(Decision::Denied)));
    }
    if around.interrupted {
        return (ToolOutcome::Interrupted, told.or(seen));
    }
    (ToolOutcome::Error, told.or(seen))
}
