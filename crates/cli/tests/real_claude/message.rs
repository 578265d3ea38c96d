//! Messages of the API as JSON, and the events they are streamed in.

use serde_json::{Value, json};

use crate::answer::{Answer, Block};

/// Characters of text or tool input in one delta.
const DELTA: usize = 24;

/// The content of an answer. `number` makes its tool calls' ids unique.
pub(crate) fn blocks(answer: &Answer, number: u64) -> Vec<Value> {
    let blocks = answer.blocks.iter().enumerate();
    let value = |(index, block): (usize, &Block)| match block {
        Block::Text(text) => json!({"type": "text", "text": text}),
        Block::Thinking(text) => {
            json!({"type": "thinking", "thinking": text, "signature": "c2lnbmVk"})
        }
        Block::Tool { name, input } => json!({"type": "tool_use", "name": name,
            "id": format!("toolu_test{number:06}{index:02}"), "input": input}),
    };
    blocks.map(value).collect()
}

/// The events of a message up to the end of its content.
pub(crate) fn content_events(message: &Value, blocks: &[Value]) -> Vec<Value> {
    let mut events =
        vec![json!({"type": "message_start", "message": message}), json!({"type": "ping"})];
    for (index, block) in blocks.iter().enumerate() {
        let mut start = block.clone();
        let mut deltas = Vec::new();
        let mut delta = |kind: &str, key: &str, whole: &str| {
            let letters: Vec<char> = whole.chars().collect();
            for piece in letters.chunks(DELTA) {
                let mut delta = json!({"type": kind});
                delta[key] = piece.iter().collect::<String>().into();
                deltas.push(delta);
            }
        };
        match block["type"].as_str() {
            Some("text") => {
                delta("text_delta", "text", block["text"].as_str().unwrap_or_default());
                start["text"] = "".into();
            }
            Some("thinking") => {
                let thinking = block["thinking"].as_str().unwrap_or_default();
                delta("thinking_delta", "thinking", thinking);
                let signature = &block["signature"];
                deltas.push(json!({"type": "signature_delta", "signature": signature}));
                start["thinking"] = "".into();
                start["signature"] = "".into();
            }
            _ => {
                delta("input_json_delta", "partial_json", &block["input"].to_string());
                start["input"] = json!({});
            }
        }
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        events.extend(
            deltas.into_iter().map(
                |delta| json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events
}

pub(crate) fn usage(output: u32) -> Value {
    json!({"input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
        "output_tokens": output})
}

/// The text blocks of a message, joined.
pub(crate) fn text_of(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
