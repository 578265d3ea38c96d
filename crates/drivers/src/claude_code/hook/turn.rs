//! Payloads about turns and subagents.

use linelamp_core::Ending;
use linelamp_core::driver::Decoded;
use linelamp_core::event::{
    ApiFailed, BlockKind, MessageCompleted, Role, RunningTask, SessionUpdated, SubagentEnded,
    SubagentStarted, TaskKind, TaskOutcome, TasksChanged, TurnEnded, TurnOrigin, TurnOutcome,
    TurnStarted,
};
use linelamp_core::id::{MessageId, ScopeId, TaskId, TurnId};

use super::decoder::{HookDecoder, Outbox};
use super::payload::Payload;
use crate::claude_code::word;
use crate::json::Raw;

/// How a prompt begins that the agent wrote to itself when a task ended.
const NOTIFICATION: &str = "<task-notification>";

impl HookDecoder {
    /// A prompt. Where it is queued behind a running turn the same payload comes: whether it begins
    /// a turn is for identity to say.
    pub(super) fn prompt(&self, payload: &Payload<'_>, out: &mut Outbox<'_>) -> Decoded {
        let [prompt, source, title] = payload.fields(&["prompt", "source", "session_title"]);
        let by_itself = source.and_then(Raw::quoted).is_some_and(|source| {
            matches!(source, b"system" | b"loop_wakeup" | b"schedule_wakeup" | b"poll_event")
        }) || prompt
            .and_then(Raw::quoted)
            .is_some_and(|text| text.starts_with(NOTIFICATION.as_bytes()));
        out.main(SessionUpdated {
            cwd: payload.cwd.and_then(Raw::id).map(Into::into),
            title: self.private.text(title),
            ..SessionUpdated::default()
        });
        let turn = turn(payload);
        out.main(TurnStarted {
            turn: turn.clone(),
            origin: if by_itself { TurnOrigin::Task } else { TurnOrigin::Human },
            synthetic: by_itself,
        });
        if self.private.is_full()
            && let Some(text) = self.private.text(prompt)
        {
            out.main(MessageCompleted {
                message: MessageId::new(turn.as_str()),
                block: 0,
                block_kind: BlockKind::Text,
                role: Role::User,
                text,
                aborted: false,
                synthetic: by_itself,
                media_type: None,
            })
            .hints
            .aliases
            .extend(payload.prompt.and_then(Raw::id).map(|id| format!("prompt:{id}")));
        }
        Decoded::Understood
    }

    /// The turn is over, unless background subagents still run: the draft says how many.
    pub(super) fn stop(payload: &Payload<'_>, out: &mut Outbox<'_>) -> Decoded {
        if payload.agent.and_then(Raw::id).is_some() {
            return Decoded::Ignored; // A subagent's: SubagentStop tells it.
        }
        let [tasks] = payload.fields(&["background_tasks"]);
        let tasks = tasks.filter(|tasks| tasks.is_array());
        let running: Vec<RunningTask> =
            tasks.into_iter().flat_map(Raw::elements).filter_map(running).collect();
        let agents = running.iter().filter(|task| task.task_kind == TaskKind::Agent).count();
        let background = count(running.len());
        if tasks.is_some() {
            out.main(TasksChanged { tasks: running });
        }
        let draft = out.main(TurnEnded { background, ..ended(payload, TurnOutcome::Completed) });
        draft.hints.running_agents = tasks.map(|_| count(agents));
        draft.hints.ending = Ending::Announced;
        Decoded::Understood
    }

    /// The turn failed at the API. It may come late, even after the next turn began; the prompt id
    /// in the hints tells which turn it was.
    pub(super) fn stop_failure(&self, payload: &Payload<'_>, out: &mut Outbox<'_>) -> Decoded {
        if payload.is_hidden() {
            return Decoded::Ignored; // The compaction's own agent: the turn goes on.
        }
        let [error, details, last] =
            payload.fields(&["error", "error_details", "last_assistant_message"]);
        let error = word::error(&error.and_then(Raw::str).unwrap_or_default(), None, None);
        let message = self.private.text(details).or_else(|| self.private.text(last));
        out.emit(ApiFailed { error, status: None, resets_at: None, message: message.clone() });
        if payload.scope().is_main() {
            out.emit(TurnEnded {
                error: Some(error),
                message,
                ..ended(payload, TurnOutcome::Failed)
            });
        }
        Decoded::Understood
    }

    pub(super) fn subagent_start(payload: &Payload<'_>, out: &mut Outbox<'_>) -> Decoded {
        if payload.scope().is_main() || payload.is_hidden() {
            return Decoded::Ignored; // The hidden agent of a compaction is no subagent.
        }
        out.emit(SubagentStarted {
            call: None,
            agent_type: payload.agent_type.and_then(Raw::id).map(Into::into),
            description: None,
            background: false,
            task: payload.agent.and_then(Raw::id).map(|id| TaskId::new(&*id)),
        });
        Decoded::Understood
    }

    pub(super) fn subagent_stop(&self, payload: &Payload<'_>, out: &mut Outbox<'_>) -> Decoded {
        if payload.scope().is_main() || payload.is_hidden() {
            return Decoded::Ignored; // The hidden agent of a compaction is no subagent.
        }
        let [report] = payload.fields(&["last_assistant_message"]);
        let report = self.private.text(report);
        out.emit(SubagentEnded {
            outcome: TaskOutcome::Completed,
            call: None,
            report,
            tokens: None,
            tool_uses: None,
            duration_ms: None,
        });
        Decoded::Understood
    }
}

fn turn(payload: &Payload<'_>) -> TurnId {
    payload.prompt.and_then(Raw::id).map_or_else(TurnId::default, |id| TurnId::new(&*id))
}

fn ended(payload: &Payload<'_>, outcome: TurnOutcome) -> TurnEnded {
    TurnEnded::new(turn(payload), outcome)
}

/// An entry of `background_tasks` that runs; without a status it does.
fn running(entry: Raw<'_>) -> Option<RunningTask> {
    let [id, kind, status] = entry.fields(&["id", "type", "status"])?;
    let id = id.and_then(Raw::id)?;
    if status.is_some_and(|status| !status.is("running") && !status.is("pending")) {
        return None;
    }
    let task_kind = word::task_kind(&kind.and_then(Raw::str).unwrap_or_default());
    let subagent = (task_kind == TaskKind::Agent).then(|| ScopeId::new(&*id));
    Some(RunningTask { task: TaskId::new(&*id), task_kind, subagent, call: None })
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
