//! A session that is saved and restored at any point has the same future.

use proptest::prelude::*;

use super::bench::*;
use super::history::{Teller, feeds, steps};
use super::many_orders::arrange;
use crate::event::Event;
use crate::state::{Resolver, SessionRecord};

/// The whole resolver, through text and back.
fn through_json(resolver: &Resolver) -> Resolver {
    let records = resolver.snapshot().into_iter().map(|state| {
        let record = resolver.record(&state.session).expect("it was in the snapshot");
        let text = serde_json::to_string(&**record).expect("a record is JSON");
        let back: SessionRecord = serde_json::from_str(&text).expect("a record is read again");
        assert_eq!(back, **record);
        back
    });
    Resolver::restore(resolver.next_seq(), records)
}

fn future(
    mut resolver: Resolver,
    rest: &[(i64, (Feed, crate::Draft))],
    mut clock: i64,
) -> (Vec<Event>, String) {
    let mut events = Vec::new();
    for (arrives, (feed, draft)) in rest {
        while clock + 250 < *arrives {
            clock += 250;
            resolver.tick(at(clock), &mut events);
        }
        resolver.accept(draft.clone(), &feed.origin(), at(*arrives), &mut events);
    }
    for step in [1, 5, 20, 4000, 400_000] {
        resolver.tick(at(clock + step * 250), &mut events);
    }
    let record = resolver.record(&key()).map(|record| format!("{record:?}"));
    (events, record.unwrap_or_default())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn a_restored_session_has_the_same_future(
        steps in steps(),
        gap in 30_i64..900,
        delays in prop::collection::vec(0_i64..500, 1..40),
        feeds in feeds(),
        named in any::<bool>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut told = Teller::tell(&steps, gap, &feeds, true, named);
        prop_assume!(!told.is_empty());
        for (n, (_, draft)) in told.iter_mut().enumerate() {
            let index = u32::try_from(n).expect("few drafts");
            draft.id = Some(crate::EventId::derive(draft.at, b"told", index));
        }
        let arriving = arrange(&told, &delays, false);
        let cut = cut.index(arriving.len());
        let mut first = Resolver::default();
        let mut events = Vec::new();
        for (arrives, (feed, draft)) in &arriving[..cut] {
            first.accept(draft.clone(), &feed.origin(), at(*arrives), &mut events);
        }
        let clock = arriving[cut].0;
        let restored = through_json(&first);
        prop_assert_eq!(future(first, &arriving[cut..], clock), future(restored, &arriving[cut..], clock));
    }
}

#[test]
fn a_record_without_evidence_is_read() {
    let mut bench = Bench::default();
    bench.hook(draft(0, start(crate::event::StartSource::Startup)));
    let record = bench.resolver.record(&key()).expect("known");
    let mut value = serde_json::to_value(&**record).expect("json");
    let object = value.as_object_mut().expect("an object");
    object.retain(|name, _| matches!(name.as_str(), "state" | "session_seq" | "last_seq"));
    let bare: SessionRecord = serde_json::from_value(value).expect("read");
    assert_eq!(bare.state, record.state);
}
