//! Content is private: at the metadata level nothing of it is left, in any kind.

use std::sync::Arc;

use linelamp_core::detail::Detail;
use linelamp_core::event::{Body, Event};
use serde_json::{Value, json};

use crate::sample::{self, MARKER};

/// Every place in a JSON value that holds content: an object with a size and a value.
fn contents(value: &Value) -> usize {
    match value {
        Value::Object(fields) if fields.contains_key("size") => 1,
        Value::Object(fields) => fields.values().map(contents).sum(),
        Value::Array(items) => items.iter().map(contents).sum(),
        _ => 0,
    }
}

#[test]
fn metadata_holds_no_content_of_any_kind() {
    for kind in Body::KINDS {
        let event = Arc::new(sample::event(kind));
        let bare = Detail::Metadata.apply(&event).to_json();
        assert!(!bare.contains(MARKER), "{kind}: {bare}");
        let expected = contents(&sample::data(kind));
        let sizes = contents(&serde_json::from_str::<Value>(&bare).expect("json")["data"]);
        assert_eq!(sizes, expected, "{kind}: sizes stay");
    }
}

#[test]
fn metadata_loses_nothing_else() {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) if fields.contains_key("size") => {
                fields.remove("value");
            }
            Value::Object(fields) => fields.values_mut().for_each(strip),
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    for kind in Body::KINDS {
        let event = Arc::new(sample::event(kind));
        let bare = Detail::Metadata.apply(&event).to_json();
        let mut expected = sample::envelope(kind, &sample::data(kind));
        strip(&mut expected["data"]);
        assert_eq!(serde_json::from_str::<Value>(&bare).expect("json"), expected, "{kind}");
    }
}

#[test]
fn nothing_of_an_unknown_kind_is_taken_for_metadata() {
    let json = sample::envelope("of.tomorrow", &json!({ "text": MARKER }));
    let event = Arc::new(Event::from_json(&json.to_string()).expect("readable"));
    assert!(!Detail::Metadata.apply(&event).to_json().contains(MARKER));
}

#[test]
fn the_content_level_shows_everything_and_copies_nothing() {
    for kind in Body::KINDS {
        let event = Arc::new(sample::event(kind));
        assert!(Arc::ptr_eq(&event, &Detail::Content.apply(&event)), "{kind}");
    }
}

#[test]
fn an_event_without_content_is_not_copied() {
    for kind in Body::KINDS {
        let bare = Detail::Metadata.apply(&Arc::new(sample::event(kind)));
        let again = Detail::Metadata.apply(&bare);
        assert_eq!(bare, again, "{kind}");
        assert!(Arc::ptr_eq(&bare, &again), "{kind}: copied for nothing");
    }
}

#[test]
fn content_counts_in_an_events_weight_and_metadata_does_not() {
    for kind in Body::KINDS {
        let full = Arc::new(sample::event(kind));
        let bare = Detail::Metadata.apply(&full);
        let texts = contents(&sample::data(kind));
        let least = bare.weight() + texts * MARKER.len();
        assert!(full.weight() >= least, "{kind}: {} < {least}", full.weight());
    }
}
