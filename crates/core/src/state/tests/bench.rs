//! A resolver with two feeds at hand, and short ways to say what they saw.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::digest::{Digester, InputDigest};
use crate::draft::{Draft, Ending};
use crate::event::*;
use crate::id::{CallId, FeedName, RequestId, ScopeId, SessionKey, ToolName};
use crate::process::ProcessRef;
use crate::state::{Answer, Resolver, SessionState};

/// When every test begins.
pub(super) const START: Timestamp = Timestamp::constant(1_800_000_000, 0);

pub(super) fn at(ms: i64) -> Timestamp {
    START + SignedDuration::from_millis(ms)
}

pub(super) fn key() -> SessionKey {
    SessionKey::new("claude-code", "session-1")
}

/// The two kinds of feed most tests need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Feed {
    Stream,
    Hook,
    Status,
    Transcript,
}

impl Feed {
    pub(super) fn origin(self) -> Origin {
        let (feed, trust) = match self {
            Self::Stream => ("stream", Trust::Authoritative),
            Self::Hook => ("hooks", Trust::Reported),
            Self::Status => ("status", Trust::Reported),
            Self::Transcript => ("transcript", Trust::Inferred),
        };
        Origin { feed: FeedName::new(feed), trust, pid: None, host: Arc::from("box") }
    }
}

/// A draft of the main agent at `ms`.
pub(super) fn draft(ms: i64, body: impl Into<Body>) -> Draft {
    Draft::new(key(), at(ms), body)
}

pub(super) trait DraftExt: Sized {
    /// Of the prompt `prompt`.
    fn prompt(self, prompt: &str) -> Self;
    /// With the digest of `input`.
    fn input(self, input: &str) -> Self;
    /// Of a subagent.
    fn child(self, scope: &str) -> Self;
    /// Of another session.
    fn of(self, session: &str) -> Self;
    /// In a process.
    fn pid(self, pid: u32) -> Self;
    /// With so many subagents running behind it.
    fn agents(self, agents: u32) -> Self;
    /// Evidence only.
    fn quiet(self) -> Self;
    /// Of a payload.
    fn payload(self, text: &str) -> Self;
    /// As the process keeps saying of itself.
    fn stands(self) -> Self;
    /// The end of a turn, sure so far.
    fn ending(self, ending: Ending) -> Self;
}

impl DraftExt for Draft {
    fn prompt(mut self, prompt: &str) -> Self {
        self.hints.prompt = Some(prompt.into());
        self
    }

    fn input(mut self, input: &str) -> Self {
        self.hints.input = Some(digest(input));
        self
    }

    fn child(self, scope: &str) -> Self {
        self.in_scope(Scope::Child(ScopeId::from(scope)))
    }

    fn of(mut self, session: &str) -> Self {
        self.session = SessionKey::new("claude-code", session);
        self
    }

    fn pid(mut self, pid: u32) -> Self {
        self.process = Some(ProcessRef { pid, start: Some(u64::from(pid) * 100) });
        self
    }

    fn agents(mut self, agents: u32) -> Self {
        self.hints.running_agents = Some(agents);
        self
    }

    fn quiet(mut self) -> Self {
        self.hints.evidence_only = true;
        self
    }

    fn payload(mut self, text: &str) -> Self {
        self.hints.payload = Some(digest(text));
        self
    }

    fn stands(mut self) -> Self {
        self.hints.stands = true;
        self
    }

    fn ending(mut self, ending: Ending) -> Self {
        self.hints.ending = ending;
        self
    }
}

pub(super) fn digest(text: &str) -> InputDigest {
    Digester::new(&[1; 32]).digest(&serde_json::Value::String(text.to_owned()))
}

/// A resolver, what it published, and the newest time it was told.
#[derive(Debug, Default)]
pub(super) struct Bench {
    pub(super) resolver: Resolver,
    pub(super) events: Vec<Event>,
}

impl Bench {
    /// The draft is taken at its own time.
    pub(super) fn see(&mut self, feed: Feed, draft: Draft) -> Answer {
        let observed = draft.at;
        self.see_at(feed, draft, observed)
    }

    /// The draft is taken at `observed`.
    pub(super) fn see_at(&mut self, feed: Feed, draft: Draft, observed: Timestamp) -> Answer {
        self.resolver.accept(draft, &feed.origin(), observed, &mut self.events)
    }

