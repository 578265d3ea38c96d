//! Content as the reading asks for it: whole, or its size only.

use linelamp_core::driver::Reading;
use linelamp_core::event::{BlockKind, Content, Part};
use serde_json::Value;

use crate::json::Raw;

/// Makes contents; in the state reading nothing of a text is ever copied.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Private(Reading);

impl Private {
    pub(crate) fn new(reading: Reading) -> Self {
        Self(reading)
    }

    pub(crate) fn is_full(self) -> bool {
        self.0 == Reading::Full
    }

    /// A text; what is no string is taken as its JSON. Absent for null and where nothing is said.
    pub(crate) fn text(self, raw: Option<Raw<'_>>) -> Option<Content> {
        let raw = raw.filter(|raw| !raw.is_null() && raw.quoted() != Some(b""))?;
        Some(self.text_of(raw))
    }

    /// A text that is there.
    pub(crate) fn text_of(self, raw: Raw<'_>) -> Content {
        match (raw.quoted(), self.is_full()) {
            (Some(inner), false) => Content::withheld(inner.len()),
            (None, false) => Content::withheld(raw.bytes().len()),
            (Some(_), true) => Content::text(raw.str().unwrap_or_default()),
            (None, true) => Content::text(String::from_utf8_lossy(raw.bytes())),
        }
    }

    /// A text made here out of content.
    pub(crate) fn made(self, text: String) -> Content {
        if self.is_full() { Content::text(text) } else { Content::withheld(text.len()) }
    }

    /// A tree. Absent for null.
    pub(crate) fn json(self, raw: Option<Raw<'_>>) -> Option<Content<Value>> {
        let raw = raw.filter(|raw| !raw.is_null())?;
        Some(if self.is_full() {
            Content::json(raw.value())
        } else {
            Content::withheld(raw.bytes().len())
        })
    }

    /// The parts of a message's or tool result's content: a string, or an array of blocks.
    pub(crate) fn parts(self, content: Option<Raw<'_>>) -> Vec<Part> {
        match content {
            Some(raw) if raw.is_array() => raw.elements().map(|block| self.part(block)).collect(),
            Some(raw) if !raw.is_null() => {
                vec![Part { kind: BlockKind::Text, media_type: None, data: self.text_of(raw) }]
            }
            _ => Vec::new(),
        }
    }

    /// One block as a part. What is no known block keeps its JSON.
    pub(crate) fn part(self, block: Raw<'_>) -> Part {
        let [kind, text, thinking, source] =
            block.fields(&["type", "text", "thinking", "source"]).unwrap_or_default();
        let kind = kind.and_then(Raw::quoted).unwrap_or_default();
        let (kind, data) = match (kind, text, thinking) {
            (b"text", Some(text), _) => (BlockKind::Text, text),
            (b"thinking", _, Some(thinking)) => (BlockKind::Thought, thinking),
            (b"image", ..) if source.is_some() => (BlockKind::Image, block),
            (b"document", ..) if source.is_some() => (BlockKind::Document, block),
            _ => (BlockKind::Other, block),
        };
        if matches!(kind, BlockKind::Image | BlockKind::Document) {
            let [media, data, url] = source
                .and_then(|source| source.fields(&["media_type", "data", "url"]))
                .unwrap_or_default();
            return Part {
                kind,
                media_type: media.and_then(Raw::str).map(Into::into),
                data: self.text_of(data.or(url).unwrap_or(block)),
            };
        }
        Part { kind, media_type: None, data: self.text_of(data) }
    }
}
