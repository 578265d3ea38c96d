//! Subagents and background tasks.
//!
//! A subagent is told as `subagent.*` in its own scope, everything else as `task.*`. Both also
//! stand in the set of what runs in the background, which newer versions send whole.

use std::collections::HashMap;

use linelamp_core::driver::Decoded;
use linelamp_core::event::{
    Content, Decision, RunningTask, Scope, SubagentEnded, SubagentStarted, TaskEnded, TaskKind,
    TaskOutcome, TaskProgress, TaskStarted, TasksChanged,
};
use linelamp_core::id::{CallId, ScopeId, TaskId, ToolName};

use super::decoder::StreamDecoder;
use super::head::Head;
use crate::claude_code::word;
use crate::json::Raw;

/// Tasks remembered; those that are over are forgotten first.
const TASKS: usize = 1024;

#[derive(Debug, Clone)]
struct Task {
    kind: TaskKind,
    call: Option<CallId>,
    scope: Scope,
    background: bool,
    /// Its start was told.
    started: bool,
    /// Its outcome was announced; the report follows in the next line.
    marked: Option<TaskOutcome>,
    over: bool,
}

impl Task {
    fn new(kind: TaskKind, scope: Scope) -> Self {
        Self {
            kind,
            call: None,
            scope,
            background: false,
            started: false,
            marked: None,
            over: false,
        }
    }
}

/// What a task used, as progress and end tell it.
#[derive(Debug, Clone, Copy, Default)]
struct Usage {
    tokens: Option<u64>,
    tool_uses: Option<u64>,
    duration_ms: Option<u64>,
}

impl Usage {
    fn read(raw: Option<Raw<'_>>) -> Self {
        let [tokens, tool_uses, duration_ms] = raw
            .and_then(|usage| usage.fields(&["total_tokens", "tool_uses", "duration_ms"]))
            .unwrap_or_default()
            .map(|value| value.and_then(Raw::u64));
        Self { tokens, tool_uses, duration_ms }
    }
}

/// Tasks by id, and which subagent a call began.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    tasks: HashMap<String, Task>,
    by_call: HashMap<String, ScopeId>,
}

impl Tasks {
    /// The subagent that `call` began.
    pub(super) fn scope_of(&self, call: &str) -> Option<&ScopeId> {
        self.by_call.get(call)
    }

    /// Tasks that run in the background.
    pub(super) fn background(&self) -> u32 {
        self.count(|_| true)
    }

    /// Subagents that run in the background.
    pub(super) fn running_agents(&self) -> u32 {
        self.count(|task| task.kind == TaskKind::Agent)
    }

    fn count(&self, which: impl Fn(&Task) -> bool) -> u32 {
        let running = self.tasks.values().filter(|t| t.background && !t.over && which(t)).count();
        u32::try_from(running).unwrap_or(u32::MAX)
    }

    fn entry(&mut self, id: &str, kind: TaskKind, scope: &Scope) -> &mut Task {
        if self.tasks.len() >= TASKS && !self.tasks.contains_key(id) {
            self.tasks.retain(|_, task| !task.over);
            if self.tasks.len() >= TASKS {
                self.tasks.clear();
            }
            self.by_call.clear();
        }
        self.tasks.entry(id.to_owned()).or_insert_with(|| Task::new(kind, scope.clone()))
    }

    pub(super) fn clear(&mut self) {
        self.tasks.clear();
        self.by_call.clear();
    }
}