    pub(super) fn hook(&mut self, draft: Draft) -> Answer {
        self.see(Feed::Hook, draft)
    }

    pub(super) fn stream(&mut self, draft: Draft) -> Answer {
        self.see(Feed::Stream, draft)
    }

    pub(super) fn line(&mut self, draft: Draft) -> Answer {
        self.see(Feed::Transcript, draft)
    }

    /// Process 7 says that it is in this state.
    pub(super) fn word(&mut self, ms: i64, word: StatusReported) -> Answer {
        self.word_of(7, ms, word)
    }

    /// A process says that it is in this state.
    pub(super) fn word_of(&mut self, pid: u32, ms: i64, word: StatusReported) -> Answer {
        self.see(Feed::Status, draft(ms, word).pid(pid).stands())
    }

    /// Lets time pass until `ms`, a tick every 250 ms for a while, then one at the end.
    pub(super) fn wait(&mut self, ms: i64) {
        let last = self.events.last().map_or(START, |event| event.observed_at);
        for step in 1..=40 {
            let now = last + SignedDuration::from_millis(step * 250);
            if now < at(ms) {
                self.resolver.tick(now, &mut self.events);
            }
        }
        self.resolver.tick(at(ms), &mut self.events);
    }

    pub(super) fn state(&self) -> SessionState {
        self.state_of("session-1")
    }

    pub(super) fn state_of(&self, session: &str) -> SessionState {
        let key = SessionKey::new("claude-code", session);
        self.resolver.record(&key).expect("the session is known").state.clone()
    }

    pub(super) fn status(&self) -> Status {
        self.state().status
    }

    /// The kinds published, in order.
    pub(super) fn kinds(&self) -> Vec<&str> {
        self.events.iter().map(|event| event.body.kind()).collect()
    }

    pub(super) fn count(&self, kind: &str) -> usize {
        self.events.iter().filter(|event| event.body.kind() == kind).count()
    }

    /// The states told, in order.
    pub(super) fn path(&self) -> Vec<Status> {
        self.changes().map(|change| change.to).collect()
    }

    pub(super) fn changes(&self) -> impl Iterator<Item = &StatusChanged> {
        self.events.iter().filter_map(|event| match &event.body {
            Body::StatusChanged(change) => Some(change),
            _ => None,
        })
    }

    /// How often the session was told to be done: idle with nothing in the background.
    pub(super) fn dones(&self) -> usize {
        let done = |change: &&StatusChanged| {
            change.to == Status::Idle && change.background == 0 && change.outcome.is_some()
        };
        self.changes().filter(done).count()
    }
}

pub(super) fn start(source: StartSource) -> SessionStarted {
    SessionStarted {
        source,
        cwd: None,
        model: None,
        version: None,
        entrypoint: None,
        mode: None,
        parent: None,
        process: None,
    }
}

pub(super) fn end(reason: EndReason) -> SessionEnded {
    SessionEnded { reason, exit_code: None, signal: None, process: None, error: None }
}

pub(super) fn turn(id: &str) -> TurnStarted {
    TurnStarted { turn: id.into(), origin: TurnOrigin::Human, synthetic: false }
}

pub(super) fn wake(id: &str) -> TurnStarted {
    TurnStarted { turn: id.into(), origin: TurnOrigin::Task, synthetic: true }
}

pub(super) fn turn_end(id: &str, outcome: TurnOutcome) -> TurnEnded {
    TurnEnded {
        turn: id.into(),
        outcome,
        error: None,
        stop_reason: None,
        raw: None,
        status: None,
        message: None,
        usage: None,
        cost_usd: None,
        cost_total_usd: None,
        duration_ms: None,
        rounds: None,
        background: 0,
        prompts: Vec::new(),
    }
}

pub(super) fn stop(id: &str) -> TurnEnded {
    turn_end(id, TurnOutcome::Completed)
}

pub(super) fn failed(id: &str, error: ErrorKind) -> TurnEnded {
    TurnEnded { error: Some(error), ..turn_end(id, TurnOutcome::Failed) }
}

pub(super) fn tool(call: &str, name: &str) -> ToolStarted {
    ToolStarted { call: CallId::from(call), tool: ToolName::from(name), input: None, server: None }
}

