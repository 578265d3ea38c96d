//! The members that most payloads share.

use linelamp_core::event::Scope;
use linelamp_core::id::ScopeId;

use crate::json::{Raw, walk};

/// One payload's shared members.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Payload<'a> {
    pub(super) event: Option<Raw<'a>>,
    pub(super) session: Option<Raw<'a>>,
    pub(super) cwd: Option<Raw<'a>>,
    pub(super) prompt: Option<Raw<'a>>,
    pub(super) mode: Option<Raw<'a>>,
    pub(super) agent: Option<Raw<'a>>,
    pub(super) agent_type: Option<Raw<'a>>,
    pub(super) tool: Option<Raw<'a>>,
    pub(super) input: Option<Raw<'a>>,
    pub(super) call: Option<Raw<'a>>,
    object: Option<Raw<'a>>,
}

impl<'a> Payload<'a> {
    /// Reads one object and nothing behind it.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut payload = Self { object: Some(Raw::whole(bytes.trim_ascii())), ..Self::default() };
        let rest = walk(bytes, |key, value| {
            let slot = match key {
                b"hook_event_name" => &mut payload.event,
                b"session_id" => &mut payload.session,
                b"cwd" => &mut payload.cwd,
                b"prompt_id" => &mut payload.prompt,
                b"permission_mode" => &mut payload.mode,
                b"agent_id" => &mut payload.agent,
                b"agent_type" => &mut payload.agent_type,
                b"tool_name" => &mut payload.tool,
                b"tool_input" => &mut payload.input,
                b"tool_use_id" => &mut payload.call,
                _ => return,
            };
            *slot = Some(value);
        })?;
        rest.is_empty().then_some(payload)
    }

    /// Members of one kind of event.
    pub(super) fn fields<const N: usize>(&self, keys: &[&str; N]) -> [Option<Raw<'a>>; N] {
        self.object.and_then(|object| object.fields(keys)).unwrap_or([None; N])
    }

    /// The whole payload.
    pub(super) fn object(&self) -> Option<Raw<'a>> {
        self.object
    }

    /// Whose it is. Only `agent_id` makes a subagent: a main agent started with a role has an
    /// `agent_type` too, and a path never says who spoke.
    pub(super) fn scope(&self) -> Scope {
        match self.agent.and_then(Raw::id) {
            Some(agent) => Scope::Child(ScopeId::new(&*agent)),
            None => Scope::Main,
        }
    }

    /// The hidden agent that writes a compaction's summary: an id, but no type.
    pub(super) fn is_hidden(&self) -> bool {
        self.agent.and_then(Raw::id).is_some() && self.agent_type.and_then(Raw::id).is_none()
    }
}
