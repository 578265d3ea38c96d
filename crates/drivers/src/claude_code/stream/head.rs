//! The top level of a line, read in one walk.

use crate::json::{Raw, walk};

/// The members most lines are judged by; everything else is looked up when it is needed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Head<'a> {
    pub(super) kind: Option<Raw<'a>>,
    pub(super) subtype: Option<Raw<'a>>,
    pub(super) session: Option<Raw<'a>>,
    pub(super) parent: Option<Raw<'a>>,
    pub(super) agent: Option<Raw<'a>>,
    pub(super) uuid: Option<Raw<'a>>,
    pub(super) message: Option<Raw<'a>>,
    /// The body of a `stream_event`, `control_request` or `control_response`.
    pub(super) body: Option<Raw<'a>>,
    pub(super) request: Option<Raw<'a>>,
    pub(super) error: Option<Raw<'a>>,
    pub(super) aborted: Option<Raw<'a>>,
    pub(super) supersedes: Option<Raw<'a>>,
    pub(super) context: Option<Raw<'a>>,
    pub(super) structured: Option<Raw<'a>>,
    pub(super) meta: Option<Raw<'a>>,
    /// The whole object.
    pub(super) object: Option<Raw<'a>>,
}

impl<'a> Head<'a> {
    /// Reads the object that `bytes` start with; returns what is glued behind it. `None` if there
    /// is no object.
    pub(super) fn read(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let mut head = Self::default();
        let rest = walk(bytes, |key, value| {
            let slot = match key {
                b"type" => &mut head.kind,
                b"subtype" => &mut head.subtype,
                b"session_id" => &mut head.session,
                b"parent_tool_use_id" => &mut head.parent,
                b"agent_id" => &mut head.agent,
                b"uuid" => &mut head.uuid,
                b"message" => &mut head.message,
                b"event" | b"request" | b"response" => &mut head.body,
                b"request_id" => &mut head.request,
                b"error" => &mut head.error,
                b"aborted" => &mut head.aborted,
                b"supersedes" => &mut head.supersedes,
                b"context_usage" => &mut head.context,
                b"tool_use_result" => &mut head.structured,
                b"tool_result_meta" => &mut head.meta,
                _ => return,
            };
            *slot = Some(value);
        })?;
        let whole = bytes.get(..bytes.len() - rest.len())?;
        head.object = Some(Raw::whole(whole.trim_ascii()));
        Some((head, rest))
    }

    /// Members of the line beyond the usual ones.
    pub(super) fn fields<const N: usize>(&self, keys: &[&str; N]) -> [Option<Raw<'a>>; N] {
        self.object.and_then(|object| object.fields(keys)).unwrap_or([None; N])
    }

    /// The type's bytes; empty if there is none.
    pub(super) fn kind(&self) -> &'a [u8] {
        self.kind.and_then(Raw::quoted).unwrap_or_default()
    }

    /// The subtype's bytes; empty if there is none.
    pub(super) fn subtype(&self) -> &'a [u8] {
        self.subtype.and_then(Raw::quoted).unwrap_or_default()
    }
}