pub(super) fn tool_end(call: &str, outcome: ToolOutcome) -> ToolEnded {
    ToolEnded {
        call: CallId::from(call),
        tool: None,
        outcome,
        exit_code: None,
        output: Vec::new(),
        structured: None,
        decision: None,
        decided_by: None,
        raw: None,
        duration_ms: None,
    }
}

/// A request as a hook tells it: no id, no call.
pub(super) fn ask(name: &str) -> PermissionRequested {
    ask_for(name, WaitingFor::Permission)
}

pub(super) fn ask_for(name: &str, waiting_for: WaitingFor) -> PermissionRequested {
    PermissionRequested {
        request: RequestId::default(),
        call: None,
        tool: Some(ToolName::from(name)),
        waiting_for,
        input: None,
        title: None,
        text: None,
        options: Vec::new(),
        suggestions: None,
        reason: None,
        server: None,
    }
}

/// A request as the stream tells it.
pub(super) fn ask_by_id(request: &str, call: &str, name: &str) -> PermissionRequested {
    PermissionRequested {
        request: RequestId::from(request),
        call: Some(CallId::from(call)),
        ..ask(name)
    }
}

pub(super) fn elicit(request: &str, server: &str) -> PermissionRequested {
    PermissionRequested {
        request: RequestId::from(request),
        tool: None,
        waiting_for: WaitingFor::Elicitation,
        server: Some(server.to_owned()),
        ..ask("")
    }
}

pub(super) fn answer(request: &str, decision: Decision) -> PermissionResolved {
    PermissionResolved {
        request: RequestId::from(request),
        call: None,
        decision,
        by: DecidedBy::Host,
        message: None,
    }
}

pub(super) fn subagent() -> SubagentStarted {
    SubagentStarted {
        call: None,
        agent_type: Some("general-purpose".to_owned()),
        description: None,
        background: false,
        task: None,
    }
}

pub(super) fn subagent_end() -> SubagentEnded {
    SubagentEnded {
        outcome: TaskOutcome::Completed,
        call: None,
        report: None,
        tokens: None,
        tool_uses: None,
        duration_ms: None,
    }
}

pub(super) fn shell(task: &str, background: bool) -> TaskStarted {
    TaskStarted {
        task: task.into(),
        task_kind: TaskKind::Shell,
        call: None,
        background,
        description: None,
    }
}

pub(super) fn task_end(task: &str) -> TaskEnded {
    TaskEnded {
        task: task.into(),
        outcome: TaskOutcome::Completed,
        call: None,
        summary: None,
        tokens: None,
        tool_uses: None,
        duration_ms: None,
    }
}

pub(super) fn tasks(set: &[(&str, TaskKind)]) -> TasksChanged {
    let running = |&(task, task_kind): &(&str, TaskKind)| RunningTask {
        task: task.into(),
        task_kind,
        subagent: None,
        call: None,
    };
    TasksChanged { tasks: set.iter().map(running).collect() }
}

pub(super) fn says(status: ReportedStatus) -> StatusReported {
    StatusReported { status, waiting_for: None, raw: None }
}

/// A process says that it waits.
pub(super) fn waits(waiting_for: WaitingFor) -> StatusReported {
    StatusReported { status: ReportedStatus::Waiting, waiting_for: Some(waiting_for), raw: None }
}

pub(super) fn delta(offset: u64) -> MessageDelta {
    MessageDelta {
        message: "message-1".into(),
        block: 0,
        block_kind: BlockKind::Text,
        offset,
        text: Content::withheld(4),
    }
}

pub(super) fn text(message: &str, block: u32) -> MessageCompleted {
    MessageCompleted {
        message: message.into(),
        block,
        block_kind: BlockKind::Text,
        role: Role::Assistant,
        text: Content::withheld(9),
        aborted: false,
        synthetic: false,
        media_type: None,
    }
}

pub(super) fn retry(attempt: u32) -> ApiRetry {
    ApiRetry {
        turn: None,
        attempt,
        max_attempts: Some(10),
        delay_ms: None,
        status: Some(529),
        error: ErrorKind::Overloaded,
    }
}

pub(super) fn compaction() -> CompactionStarted {
    CompactionStarted { trigger: Some(CompactionTrigger::Auto) }
}

pub(super) fn compacted() -> CompactionEnded {
    CompactionEnded {
        trigger: Some(CompactionTrigger::Auto),
        failed: false,
        tokens_before: None,
        tokens_after: None,
        duration_ms: None,
        summary: None,
    }
}
