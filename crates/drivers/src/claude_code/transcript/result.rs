//! Results of tool calls.

use linelamp_core::event::{
    DecidedBy, Decision, SubagentStarted, ToolEnded, ToolOutcome, WaitingFor,
};
use linelamp_core::id::{CallId, ScopeId, TaskId, ToolName};

use super::decoder::{Outbox, TranscriptDecoder};
use super::line::Line;
use crate::claude_code::{tool, word};
use crate::json::Raw;

/// How the program that takes up a session marks a call whose process is gone.
const CALLED_OFF: &str = "interrupted";

impl TranscriptDecoder {
    /// The results of one line. The structured result beside them belongs to the only one.
    pub(super) fn tool_results(&mut self, line: &Line<'_>, content: Raw<'_>, out: &mut Outbox<'_>) {
        let results: Vec<_> = content
            .elements()
            .filter_map(|block| block.fields(&["type", "tool_use_id", "is_error", "content"]))
            .filter(|[kind, ..]| kind.is_some_and(|kind| kind.is("tool_result")))
            .collect();
        let structured = line.structured.filter(|_| results.len() == 1);
        for [_, id, is_error, content] in results {
            let Some(id) = id.and_then(Raw::id) else { continue };
            let tool = self.take_call(&id);
            let failed = is_error.and_then(Raw::bool).unwrap_or(false);
            let verdict = judge(line, tool.as_ref(), failed, content, structured);
            self.called_off |= verdict.raw.as_deref() == Some(CALLED_OFF);
            let bash = tool.as_ref().is_none_or(|tool| tool.as_str() == "Bash");
            let text = content.filter(|_| failed && bash).and_then(Raw::str);
            if let Some(launched) = structured.and_then(|result| launched(&id, result)) {
                let scope = launched.task.as_ref().map(|task| ScopeId::new(task.as_str()));
                let draft = out.emit(launched);
                if let Some(scope) = scope {
                    draft.scope = linelamp_core::event::Scope::Child(scope);
                }
            }
            out.emit(ToolEnded {
                call: CallId::new(&*id),
                tool,
                outcome: verdict.outcome,
                exit_code: text.and_then(|text| tool::exit_code(&text)),
                output: self.private.parts(content),
                structured: self.private.json(structured),
                decision: verdict.decision,
                decided_by: verdict.by,
                raw: verdict.raw,
                duration_ms: None,
            });
        }
    }
}

/// A subagent that goes on behind the turn: its call has ended already.
fn launched(call: &str, result: Raw<'_>) -> Option<SubagentStarted> {
    let [status, agent, is_async] = result.fields(&["status", "agentId", "isAsync"])?;
    let launched = status.is_some_and(|status| status.is("async_launched"))
        || is_async.and_then(Raw::bool) == Some(true);
    let agent = agent.and_then(Raw::id).filter(|_| launched)?;
    Some(SubagentStarted {
        call: Some(CallId::new(call)),
        agent_type: None,
        description: None,
        background: true,
        task: Some(TaskId::new(&*agent)),
    })
}

/// How a call ended and who decided about it.
struct Verdict {
    outcome: ToolOutcome,
    decision: Option<Decision>,
    by: Option<DecidedBy>,
    raw: Option<String>,
}

/// Only structured members decide, with one exception: whether a refused question carries words is read from the
/// words.
fn judge(
    line: &Line<'_>,
    tool: Option<&ToolName>,
    failed: bool,
    content: Option<Raw<'_>>,
    structured: Option<Raw<'_>>,
) -> Verdict {
    let [denial, decided] = line.fields(&["toolDenialKind", "permissionDecision"]);
    let [decision, source] =
        decided.and_then(|decided| decided.fields(&["decision", "source"])).unwrap_or_default();
    let by = source.and_then(Raw::str).map(|source| word::decided_by(&source, false));
    let raw: Option<String> = denial.and_then(Raw::id).map(Into::into);
    let told = decision.and_then(Raw::quoted).map(|word| match word {
        b"accept" => Decision::Allowed,
        b"reject" => Decision::Denied,
        _ => Decision::Unknown,
    });
    let question =
        tool.is_some_and(|tool| tool::waiting_for(tool.as_str()) == WaitingFor::Question);
    let verdict = |outcome, decision| Verdict { outcome, decision, by, raw: raw.clone() };
    if !failed {
        let stopped = structured.and_then(|result| result.get("interrupted")).and_then(Raw::bool);
        let outcome =
            if stopped == Some(true) { ToolOutcome::Interrupted } else { ToolOutcome::Ok };
        let answered = question && told != Some(Decision::Denied);
        return verdict(outcome, if answered { Some(Decision::Answered) } else { told });
    }
    let by_hook = source.is_some_and(|source| source.is("hook"));
    if question && told == Some(Decision::Denied) && by_hook {
        let words = content.and_then(Raw::str);
        if words.is_some_and(|text| tool::carries_words(&text)) {
            return verdict(ToolOutcome::Ok, Some(Decision::Answered));
        }
    }
    match denial.and_then(Raw::quoted) {
        Some(denial) if denial == CALLED_OFF.as_bytes() => verdict(ToolOutcome::Interrupted, told),
        Some(_) => verdict(ToolOutcome::Denied, told.or(Some(Decision::Denied))),
        None if told == Some(Decision::Denied) => verdict(ToolOutcome::Denied, told),
        None => verdict(ToolOutcome::Error, told),
    }
}
