//! Histories made at random: what really happened, and how each feed tells it.

use proptest::prelude::*;

use super::bench::*;
use crate::draft::{Draft, Ending};
use crate::event::*;

/// One step of what happens.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Prompt,
    /// A call of the main agent; how its request is answered, if it asks.
    Call {
        asks: bool,
        answered: bool,
        allowed: bool,
        ends: bool,
    },
    /// A background subagent begins; it asks, is answered, ends.
    Agent {
        asks: bool,
        answered: bool,
        ends: bool,
    },
    Shell {
        ends: bool,
    },
    Retry,
    Compact,
    /// Two equal calls side by side; both ask, the first is answered.
    Twins {
        first_ends: bool,
    },
    /// A prompt that waits behind the open turn and is folded into it: only its hook tells.
    Queued,
    /// Somebody stops the turn: no hook tells.
    Interrupt,
    /// A call is asked about, and the turn stopped instead of an answer: no hook tells.
    Refused,
    Stop,
    Fail,
    Exit,
}

/// One telling: when the draft is made and which feed tells it.
pub(super) type Told = (Feed, Draft);

/// Turns steps into what each feed tells. Calls may be `alike`: of the same input.
pub(super) struct Teller {
    now: i64,
    gap: i64,
    serial: u32,
    alike: bool,
    turn: Option<u32>,
    agents: Vec<String>,
    shells: Vec<String>,
    /// Who asked and was not answered, if it is a subagent.
    asking: Vec<Option<String>>,
    compacts: bool,
    /// What the process said of itself last.
    word: Option<ReportedStatus>,
    told: Vec<Told>,
}

impl Teller {
    /// The process is `named` by all who can, or by its status file only.
    pub(super) fn tell(
        steps: &[Step],
        gap: i64,
        feeds: &[Feed],
        alike: bool,
        named: bool,
    ) -> Vec<Told> {
        let mut teller = Self {
            now: 0,
            gap,
            serial: 0,
            alike,
            turn: None,
            agents: Vec::new(),
            shells: Vec::new(),
            asking: Vec::new(),
            compacts: false,
            word: None,
            told: Vec::new(),
        };
        teller.both(draft(0, start(StartSource::Startup)), draft(0, start(StartSource::Startup)));
        teller.say();
        for step in steps {
            if teller.step(step) {
                break;
            }
        }
        for (feed, draft) in &mut teller.told {
            if named && *feed != Feed::Transcript {
                draft.process = draft.clone().pid(7).process;
            }
        }
        teller.told.retain(|(feed, _)| feeds.contains(feed));
        teller.told
    }

    fn tick(&mut self) -> i64 {
        self.now += self.gap;
        self.now
    }

    /// The stream tells it now, the hook a little later.
    fn both(&mut self, stream: Draft, hook: Draft) {
        self.told.push((Feed::Stream, Draft { at: at(self.now), ..stream }));
        self.hook(hook);
    }

    fn hook(&mut self, hook: Draft) {
        self.told.push((Feed::Hook, Draft { at: at(self.now + 7), ..hook }));
    }

    fn stream(&mut self, stream: Draft) {
        self.told.push((Feed::Stream, Draft { at: at(self.now), ..stream }));
    }

    /// A line of the session's file.
    fn line(&mut self, line: Draft) {
        self.line_after(12, line);
    }

    fn line_after(&mut self, ms: i64, line: Draft) {
        self.told.push((Feed::Transcript, Draft { at: at(self.now + ms), ..line }));
    }

    /// The process says what it does, if that has changed.
    fn say(&mut self) {
        let word = if !self.asking.is_empty() {
            ReportedStatus::Waiting
        } else if self.turn.is_some() || self.compacts || !self.agents.is_empty() {
            ReportedStatus::Busy
        } else if !self.shells.is_empty() {
            ReportedStatus::Shell
        } else {
            ReportedStatus::Idle
        };
        if self.word.replace(word) != Some(word) {
            let waiting_for = (word == ReportedStatus::Waiting).then_some(WaitingFor::Permission);
            let said = StatusReported { waiting_for, ..says(word) };
            self.told.push((Feed::Status, draft(0, said).pid(7).stands()));
            self.told.last_mut().expect("just told").1.at = at(self.now + 5);
        }
    }

    fn prompt(&self) -> String {
        format!("p{}", self.turn.unwrap_or(0))
    }

