//! The final state is the same for any interleaving of the sources within 500 ms.
//!
//! A history is generated once as what really happened, told by the stream and by hooks, each with its
//! own times. The drafts are then taken in many orders, each up to half a second late: once with every
//! source in its own order, once with hooks out of theirs as well (they come from separate processes).
//! What is left at the end must not depend on it.

use proptest::prelude::*;

use super::bench::*;
use crate::draft::Draft;
use crate::event::*;
use crate::state::{Resolver, SessionState};

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
    Stop,
    Fail,
    Exit,
}

/// One telling: when the draft is made and which feed tells it.
type Told = (Feed, Draft);

/// Turns steps into what each feed tells. Calls may be `alike`: of the same input.
pub(super) struct Teller {
    now: i64,
    gap: i64,
    serial: u32,
    alike: bool,
    turn: Option<u32>,
    agents: Vec<String>,
    shells: Vec<String>,
    told: Vec<Told>,
}

impl Teller {
    pub(super) fn tell(steps: &[Step], gap: i64, stream: bool, alike: bool) -> Vec<Told> {
        let mut teller = Self {
            now: 0,
            gap,
            serial: 0,
            alike,
            turn: None,
            agents: Vec::new(),
            shells: Vec::new(),
            told: Vec::new(),
        };
        teller.both(draft(0, start(StartSource::Startup)), draft(0, start(StartSource::Startup)));
        for step in steps {
            if teller.step(step) {
                break;
            }
        }
        teller.told.retain(|(feed, _)| stream || *feed != Feed::Stream);
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
                let scope = format!("a{n}");
                let background = SubagentStarted { background: true, ..subagent() };
                self.both(draft(0, background).child(&scope), draft(0, subagent()).child(&scope));
                self.agents.push(scope.clone());
                self.tick();
                let call = Call {
                    scope: Some(scope.clone()),
                    asks: *asks,
                    answer: answered.then_some(true),
                    ends: true,
                };
                self.call(n, &call);
                if *ends && (*answered || !*asks) {
                    self.tick();
                    self.agents.retain(|agent| *agent != scope);
                    self.both(
                        draft(0, subagent_end()).child(&scope),
                        draft(0, subagent_end()).child(&scope),
                    );
                }
            }
            Step::Shell { ends } if self.turn.is_some() => {
                let id = format!("b{n}");
                self.stream(draft(0, shell(&id, true)));
                self.shells.push(id.clone());
                if *ends {
                    self.tick();
                    self.shells.retain(|shell| *shell != id);
                    self.stream(draft(0, task_end(&id)));
                }
            }
            Step::Retry if self.turn.is_some() => self.stream(draft(0, retry(1))),
            Step::Compact => {
                self.both(draft(0, compaction()), draft(0, compaction()));
                self.tick();
                self.hook(draft(0, start(StartSource::Compact)));
                self.tick();
                self.both(draft(0, compacted()), draft(0, compacted()));
            }
            Step::Twins { first_ends } if self.turn.is_some() => {
                self.twins(n, *first_ends);
                return !first_ends;
            }
            Step::Queued if self.turn.is_some() => {
                let prompt = format!("q{n}");
                self.hook(draft(0, turn(&prompt)).prompt(&prompt));
            }
            Step::Interrupt => {
                if let Some(n) = self.turn.take() {
                    let end = turn_end(&format!("t{n}"), TurnOutcome::Interrupted);
                    self.stream(draft(0, end).agents(0));
                    self.agents.clear();
                }
            }
            Step::Stop if self.turn.is_some() => self.end_turn(TurnOutcome::Completed),
            Step::Fail if self.turn.is_some() => self.end_turn(TurnOutcome::Failed),
            Step::Exit => {
                if self.turn.is_some() {
                    self.end_turn(TurnOutcome::Completed);
                    self.tick();
                }
                self.both(draft(0, end(EndReason::Exit)), draft(0, end(EndReason::Exit)));
                return true;
            }
            _ => {}
        }
        false
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
            self.tick();
        }
        for call in &calls {
            let request = format!("r-{call}");
            self.both(
                draft(0, ask_by_id(&request, call, "Bash")).input("twin"),
                draft(0, ask("Bash")).prompt(&prompt).input("twin"),
            );
            self.tick();
        }
        let answered = if first_ends { 2 } else { 1 };
        for call in calls.iter().take(answered) {
            self.stream(draft(0, answer(&format!("r-{call}"), Decision::Allowed)));
            self.tick();
            let end = || draft(0, tool_end(call, ToolOutcome::Ok));
            self.both(end(), end().prompt(&prompt).input("twin"));
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
            self.both(stream, hook.agents(agents));
        } else {
            self.both(stream, hook);
        }
        self.turn = None;
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
        if call.asks {
            self.tick();
            let request = format!("r{n}");
            self.both(stream(ask_by_id(&request, &id, "Bash").into()), hook(ask("Bash").into()));
            let Some(allowed) = call.answer else { return call.scope.is_none() };
            self.tick();
            let decision = if allowed { Decision::Allowed } else { Decision::Denied };
            self.stream(place(draft(0, answer(&request, decision))));
        }
        if call.ends || call.asks {
            self.tick();
            let allowed = call.answer != Some(false);
            let outcome = if allowed { ToolOutcome::Ok } else { ToolOutcome::Denied };
            let ended = stream(tool_end(&id, outcome).into());
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
        3 => Just(Step::Stop),
        1 => Just(Step::Fail),
        1 => Just(Step::Exit),
    ];
    prop::collection::vec(step, 1..14)
}

