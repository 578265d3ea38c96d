//! Subagents by scope, background tasks by id.
//!
//! A task that carries a subagent is that subagent: both have one life.

use crate::event::{
    RunningTask, Scope, TaskEnded, TaskKind, TaskProgress, TaskStarted, TasksChanged,
};
use crate::id::{ScopeId, Seq, TaskId};
use crate::state::Answer;
use crate::state::bound::{self, push};
use crate::state::intake::Intake;
use crate::state::ledger::Task;
use crate::state::seen::Key;

impl Intake<'_> {
    /// The subagent that `task` carries: by the scope of the draft, else by the task's own id.
    fn carried(&self, task: &TaskId) -> Option<usize> {
        if let Scope::Child(scope) = &self.scope
            && scope.as_str() == task.as_str()
        {
            return self.child_index(scope);
        }
        self.ledger().children.iter().position(|child| child.scope.as_str() == task.as_str())
    }

    fn task_index(&self, task: &TaskId) -> Option<usize> {
        self.ledger().tasks.iter().position(|known| known.id == *task)
    }

    fn add_task(&mut self, id: TaskId, kind: TaskKind, background: bool) -> usize {
        // The newest whole set did not hold it: it was over by then.
        let gone = self.record.evidence.listed.filter(|listed| *listed >= self.at);
        let task = Task {
            id,
            kind,
            background,
            since: self.at,
            last: self.at,
            event: self.id,
            started: None,
            ended: None,
            over: gone.filter(|_| background),
            listed: None,
        };
        let tasks = &mut self.ledger_mut().tasks;
        push(tasks, bound::TASKS, task, |task| task.over.is_some());
        tasks.len() - 1
    }

    /// `task.started`.
    pub(crate) fn task_started(&mut self, data: TaskStarted) -> Answer {
        let trust = self.trust;
        if data.task_kind == TaskKind::Agent {
            let scope = ScopeId::new(data.task.as_str());
            let index = self.carried(&data.task).unwrap_or_else(|| self.add_child(scope));
            let child = &mut self.ledger_mut().children[index];
            child.background = Some(data.background || child.background == Some(true));
            if let Some(seq) = child.task_started {
                return Answer::Confirms(seq);
            }
            let answer = self.news(data);
            self.ledger_mut().children[index].task_started = Some(answer.seq());
            return answer;
        }
        let index = match self.task_index(&data.task) {
            Some(index) => index,
            None => self.add_task(data.task.clone(), data.task_kind, data.background),
        };
        let task = &mut self.ledger_mut().tasks[index];
        task.kind = data.task_kind;
        task.background |= data.background;
        if let Some(started) = &mut task.started {
            started.by.add(trust);
            return Answer::Confirms(started.seq);
        }
        let answer = self.news(data);
        let started = self.sighting(answer.seq());
        self.ledger_mut().tasks[index].started = Some(started);
        answer
    }

    /// `task.progress`: always news; it may say that the turn no longer waits for the task.
    pub(crate) fn task_progress(&mut self, data: TaskProgress) -> Answer {
        if let Some(background) = data.background {
            if let Some(index) = self.carried(&data.task) {
                self.ledger_mut().children[index].background = Some(background);
            } else if let Some(index) = self.task_index(&data.task) {
                self.ledger_mut().tasks[index].background = background;
            } else {
                self.add_task(data.task.clone(), TaskKind::Other, background);
            }
        }
        let at = self.at;
        if let Some(index) = self.task_index(&data.task) {
            let task = &mut self.ledger_mut().tasks[index];
            task.last = task.last.max(at);
        }
        self.news(data)
    }

    /// `task.ended`.
    pub(crate) fn task_ended(&mut self, data: TaskEnded) -> Answer {
        let trust = self.trust;
        if let Some(index) = self.carried(&data.task) {
            self.child_is_over(index, self.at);
            if let Some(seq) = self.ledger().children[index].task_ended {
                return Answer::Confirms(seq);
            }
            let answer = self.news(data);
            self.ledger_mut().children[index].task_ended = Some(answer.seq());
            return answer;
        }
        let index = match self.task_index(&data.task) {
            Some(index) => index,
            None => self.add_task(data.task.clone(), TaskKind::Other, false),
        };
        let at = self.at;
        let task = &mut self.ledger_mut().tasks[index];
        task.over = Some(task.over.map_or(at, |known| known.min(at)));
        if let Some(ended) = &mut task.ended {
            ended.by.add(trust);
            return Answer::Confirms(ended.seq);
        }
        let answer = self.news(data);
        let ended = self.sighting(answer.seq());
        self.ledger_mut().tasks[index].ended = Some(ended);
        answer
    }

    /// `tasks.changed`: the whole set. A set that was told already is known.
    pub(crate) fn tasks_changed(&mut self, data: TasksChanged) -> Answer {
        self.take_set(&data.tasks);
        let mut ids: Vec<&[u8]> =
            data.tasks.iter().map(|task| task.task.as_str().as_bytes()).collect();
        ids.sort_unstable();
        let key = Key::of(&ids);
        if let Some((known, seq)) = self.ledger().told_set
            && known == key
        {
            return Answer::Confirms(seq);
        }
        if data.tasks.is_empty() && self.ledger().told_set.is_none() {
            // Nothing ran, and nobody said otherwise.
            self.ledger_mut().told_set = Some((key, Seq(0)));
            return Answer::Confirms(Seq(0));
        }
        let answer = self.news(data);
        self.ledger_mut().told_set = Some((key, answer.seq()));
        answer
    }

    fn take_set(&mut self, set: &[RunningTask]) {
        let at = self.at;
        if self.record.evidence.listed.is_some_and(|listed| listed > at) {
            return;
        }
        self.record.evidence.listed = Some(at);
        for running in set {
            self.take_running(running);
        }
        let in_set = |id: &str| {
            set.iter().any(|running| {
                running.task.as_str() == id
                    || running.subagent.as_ref().is_some_and(|scope| scope.as_str() == id)
            })
        };
        for index in 0..self.ledger().children.len() {
            let child = &self.ledger().children[index];
            let background = child.background == Some(true);
            if background
                && child.over.is_none()
                && child.since <= at
                && !in_set(child.scope.as_str())
            {
                self.child_is_over(index, at);
            }
        }
        for task in &mut self.ledger_mut().tasks {
            if task.background && task.over.is_none() && task.since <= at && task.listed != Some(at)
            {
                task.over = Some(at);
            }
        }
    }

    fn take_running(&mut self, running: &RunningTask) {
        let at = self.at;
        if running.task_kind == TaskKind::Agent || running.subagent.is_some() {
            let scope =
                running.subagent.clone().unwrap_or_else(|| ScopeId::new(running.task.as_str()));
            let index = self.child_index(&scope).unwrap_or_else(|| self.add_child(scope));
            let child = &mut self.ledger_mut().children[index];
            child.background = Some(true);
            child.last = child.last.max(at);
            return;
        }
        let index = match self.task_index(&running.task) {
            Some(index) => index,
            None => self.add_task(running.task.clone(), running.task_kind, true),
        };
        let task = &mut self.ledger_mut().tasks[index];
        task.background = true;
        task.listed = Some(at);
        if task.ended.is_none() && task.over.is_some_and(|over| over <= at) {
            task.over = None;
        }
        task.last = task.last.max(at);
    }
}