impl StreamDecoder {
    pub(super) fn task_started(&mut self, head: &Head<'_>) -> Decoded {
        let [id, call, kind, background, agent_type, description, parent, ambient] =
            head.fields(&[
                "task_id",
                "tool_use_id",
                "task_type",
                "is_backgrounded",
                "subagent_type",
                "description",
                "parent_task_id",
                "ambient",
            ]);
        let Some(id) = id.and_then(Raw::id) else { return Decoded::Understood };
        if ambient.and_then(Raw::bool) == Some(true) {
            return Decoded::Understood; // Housekeeping of the program itself.
        }
        let call = call.and_then(Raw::id).map(|call| CallId::new(&*call));
        let asked = call
            .as_ref()
            .and_then(|call| self.calls.get(call.as_str()))
            .is_some_and(|call| call.background);
        let kind = word::task_kind(&kind.and_then(Raw::str).unwrap_or_default());
        let child = ScopeId::new(&*id);
        let scope = if kind == TaskKind::Agent {
            Scope::Child(child.clone())
        } else {
            match parent.and_then(Raw::id) {
                Some(parent) => Scope::Child(ScopeId::new(&*parent)),
                None => self.scope(head),
            }
        };
        let task = self.tasks.entry(&id, kind, &scope);
        if task.started {
            return Decoded::Understood;
        }
        let background = background.and_then(Raw::bool).unwrap_or(asked || task.background);
        *task = Task {
            call: call.clone(),
            background,
            started: true,
            ..Task::new(kind, scope.clone())
        };
        if kind == TaskKind::Agent
            && let Some(call) = &call
        {
            self.tasks.by_call.insert(call.as_str().to_owned(), child);
        }
        let description = self.private.text(description);
        let task = TaskId::new(&*id);
        if kind == TaskKind::Agent {
            let agent_type = agent_type.and_then(Raw::id).map(Into::into);
            let started =
                SubagentStarted { call, agent_type, description, background, task: Some(task) };
            self.outlet.emit(scope, started);
        } else {
            let started = TaskStarted { task, task_kind: kind, call, background, description };
            self.outlet.emit(scope, started);
        }
        Decoded::Understood
    }

    pub(super) fn task_progress(&mut self, head: &Head<'_>) -> Decoded {
        let [id, usage, tool, summary, description] =
            head.fields(&["task_id", "usage", "last_tool_name", "summary", "description"]);
        let Some(id) = id.and_then(Raw::id) else { return Decoded::Understood };
        let usage = Usage::read(usage);
        let scope = self.task_scope(&id);
        let progress = TaskProgress {
            task: TaskId::new(&*id),
            last_tool: tool.and_then(Raw::id).map(|tool| ToolName::new(&*tool)),
            tokens: usage.tokens,
            tool_uses: usage.tool_uses,
            duration_ms: usage.duration_ms,
            background: None,
            summary: self.private.text(summary.or(description)),
        };
        self.outlet.emit(scope, progress);
        Decoded::Understood
    }

    /// A change of a task. Its end is told by the notification that follows, with the report.
    pub(super) fn task_updated(&mut self, head: &Head<'_>) -> Decoded {
        let [id, patch] = head.fields(&["task_id", "patch"]);
        let (Some(id), Some(patch)) = (id.and_then(Raw::id), patch) else {
            return Decoded::Understood;
        };
        let [status, background] = patch.fields(&["status", "is_backgrounded"]).unwrap_or_default();
        let Some(task) = self.tasks.tasks.get_mut(&*id) else { return Decoded::Understood };
        if let Some(outcome) = status.and_then(Raw::str).and_then(|word| word::task_outcome(&word))
        {
            task.marked = Some(outcome);
        }
        if let Some(background) = background.and_then(Raw::bool)
            && task.background != background
        {
            task.background = background;
            let scope = task.scope.clone();
            self.outlet.emit(scope, moved(&id, background));
        }
        Decoded::Understood
    }

    /// The call's result says that its task goes on in the background.
    pub(super) fn task_in_background(&mut self, call: &str) {
        let found = self.tasks.tasks.iter_mut().find(|(_, task)| {
            !task.over && task.call.as_ref().is_some_and(|began| began.as_str() == call)
        });
        if let Some((id, task)) = found
            && !task.background
        {
            task.background = true;
            let (scope, progress) = (task.scope.clone(), moved(id, true));
            self.outlet.emit(scope, progress);
        }
    }

