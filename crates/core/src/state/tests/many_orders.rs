//! The final state is the same for any interleaving of the sources within 500 ms.
//!
//! A history is generated once as what really happened, told by the stream, by hooks, by the session's file and
//! by the status file of its process, each with its own times. The drafts of some of them are then taken in many
//! orders, each up to half a second late: once with every source in its own order, once with hooks out of theirs as
//! well (they come from separate processes). What is left at the end must not depend on it.

use proptest::prelude::*;

use super::bench::*;
use super::history::{Step, Teller, Told, feeds, steps};
use crate::event::*;
use crate::state::{Resolver, SessionState};

/// The order in which drafts arrive: each is late by its delay. All but hooks keep their order, and hooks do if
/// they are `orderly`.
pub(super) fn arrange(told: &[Told], delays: &[i64], orderly: bool) -> Vec<(i64, Told)> {
    let mut latest = [0; 4];
    let mut arriving: Vec<(i64, Told)> = told
        .iter()
        .zip(delays.iter().cycle())
        .map(|((feed, draft), delay)| {
            let made = i64::try_from(draft.at.duration_since(START).as_millis()).unwrap_or(0);
            let mut arrives = made + delay;
            if orderly || *feed != Feed::Hook {
                let latest = &mut latest[*feed as usize];
                arrives = arrives.max(*latest);
                *latest = arrives;
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
    prop_assume!(!told.is_empty());
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
    fn who_stands_beside_a_stream_adds_no_turn_call_or_request(
        steps in steps(),
        gap in 30_i64..900,
        mut feeds in feeds(),
        named in any::<bool>(),
    ) {
        feeds.push(Feed::Stream);
        let arriving = arrange(&Teller::tell(&steps, gap, &feeds, true, named), &[0], true);
        let alone = things(&arriving, |feed| feed == Feed::Stream);
        prop_assert_eq!(alone, things(&arriving, |_| true));
    }

    #[test]
    fn a_state_settled_later_is_the_same(
        steps in steps(),
        gap in 30_i64..900,
        feeds in feeds(),
        named in any::<bool>(),
        parts in prop::collection::vec(any::<bool>(), 1..20),
    ) {
        let told = arrange(&Teller::tell(&steps, gap, &feeds, true, named), &[0], true);
        prop_assume!(!told.is_empty());
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
        feeds in feeds(),
        named in any::<bool>(),
    ) {
        check(&Teller::tell(&steps, gap, &feeds, true, named), &delays, true)?;
    }

    #[test]
    fn the_final_state_does_not_depend_on_the_order_of_the_hooks(
        mut steps in steps(),
        gap in 30_i64..900,
        delays in prop::collection::vec(0_i64..500, 1..40),
        feeds in feeds(),
        named in any::<bool>(),
    ) {
        // Which of two equal questions belongs to which of two equal calls only their order tells, so
        // here no two are equal.
        steps.retain(|step| !matches!(step, Step::Twins { .. }));
        check(&Teller::tell(&steps, gap, &feeds, false, named), &delays, false)?;
    }
}
