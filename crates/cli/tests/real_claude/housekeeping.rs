//! Requests the CLI makes on its own account, beside the conversation: summaries, titles, probes.

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::message::text_of;

/// The answer to such a request; `None` for any other.
pub(crate) fn answer_to(request: &Value) -> Option<Answer> {
    let last = request["messages"].as_array().and_then(|messages| messages.last());
    if last.is_some_and(|message| text_of(message).contains("create a detailed summary")) {
        return Some(Answer::text("<summary>The conversation so far was a test.</summary>"));
    }
    let format = &request["output_config"]["format"];
    let has_tools = request["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    if format["type"] == "json_schema" && !has_tools {
        return Some(Answer::text(&smallest(&format["schema"]).to_string()));
    }
    (request["max_tokens"] == 1).then(|| Answer::text("x"))
}

/// A smallest value that fits a JSON schema of the simple kind the CLI uses.
fn smallest(schema: &Value) -> Value {
    if let Some(value) = schema["enum"].get(0) {
        return value.clone();
    }
    match schema["type"].as_str() {
        Some("object") => schema["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, schema)| (name.clone(), smallest(schema)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Some("array") => json!([]),
        Some("boolean") => json!(false),
        Some("integer" | "number") => json!(0),
        Some("null") => Value::Null,
        _ => json!("A title"),
    }
}