    fn step(&mut self, step: &Step) -> bool {
        self.tick();
        self.serial += 1;
        let n = self.serial;
        match step {
            Step::Prompt if self.turn.is_none() => {
                self.turn = Some(n);
                let prompt = self.prompt();
                self.both(
                    draft(0, turn(&format!("t{n}"))),
                    draft(0, turn(&prompt)).prompt(&prompt),
                );
                self.line(draft(0, turn(&prompt)).prompt(&prompt));
                self.say();
            }
            Step::Call { asks, answered, allowed, ends } if self.turn.is_some() => {
                let call = Call {
                    scope: None,
                    asks: *asks,
                    answer: answered.then_some(*allowed),
                    ends: *ends,
                };
                return self.call(n, &call);
            }
            Step::Agent { asks, answered, ends } if self.turn.is_some() => {
                self.agent(n, *asks, *answered, *ends);
            }
            Step::Shell { ends } if self.turn.is_some() => self.shell(n, *ends),
            Step::Retry if self.turn.is_some() => {
                self.stream(draft(0, retry(1)));
                self.line(draft(0, retry(1)));
            }
            Step::Compact => self.compact(),
            Step::Twins { first_ends } if self.turn.is_some() => {
                self.twins(n, *first_ends);
                return !first_ends;
            }
            Step::Queued if self.turn.is_some() => {
                let prompt = format!("q{n}");
                self.hook(draft(0, turn(&prompt)).prompt(&prompt));
            }
            Step::Interrupt => self.interrupt(),
            Step::Refused if self.turn.is_some() => {
                let call = Call { scope: None, asks: true, answer: None, ends: false };
                self.call(n, &call);
                self.tick();
                let id = format!("c{n}");
                let end = || draft(0, tool_end(&id, ToolOutcome::Denied));
                self.stream(end());
                self.line(end().prompt(&self.prompt()));
                self.interrupt();
            }
            Step::Stop if self.turn.is_some() => self.end_turn(TurnOutcome::Completed),
            Step::Fail if self.turn.is_some() => self.end_turn(TurnOutcome::Failed),
            Step::Exit => {
                if self.turn.is_some() {
                    self.end_turn(TurnOutcome::Completed);
                    self.tick();
                }
                self.both(draft(0, end(EndReason::Exit)), draft(0, end(EndReason::Exit)));
                let gone = Draft { at: at(self.now + 5), ..draft(0, end(EndReason::Exit)).pid(7) };
                self.told.push((Feed::Status, gone));
                return true;
            }
            _ => {}
        }
        false
    }

    fn agent(&mut self, n: u32, asks: bool, answered: bool, ends: bool) {
        let scope = format!("a{n}");
        let background = SubagentStarted { background: true, ..subagent() };
        self.both(draft(0, background.clone()).child(&scope), draft(0, subagent()).child(&scope));
        self.line(draft(0, background).child(&scope));
        self.agents.push(scope.clone());
        self.tick();
        let call =
            Call { scope: Some(scope.clone()), asks, answer: answered.then_some(true), ends: true };
        self.call(n, &call);
        if ends && (answered || !asks) {
            self.tick();
            self.agents.retain(|agent| *agent != scope);
            let end = || draft(0, subagent_end()).child(&scope);
            self.both(end(), end());
            self.line(end());
            self.say();
        }
    }

    fn shell(&mut self, n: u32, ends: bool) {
        let id = format!("b{n}");
        self.stream(draft(0, shell(&id, true)));
        self.shells.push(id.clone());
        if ends {
            self.tick();
            self.shells.retain(|shell| *shell != id);
            self.stream(draft(0, task_end(&id)));
        }
    }

    fn compact(&mut self) {
        self.both(draft(0, compaction()), draft(0, compaction()));
        self.compacts = true;
        self.say();
        self.tick();
        self.hook(draft(0, start(StartSource::Compact)));
        self.tick();
        self.both(draft(0, compacted()), draft(0, compacted()));
        self.line(draft(0, compacted()));
        self.compacts = false;
        self.say();
    }

    fn interrupt(&mut self) {
        let Some(n) = self.turn.take() else { return };
        let end = turn_end(&format!("t{n}"), TurnOutcome::Interrupted);
        self.stream(draft(0, end).agents(0));
        let prompt = format!("p{n}");
        self.line(draft(0, turn_end(&prompt, TurnOutcome::Interrupted)).prompt(&prompt).agents(0));
        self.agents.clear();
        self.asking.clear();
        self.say();
    }

    fn twins(&mut self, n: u32, first_ends: bool) {
        let prompt = self.prompt();
        let calls = [format!("c{n}a"), format!("c{n}b")];
        for call in &calls {
            let tool = |draft: Draft| draft.input("twin");
            self.both(
                tool(draft(0, tool_named(call))),
                tool(draft(0, tool_named(call))).prompt(&prompt),
            );
            self.line(tool(draft(0, tool_named(call))).prompt(&prompt));
            self.tick();
        }
        for call in &calls {
            let request = format!("r-{call}");
            self.both(
                draft(0, ask_by_id(&request, call, "Bash")).input("twin"),
                draft(0, ask("Bash")).prompt(&prompt).input("twin"),
            );
            self.asking.push(None);
            self.say();
            self.tick();
        }
        let answered = if first_ends { 2 } else { 1 };
        for call in calls.iter().take(answered) {
            self.stream(draft(0, answer(&format!("r-{call}"), Decision::Allowed)));
            self.tick();
            let end = || draft(0, tool_end(call, ToolOutcome::Ok));
            self.both(end(), end().prompt(&prompt).input("twin"));
            self.line(end().prompt(&prompt));
            self.answered(None);
            self.tick();
        }
    }