    pub(super) fn task_notification(&mut self, head: &Head<'_>) -> Decoded {
        let [id, status, summary, call, ambient, usage] =
            head.fields(&["task_id", "status", "summary", "tool_use_id", "ambient", "usage"]);
        let Some(id) = id.and_then(Raw::id) else { return Decoded::Understood };
        if ambient.and_then(Raw::bool) == Some(true) {
            return Decoded::Understood;
        }
        let outcome = status.and_then(Raw::str).and_then(|word| word::task_outcome(&word));
        let call = call.and_then(Raw::id).map(|call| CallId::new(&*call));
        let summary = self.private.text(summary);
        self.end_task(&id, outcome, call, summary, Usage::read(usage));
        Decoded::Understood
    }

    fn end_task(
        &mut self,
        id: &str,
        outcome: Option<TaskOutcome>,
        call: Option<CallId>,
        summary: Option<Content>,
        usage: Usage,
    ) {
        let task = self.tasks.entry(id, TaskKind::Other, &Scope::Main);
        if task.over {
            return;
        }
        task.over = true;
        let outcome = outcome.or(task.marked).unwrap_or(TaskOutcome::Unknown);
        let task = task.clone();
        let call = call.or(task.call);
        self.turns.woken |= task.background;
        if task.kind == TaskKind::Agent {
            let scope = task.scope.clone();
            self.settle_requests(|request| request.scope == scope, Decision::Cancelled);
            let ended = SubagentEnded {
                outcome,
                call,
                report: summary,
                tokens: usage.tokens,
                tool_uses: usage.tool_uses,
                duration_ms: usage.duration_ms,
            };
            self.outlet.emit(task.scope, ended);
        } else {
            let ended = TaskEnded {
                task: TaskId::new(id),
                outcome,
                call,
                summary,
                tokens: usage.tokens,
                tool_uses: usage.tool_uses,
                duration_ms: usage.duration_ms,
            };
            self.outlet.emit(task.scope, ended);
        }
    }

    /// Tells the ends that were announced and whose notification never came.
    pub(super) fn end_marked_tasks(&mut self) {
        let mut marked: Vec<String> = self
            .tasks
            .tasks
            .iter()
            .filter(|(_, task)| task.marked.is_some() && !task.over)
            .map(|(id, _)| id.clone())
            .collect();
        marked.sort_unstable();
        for id in marked {
            self.end_task(&id, None, None, None, Usage::default());
        }
    }

    /// The whole set of what runs in the background.
    pub(super) fn background_tasks_changed(&mut self, head: &Head<'_>) -> Decoded {
        let [list] = head.fields(&["tasks"]);
        for task in self.tasks.tasks.values_mut() {
            task.background = false;
        }
        let mut running = Vec::new();
        for entry in list.into_iter().flat_map(Raw::elements) {
            let [id, kind, ambient] =
                entry.fields(&["task_id", "task_type", "ambient"]).unwrap_or_default();
            let Some(id) = id.and_then(Raw::id) else { continue };
            if ambient.and_then(Raw::bool) == Some(true) {
                continue;
            }
            let kind = word::task_kind(&kind.and_then(Raw::str).unwrap_or_default());
            let scope = match kind {
                TaskKind::Agent => Scope::Child(ScopeId::new(&*id)),
                _ => Scope::Main,
            };
            let task = self.tasks.entry(&id, kind, &scope);
            task.background = true;
            running.push(RunningTask {
                task: TaskId::new(&*id),
                task_kind: kind,
                subagent: match &task.scope {
                    Scope::Child(child) if kind == TaskKind::Agent => Some(child.clone()),
                    _ => None,
                },
                call: task.call.clone(),
            });
        }
        self.outlet.main(TasksChanged { tasks: running });
        Decoded::Understood
    }

    fn task_scope(&self, id: &str) -> Scope {
        self.tasks.tasks.get(id).map_or(Scope::Main, |task| task.scope.clone())
    }
}

fn moved(id: &str, background: bool) -> TaskProgress {
    TaskProgress {
        task: TaskId::new(id),
        last_tool: None,
        tokens: None,
        tool_uses: None,
        duration_ms: None,
        background: Some(background),
        summary: None,
    }
}
