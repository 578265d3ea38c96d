//! JSON Schema of the wire form, generated from the types.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

use super::body::Body;
use super::envelope::{Origin, Scope};
use super::wire::VERSION;
use crate::id::{EventId, SessionKey};

/// The schema of one event: an envelope, and for each known kind the shape of its `data`.
pub fn event_schema() -> Value {
    let mut generator = SchemaGenerator::default();
    let kinds: Vec<Value> = Body::schemas(&mut generator)
        .into_iter()
        .map(|(kind, data)| {
            json!({
                "if": { "properties": { "kind": { "const": kind } } },
                "then": { "properties": { "data": data } }
            })
        })
        .collect();
    let known: Vec<&str> = Body::KINDS.to_vec();
    let property = |schema: schemars::Schema| schema.to_value();
    let session = property(generator.subschema_for::<SessionKey>());
    let origin = property(generator.subschema_for::<Origin>());
    let scope = property(Scope::json_schema(&mut generator));
    let id = property(EventId::json_schema(&mut generator));
    let time = json!({ "type": "string", "format": "date-time" });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "linelamp event",
        "description": "Readers skip kinds and fields they do not know. Within one `v` kinds and fields are only added.",
        "type": "object",
        "required": ["v", "id", "seq", "session", "session_seq", "at", "observed_at", "origin", "scope", "kind", "data"],
        "properties": {
            "v": { "const": VERSION },
            "id": id,
            "seq": { "type": "integer", "minimum": 0 },
            "session": session,
            "session_seq": { "type": "integer", "minimum": 0 },
            "at": time,
            "observed_at": time,
            "origin": origin,
            "scope": scope,
            "kind": { "type": "string", "examples": known },
            "data": { "type": "object" }
        },
        "allOf": kinds,
        "$defs": generator.take_definitions(true)
    })
}
