//! What is written is read back the same, whatever is set and whatever is not.

use linelamp_core::event::{Body, Event};
use linelamp_core::{Draft, Timestamp};
use proptest::prelude::*;
use serde_json::Value;

use crate::sample;

#[test]
fn every_field_of_every_kind_survives_the_round_trip() {
    for kind in Body::KINDS {
        let json = sample::envelope(kind, &sample::data(kind));
        let event = Event::from_json(&json.to_string()).expect("a sample");
        assert_eq!(event.body.kind(), *kind);
        let written: Value = serde_json::from_str(&event.to_json()).expect("json");
        assert_eq!(written, json, "{kind}: a field is lost or changed");
    }
}

/// The samples name every field there is, so no field goes untested.
#[cfg(feature = "schema")]
#[test]
fn samples_set_every_field_the_schema_has() {
    let schema = linelamp_core::event::schema::event_schema();
    let resolve = |node: &Value| -> Value {
        match node["$ref"].as_str() {
            Some(path) => {
                schema.pointer(path.trim_start_matches('#')).expect("a definition").clone()
            }
            None => node.clone(),
        }
    };
    let cases = schema["allOf"].as_array().expect("one case for each kind");
    assert_eq!(cases.len(), Body::KINDS.len());
    for case in cases {
        let kind = case["if"]["properties"]["kind"]["const"].as_str().expect("a kind");
        let data = resolve(&case["then"]["properties"]["data"]);
        let sample = sample::data(kind);
        for field in data["properties"].as_object().expect("an object").keys() {
            assert!(sample.get(field).is_some(), "{kind}: the sample lacks `{field}`");
        }
    }
}

/// Changes values without changing their types, and takes optional fields away.
fn vary(value: &mut Value, choices: &mut impl Iterator<Item = u32>, text: &str) {
    let choice = choices.next().unwrap_or(0);
    match value {
        Value::Object(fields) => {
            let keys: Vec<String> = fields.keys().cloned().collect();
            for key in keys {
                if let Some(inner) = fields.get_mut(&key) {
                    vary(inner, choices, text);
                }
                if choices.next().unwrap_or(0).is_multiple_of(3) {
                    // May be a required one; then the variant is not readable and is passed over.
                    fields.remove(&key);
                }
            }
        }
        Value::Array(items) => {
            for item in items.iter_mut() {
                vary(item, choices, text);
            }
            if choice.is_multiple_of(4) {
                items.clear();
            } else if choice % 4 == 1 {
                let copy = items.clone();
                items.extend(copy);
            }
        }
        Value::String(word) if choice.is_multiple_of(2) && word == sample::MARKER => {
            text.clone_into(word);
        }
        Value::Number(number) if number.is_u64() && choice.is_multiple_of(2) => {
            *number = u64::from(choice % 500).into();
        }
        _ => {}
    }
}

/// A readable variant of a sample: optional fields taken away one by one while it stays readable.
fn variant(kind: &str, choices: &[u32], text: &str) -> Event {
    let full = sample::data(kind);
    let mut data = full.clone();
    vary(&mut data, &mut choices.iter().copied(), text);
    for (key, value) in full.as_object().expect("an object") {
        let json = sample::envelope(kind, &data);
        if let Ok(event) = Event::from_json(&json.to_string()) {
            return event;
        }
        data[key] = value.clone();
    }
    sample::event(kind)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn every_kind_is_read_back_as_it_was_written(
        choices in proptest::collection::vec(any::<u32>(), 0..80),
        text in ".{0,40}",
    ) {
        for kind in Body::KINDS {
            let event = variant(kind, &choices, &text);
            let read = Event::from_json(&event.to_json());
            prop_assert_eq!(read.expect("its own JSON"), event);
        }
    }

    #[test]
    fn drafts_are_read_back_as_they_were_written(
        choices in proptest::collection::vec(any::<u32>(), 0..80),
        text in ".{0,40}",
        aliases in proptest::collection::vec(".{0,9}", 0..3),
        evidence_only in any::<bool>(),
        running_agents in proptest::option::of(any::<u32>()),
    ) {
        for kind in Body::KINDS {
            let event = variant(kind, &choices, &text);
            let at: Timestamp = event.at;
            let mut draft = Draft::new(event.session.clone(), at, event.body.clone())
                .in_scope(event.scope.clone());
            draft.id = evidence_only.then_some(event.id);
            draft.hints.aliases.clone_from(&aliases);
            draft.hints.evidence_only = evidence_only;
            draft.hints.running_agents = running_agents;
            prop_assert_eq!(Draft::from_json(&draft.to_json()).expect("its own JSON"), draft);
        }
    }
}

#[test]
fn several_events_are_one_line_each() {
    let events = ["notice", "turn.started"].map(|kind| std::sync::Arc::new(sample::event(kind)));
    let text = linelamp_core::event::wire::to_ndjson(&events);
    assert!(text.ends_with('\n'));
    let read: Vec<Event> =
        text.lines().map(|line| Event::from_json(line).expect("a line")).collect();
    assert!(read.iter().eq(events.iter().map(|event| &**event)));
}