    fn end_turn(&mut self, outcome: TurnOutcome) {
        let n = self.turn.unwrap_or(0);
        let prompt = self.prompt();
        let agents = u32::try_from(self.agents.len()).unwrap_or(0);
        let stream = draft(0, turn_end(&format!("t{n}"), outcome)).agents(agents);
        let hook = draft(0, turn_end(&prompt, outcome)).prompt(&prompt);
        if outcome == TurnOutcome::Completed {
            let agents_set = self.agents.iter().map(|id| (id.as_str(), TaskKind::Agent));
            let set: Vec<_> = agents_set
                .chain(self.shells.iter().map(|id| (id.as_str(), TaskKind::Shell)))
                .collect();
            let set = tasks(&set);
            self.hook(draft(0, set));
            self.both(stream, hook.agents(agents).ending(Ending::Announced));
            let line = || draft(0, turn_end(&prompt, outcome)).prompt(&prompt);
            self.line(line().ending(Ending::Sealed));
            self.line_after(14, line().agents(agents));
        } else {
            self.both(stream, hook.clone());
            self.line(hook);
        }
        self.turn = None;
        self.say();
    }

    /// Somebody who asked was answered.
    fn answered(&mut self, who: Option<&str>) {
        let at = self.asking.iter().position(|asking| asking.as_deref() == who);
        at.map(|at| self.asking.remove(at));
        self.say();
    }

    /// A call from its start to where the story leaves it. True if the story can not go on in its turn.
    fn call(&mut self, n: u32, call: &Call) -> bool {
        let id = format!("c{n}");
        let prompt = self.prompt();
        let lone = !call.ends && !call.asks;
        let input = if self.alike && !lone { n % 2 } else { n + 2 };
        let input = format!("input-{input}");
        let place = |draft: Draft| match &call.scope {
            Some(scope) => draft.child(scope),
            None => draft,
        };
        let hook = |body: Body| place(draft(0, body)).prompt(&prompt).input(&input);
        let stream = |body: Body| place(draft(0, body)).input(&input);
        self.both(stream(tool(&id, "Bash").into()), hook(tool(&id, "Bash").into()));
        self.line(hook(tool(&id, "Bash").into()));
        if call.asks {
            self.tick();
            let request = format!("r{n}");
            self.both(stream(ask_by_id(&request, &id, "Bash").into()), hook(ask("Bash").into()));
            self.asking.push(call.scope.clone());
            self.say();
            let Some(allowed) = call.answer else { return call.scope.is_none() };
            self.tick();
            let decision = if allowed { Decision::Allowed } else { Decision::Denied };
            self.stream(place(draft(0, answer(&request, decision))));
            self.answered(call.scope.as_deref());
        }
        if call.ends || call.asks {
            self.tick();
            let allowed = call.answer != Some(false);
            let outcome = if allowed { ToolOutcome::Ok } else { ToolOutcome::Denied };
            let ended = stream(tool_end(&id, outcome).into());
            self.line(hook(tool_end(&id, outcome).into()));
            if allowed {
                self.both(ended, hook(tool_end(&id, outcome).into()));
            } else {
                self.both(ended, hook(tool_end(&id, ToolOutcome::Ok).into()).quiet());
            }
        }
        false
    }
}

fn tool_named(call: &str) -> ToolStarted {
    tool(call, "Bash")
}

struct Call {
    scope: Option<String>,
    asks: bool,
    /// Whether it was allowed, if it was answered.
    answer: Option<bool>,
    ends: bool,
}

pub(super) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let flag = any::<bool>;
    let call = (flag(), prop::bool::weighted(0.8), flag(), flag())
        .prop_map(|(asks, answered, allowed, ends)| Step::Call { asks, answered, allowed, ends });
    let agent = (flag(), prop::bool::weighted(0.7), flag())
        .prop_map(|(asks, answered, ends)| Step::Agent { asks, answered, ends });
    let step = prop_oneof![
        4 => Just(Step::Prompt),
        4 => call,
        2 => agent,
        1 => flag().prop_map(|ends| Step::Shell { ends }),
        1 => Just(Step::Retry),
        1 => Just(Step::Compact),
        1 => flag().prop_map(|first_ends| Step::Twins { first_ends }),
        1 => Just(Step::Queued),
        1 => Just(Step::Interrupt),
        1 => Just(Step::Refused),
        3 => Just(Step::Stop),
        1 => Just(Step::Fail),
        1 => Just(Step::Exit),
    ];
    prop::collection::vec(step, 1..14)
}

/// Some of the feeds, at least one.
pub(super) fn feeds() -> impl Strategy<Value = Vec<Feed>> {
    let all = [Feed::Stream, Feed::Hook, Feed::Transcript, Feed::Status];
    prop::sample::subsequence(all.to_vec(), 1..=4)
}
