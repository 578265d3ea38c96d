//! Content: the private part of an event.
//!
//! Prompts, replies, thinking, tool input and output, request texts, titles, model error texts and
//! summaries are content. Every such field has the type [`Content`], so that taking content away is a
//! matter of types and cannot be forgotten for one field.

use serde::{Deserialize, Serialize};

/// A private value with its size. At the metadata level only the size is left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Content<T = String> {
    /// Bytes of the text, or of the value's JSON.
    pub size: u64,
    /// The value itself; absent where content was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<T>,
}

impl<T> Content<T> {
    /// A value that was there but is not told; `size` in bytes.
    pub fn withheld(size: usize) -> Self {
        Self { size: size as u64, value: None }
    }
}

impl Content<String> {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { size: text.len() as u64, value: Some(text) }
    }
}

impl Content<serde_json::Value> {
    /// A JSON value; its size is that of its compact JSON.
    pub fn json(value: serde_json::Value) -> Self {
        let mut counter = Counter(0);
        // Writing into a counter cannot fail; a value that cannot be written has no size.
        let size = match serde_json::to_writer(&mut counter, &value) {
            Ok(()) => counter.0,
            Err(_) => 0,
        };
        Self { size, value: Some(value) }
    }
}

struct Counter(u64);

impl std::io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What can lose its content and keep its metadata.
pub trait Redact {
    /// Removes every content value, keeping sizes.
    fn redact(&mut self);
}

impl<T> Redact for Content<T> {
    fn redact(&mut self) {
        self.value = None;
    }
}

impl<T: Redact> Redact for Option<T> {
    fn redact(&mut self) {
        if let Some(inner) = self {
            inner.redact();
        }
    }
}

impl<T: Redact> Redact for Vec<T> {
    fn redact(&mut self) {
        self.iter_mut().for_each(Redact::redact);
    }
}
