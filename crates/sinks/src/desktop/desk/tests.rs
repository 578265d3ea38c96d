use linelamp_core::event::{
    PermissionRequested, RunningTask, SessionStarted, StartSource, TaskKind, TasksChanged,
    TurnEnded, WaitingFor,
};
use linelamp_core::{EventId, Origin, Scope, Seq, Timestamp, Trust};
use proptest::prelude::*;

use super::*;

fn event(body: impl Into<Body>) -> Event {
    let at = Timestamp::UNIX_EPOCH;
    Event {
        id: EventId::derive(at, b"x", 0),
        seq: Seq(1),
        session: SessionKey::new("claude-code", "1"),
        session_seq: 1,
        at,
        observed_at: at,
        origin: Origin {
            feed: "hook".into(),
            trust: Trust::Reported,
            pid: None,
            host: "box".into(),
        },
        scope: Scope::Main,
        body: body.into(),
    }
}

fn started() -> Event {
    event(SessionStarted {
        source: StartSource::Startup,
        cwd: Some("/home/u/app".to_owned()),
        model: None,
        version: None,
        entrypoint: None,
        mode: None,
        parent: None,
        process: None,
    })
}

fn asks(tool: &str) -> Event {
    event(PermissionRequested {
        request: "r".into(),
        call: None,
        tool: Some(tool.into()),
        waiting_for: WaitingFor::Permission,
        input: None,
        title: None,
        text: None,
        options: Vec::new(),
        suggestions: None,
        reason: None,
        server: None,
    })
}

fn status(from: Status, to: Status) -> StatusChanged {
    StatusChanged {
        from: Some(from),
        to,
        waiting_for: None,
        background: 0,
        activity: None,
        outcome: None,
        error: None,
        because: Vec::new(),
    }
}

fn over(from: Status, outcome: TurnOutcome, background: u32) -> Event {
    event(StatusChanged { background, outcome: Some(outcome), ..status(from, Status::Idle) })
}

fn failed(error: ErrorKind) -> Event {
    event(TurnEnded {
        turn: "t".into(),
        outcome: TurnOutcome::Failed,
        error: Some(error),
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
    })
}

fn gone(reason: EndReason) -> Event {
    event(SessionEnded { reason, exit_code: None, signal: None, process: None, error: None })
}

fn desk() -> Desk {
    Desk::new(Topic::WORDS.iter().filter_map(|word| Topic::from_word(word)))
}

/// What a person sees: each shown text, `-` for a notification taken away, `.` for a session's end.
fn seen(desk: &mut Desk, events: &[Event]) -> Vec<String> {
    let mut actions = Vec::new();
    for event in events {
        desk.take(event, &mut actions);
    }
    actions
        .into_iter()
        .map(|action| match action {
            Action::Show(_, note) => format!("{} {}", note.title, note.text),
            Action::Close(_) => "-".to_owned(),
            Action::Forget(_) => ".".to_owned(),
        })
        .collect()
}

use Status::{Ended, Idle, WaitingForInput, WaitingForPermission, Working};
use TurnOutcome::{Completed, Interrupted};

#[test]
fn a_permission_is_shown_with_its_tool_and_goes_when_it_is_settled() {
    let events = [
        started(),
        event(status(Idle, Working)),
        asks("Bash"),
        event(status(Working, WaitingForPermission)),
        event(status(WaitingForPermission, Working)),
        over(Working, Completed, 0),
        event(status(Idle, Working)),
    ];
    assert_eq!(
        seen(&mut desk(), &events),
        ["claude-code: app waits for permission: Bash", "-", "claude-code: app is done", "-"]
    );
}

#[test]
fn a_question_and_a_plan_are_told_apart() {
    let waits = |waiting_for| {
        event(StatusChanged { waiting_for: Some(waiting_for), ..status(Working, WaitingForInput) })
    };
    let events = [
        started(),
        waits(WaitingFor::Question),
        waits(WaitingFor::Plan),
        waits(WaitingFor::Elicitation),
    ];
    assert_eq!(
        seen(&mut desk(), &events),
        [
            "claude-code: app asks a question",
            "claude-code: app waits for approval of its plan",
            "claude-code: app waits for an answer to a tool server"
        ]
    );
}

#[test]
fn done_is_told_once_and_only_after_something_was_done() {
    // First seen idle, or idle again after a stale time: nothing was done.
    assert_eq!(seen(&mut desk(), &[over(Status::Starting, Completed, 0)]), [""; 0]);
    let again = [
        event(status(Idle, Working)),
        over(Working, Completed, 0),
        over(Status::Stale, Completed, 0),
    ];
    assert_eq!(seen(&mut desk(), &again), ["claude-code is done", "-"]);
}

