//! Readers of any age get along with writers of any age.

use linelamp_core::event::wire::WireError;
use linelamp_core::event::{Body, Event, Status};
use serde_json::json;

use crate::sample;

#[test]
fn an_unknown_kind_is_kept_verbatim() {
    let data = json!({ "anything": [1, { "deep": null }], "big": 18_446_744_073_709_551_615_u64 });
    let json = sample::envelope("of.tomorrow", &data);
    let event = Event::from_json(&json.to_string()).expect("readable");
    assert_eq!(event.body, Body::Unknown { kind: "of.tomorrow".to_owned(), data });
    let written: serde_json::Value = serde_json::from_str(&event.to_json()).expect("json");
    assert_eq!(written, json);
}

#[test]
fn unknown_fields_are_skipped_in_every_kind_and_in_the_envelope() {
    for kind in Body::KINDS {
        let mut json = sample::envelope(kind, &sample::data(kind));
        let expected = sample::event(kind);
        json["of_tomorrow"] = json!({ "x": 1 });
        json["origin"]["of_tomorrow"] = json!(true);
        json["session"]["of_tomorrow"] = json!([]);
        json["data"]["of_tomorrow"] = json!({ "y": [2] });
        assert_eq!(Event::from_json(&json.to_string()).expect("readable"), expected, "{kind}");
    }
}

#[test]
fn an_unknown_word_never_costs_the_event() {
    let mut data = sample::data("status.changed");
    data["to"] = json!("dreaming");
    let json = sample::envelope("status.changed", &data);
    let event = Event::from_json(&json.to_string()).expect("readable");
    let Body::StatusChanged(changed) = event.body else { panic!("{:?}", event.body) };
    assert_eq!(changed.to, Status::Unknown);
}

#[test]
fn a_newer_version_is_refused_by_name() {
    let mut json = sample::envelope("notice", &sample::data("notice"));
    json["v"] = json!(2);
    assert!(matches!(Event::from_json(&json.to_string()), Err(WireError::Version(2))));
}

#[test]
fn what_is_no_event_is_an_error_and_no_panic() {
    let whole = sample::envelope("notice", &sample::data("notice")).to_string();
    for end in 0..whole.len() {
        let cut = whole.get(..end).expect("ASCII");
        assert!(matches!(Event::from_json(cut), Err(WireError::Json(_))), "{cut}");
    }
    for text in ["null", "[]", "3", "\"\"", "{}", r#"{"v":"1"}"#] {
        assert!(Event::from_json(text).is_err(), "{text}");
    }
}

#[test]
fn the_order_of_keys_is_no_matter() {
    let json = sample::envelope("notice", &sample::data("notice"));
    let fields: Vec<String> = json
        .as_object()
        .expect("an object")
        .iter()
        .rev()
        .map(|(key, value)| format!("{}:{value}", json!(key)))
        .collect();
    let text = format!("{{{}}}", fields.join(","));
    assert_eq!(Event::from_json(&text).expect("readable"), sample::event("notice"));
}