/// The order in which drafts arrive: each is late by its delay. The stream keeps its order, hooks do if
/// they are `orderly`.
pub(super) fn arrange(told: &[Told], delays: &[i64], orderly: bool) -> Vec<(i64, Told)> {
    let (mut latest, mut latest_hook) = (0, 0);
    let mut arriving: Vec<(i64, Told)> = told
        .iter()
        .zip(delays.iter().cycle())
        .map(|((feed, draft), delay)| {
            let made = i64::try_from(draft.at.duration_since(START).as_millis()).unwrap_or(0);
            let mut arrives = made + delay;
            if *feed == Feed::Stream {
                arrives = arrives.max(latest);
                latest = arrives;
            } else if orderly {
                arrives = arrives.max(latest_hook);
                latest_hook = arrives;
            }
            (arrives, (*feed, draft.clone()))
        })
        .collect();
    arriving.sort_by_key(|(arrives, _)| *arrives);
    arriving
}

pub(super) fn play(arriving: &[(i64, Told)]) -> Resolver {
    let mut bench = Bench::default();
    let mut clock = 0;
    for (arrives, (feed, draft)) in arriving {
        while clock + 250 < *arrives {
            clock += 250;
            bench.resolver.tick(at(clock), &mut bench.events);
        }
        bench.see_at(*feed, draft.clone(), at(*arrives));
    }
    for step in 1..=80 {
        bench.resolver.tick(at(clock + step * 250), &mut bench.events);
    }
    bench.resolver
}

/// What must not depend on the order. Ids of requests and times may: they are those of the first
/// sighting.
fn essence(resolver: &Resolver) -> impl PartialEq + std::fmt::Debug + use<> {
    let state: SessionState = resolver.record(&key()).expect("the session is known").state.clone();
    let mut open: Vec<_> = state
        .open
        .into_iter()
        .map(|open| (open.call, open.tool, open.waiting_for, open.scope))
        .collect();
    open.sort();
    let mut children = state.children;
    children.sort();
    (
        (state.status, state.waiting_for, state.background, state.activity),
        (state.outcome, state.error, open, children),
    )
}

/// The same history, straight and late.
fn check(told: &[Told], delays: &[i64], orderly: bool) -> Result<(), TestCaseError> {
    let straight = essence(&play(&arrange(told, &[0], true)));
    let late = essence(&play(&arrange(told, delays, orderly)));
    prop_assert_eq!(straight, late);
    Ok(())
}

/// What was told of turns, calls, requests, subagents and compactions, in no order.
fn things(arriving: &[(i64, Told)], of: impl Fn(Feed) -> bool) -> Vec<String> {
    let mut bench = Bench::default();
    for (arrives, (feed, draft)) in arriving.iter().filter(|(_, (feed, _))| of(*feed)) {
        bench.see_at(*feed, draft.clone(), at(*arrives));
    }
    let mut things: Vec<_> = bench
        .events
        .iter()
        .filter_map(|event| {
            let id = match &event.body {
                Body::TurnStarted(_)
                | Body::TurnEnded(_)
                | Body::SubagentStarted(_)
                | Body::SubagentEnded(_)
                | Body::CompactionStarted(_)
                | Body::CompactionEnded(_) => "",
                Body::ToolStarted(data) => data.call.as_str(),
                Body::ToolEnded(data) => data.call.as_str(),
                Body::PermissionRequested(data) => data.request.as_str(),
                Body::PermissionResolved(data) => data.request.as_str(),
                _ => return None,
            };
            Some(format!("{} {id}", event.body.kind()))
        })
        .collect();
    things.sort();
    things
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn hooks_beside_a_stream_add_no_turn_call_or_request(
        steps in steps(),
        gap in 30_i64..900,
    ) {
        let arriving = arrange(&Teller::tell(&steps, gap, true, true), &[0], true);
        let alone = things(&arriving, |feed| feed == Feed::Stream);
        prop_assert_eq!(alone, things(&arriving, |_| true));
    }

    #[test]
    fn a_state_settled_later_is_the_same(
        steps in steps(),
        gap in 30_i64..900,
        parts in prop::collection::vec(any::<bool>(), 1..20),
    ) {
        let told = arrange(&Teller::tell(&steps, gap, true, true), &[0], true);
        let mut bench = Bench::default();
        for ((arrives, (feed, draft)), more) in told.iter().zip(parts.iter().cycle()) {
            let (origin, now) = (feed.origin(), at(*arrives));
            if *more {
                bench.resolver.accept_part(draft.clone(), &origin, now, &mut bench.events);
            } else {
                bench.resolver.accept(draft.clone(), &origin, now, &mut bench.events);
            }
        }
        let last = told.last().map_or(0, |(arrives, _)| *arrives);
        for step in 1..=80 {
            bench.resolver.tick(at(last + step * 250), &mut bench.events);
        }
        prop_assert_eq!(essence(&play(&told)), essence(&bench.resolver));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn the_final_state_does_not_depend_on_how_the_sources_interleave(
        steps in steps(),
        gap in 30_i64..900,
        delays in prop::collection::vec(0_i64..500, 1..40),
        stream in prop::bool::weighted(0.7),
    ) {
        check(&Teller::tell(&steps, gap, stream, true), &delays, true)?;
    }

    #[test]
    fn the_final_state_does_not_depend_on_the_order_of_the_hooks(
        mut steps in steps(),
        gap in 30_i64..900,
        delays in prop::collection::vec(0_i64..500, 1..40),
        stream in any::<bool>(),
    ) {
        // Which of two equal questions belongs to which of two equal calls only their order tells, so
        // here no two are equal.
        steps.retain(|step| !matches!(step, Step::Twins { .. }));
        check(&Teller::tell(&steps, gap, stream, false), &delays, false)?;
    }
}