#[test]
fn done_waits_for_the_shells_in_the_background() {
    let running =
        RunningTask { task: "t".into(), task_kind: TaskKind::Shell, subagent: None, call: None };
    let tasks = |tasks| event(TasksChanged { tasks });
    let idle_with_shell = [event(status(Idle, Working)), over(Working, Completed, 1)];
    let mut one = desk();
    assert_eq!(seen(&mut one, &idle_with_shell), [""; 0]);
    assert_eq!(seen(&mut one, &[tasks(vec![running])]), [""; 0]);
    assert_eq!(seen(&mut one, &[tasks(Vec::new())]), ["claude-code is done"]);
    assert_eq!(seen(&mut one, &[tasks(Vec::new())]), [""; 0]);
    let mut other = desk();
    assert_eq!(seen(&mut other, &idle_with_shell), [""; 0]);
    assert_eq!(seen(&mut other, &[over(Idle, Completed, 0)]), ["claude-code is done"]);
}

#[test]
fn what_a_human_stopped_is_not_told_to_that_human() {
    let events = [event(status(Idle, Working)), over(Working, Interrupted, 0)];
    assert_eq!(seen(&mut desk(), &events), [""; 0]);
}

#[test]
fn a_failure_says_of_what_kind_it_is() {
    let events = [
        event(status(Idle, Working)),
        failed(ErrorKind::RateLimit),
        over(Working, TurnOutcome::Failed, 0),
        event(status(Idle, Working)),
        over(Working, TurnOutcome::MaxTurns, 0),
    ];
    assert_eq!(
        seen(&mut desk(), &events),
        ["claude-code failed: rate limit", "-", "claude-code stopped at its limit of rounds"]
    );
}

#[test]
fn an_end_takes_away_what_waited_and_leaves_what_is_to_be_read() {
    let waiting = [event(status(Working, WaitingForPermission)), event(status(Working, Ended))];
    assert_eq!(seen(&mut desk(), &waiting), ["claude-code waits for permission", "-", "."]);
    let finished = event(StatusChanged { outcome: Some(Completed), ..status(Working, Ended) });
    assert_eq!(seen(&mut desk(), &[finished]), ["claude-code is done", "."]);
    let crashed =
        [event(status(Idle, Working)), gone(EndReason::Crashed), event(status(Working, Ended))];
    assert_eq!(seen(&mut desk(), &crashed), ["claude-code crashed", "."]);
    let lost =
        [failed(ErrorKind::Unknown), gone(EndReason::Crashed), event(status(Working, Ended))];
    assert_eq!(
        seen(&mut desk(), &lost),
        ["claude-code crashed", "."],
        "begun before anybody looked"
    );
    let exited = [gone(EndReason::Exit), event(status(Idle, Ended))];
    assert_eq!(seen(&mut desk(), &exited), ["."]);
}

#[test]
fn a_session_of_which_nothing_was_asked_is_never_told() {
    for reason in [EndReason::Crashed, EndReason::Killed, EndReason::Exit] {
        let ghost = [
            started(),
            event(status(Status::Unknown, Status::Starting)),
            event(status(Status::Starting, Idle)),
            gone(reason),
            event(status(Idle, Ended)),
        ];
        assert_eq!(seen(&mut desk(), &ghost), ["."], "{reason}");
    }
}

#[test]
fn topics_that_were_not_asked_for_are_not_shown() {
    let mut quiet = Desk::new([Topic::Failed]);
    let events = [
        event(status(Working, WaitingForPermission)),
        over(WaitingForPermission, Completed, 0),
        event(status(Idle, Working)),
        over(Working, TurnOutcome::Failed, 0),
    ];
    assert_eq!(seen(&mut quiet, &events), ["claude-code failed"]);
}

proptest! {
    /// Whatever comes in whatever order: only what is shown is closed, and no session is kept that
    /// has ended.
    #[test]
    fn nothing_is_closed_that_is_not_shown(picks in proptest::collection::vec(0..12_usize, 0..60)) {
        let choices = [
            started(),
            asks("Bash"),
            failed(ErrorKind::Server),
            gone(EndReason::Crashed),
            gone(EndReason::Exit),
            event(TasksChanged { tasks: Vec::new() }),
            event(status(Idle, Working)),
            event(status(Working, WaitingForPermission)),
            event(status(Working, WaitingForInput)),
            over(Working, Completed, 1),
            over(Working, Completed, 0),
            event(status(Working, Ended)),
        ];
        let mut desk = desk();
        let mut shown = false;
        for pick in picks {
            let mut actions = Vec::new();
            desk.take(&choices[pick], &mut actions);
            for action in actions {
                match action {
                    Action::Show(..) => shown = true,
                    Action::Close(_) => prop_assert!(std::mem::take(&mut shown)),
                    Action::Forget(_) => shown = false,
                }
            }
            if pick == 11 {
                prop_assert!(desk.sessions.is_empty());
            }
        }
    }
}
