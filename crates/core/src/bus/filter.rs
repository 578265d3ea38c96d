//! Which events somebody wants, as plain data.
//!
//! A lane asks before its mailbox, a store before it queues for a durable sink: both get the same
//! answer. What a filter turns away is counted, never told as a gap.

use serde::{Deserialize, Serialize};

use crate::event::{Body, Event, Status};
use crate::id::{AgentName, SessionKey};

/// Which events pass. An empty list asks for nothing in particular: everything passes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// Kinds, with `*` for any run of characters: `turn.*`. A pattern after `!` takes away again; if only
    /// such are given, all other kinds pass.
    pub kinds: Vec<String>,
    /// Agents, by name or pattern.
    pub agents: Vec<String>,
    /// Sessions: the native id or `AGENT:ID`, or a pattern of either.
    pub sessions: Vec<String>,
    /// States: a `status.changed` passes if it leads into one of these, a `bus.snapshot` if it shows one of
    /// these. Other kinds are not asked.
    pub states: Vec<State>,
}

/// A state in a filter: the word of a [`Status`]. A word that is none is an error, not a guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct State(pub Status);

impl TryFrom<String> for State {
    type Error = String;

    fn try_from(word: String) -> Result<Self, Self::Error> {
        match Status::from_word(&word) {
            Status::Unknown => Err(format!("`{word}` is no state")),
            status => Ok(Self(status)),
        }
    }
}

impl From<State> for String {
    fn from(state: State) -> Self {
        state.0.as_str().to_owned()
    }
}

impl Filter {
    /// A filter that everything passes.
    pub fn all() -> Self {
        Self::default()
    }

    /// A filter on kinds only.
    pub fn kinds<S: Into<String>>(patterns: impl IntoIterator<Item = S>) -> Self {
        Self { kinds: patterns.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Whether the event passes. What the bus tells one sink about its own gap (`bus.gap`, and
    /// `bus.snapshot` of wanted sessions) passes whatever `kinds` says.
    pub fn passes(&self, event: &Event) -> bool {
        match &event.body {
            Body::BusGap(_) => true,
            Body::BusSnapshot(data) => {
                self.wants_session(&event.session) && self.wants_state(data.state.status)
            }
            Body::StatusChanged(data) => {
                self.wants_kind("status.changed")
                    && self.wants_state(data.to)
                    && self.wants_session(&event.session)
            }
            body => self.wants_kind(body.kind()) && self.wants_session(&event.session),
        }
    }

    /// Whether events of this kind pass.
    pub fn wants_kind(&self, kind: &str) -> bool {
        if self.kinds.is_empty() {
            return true;
        }
        let mut asked = false;
        let mut wanted = false;
        for pattern in &self.kinds {
            if let Some(pattern) = pattern.strip_prefix('!') {
                if matches(pattern, kind) {
                    return false;
                }
            } else {
                asked = true;
                wanted = wanted || matches(pattern, kind);
            }
        }
        wanted || !asked
    }

    /// Whether events of this session pass.
    pub fn wants_session(&self, session: &SessionKey) -> bool {
        self.wants_agent(&session.agent)
            && (self.sessions.is_empty()
                || self.sessions.iter().any(|pattern| match pattern.split_once(':') {
                    Some((agent, id)) => {
                        matches(agent, session.agent.as_str()) && matches(id, session.id.as_str())
                    }
                    None => matches(pattern, session.id.as_str()),
                }))
    }

    fn wants_agent(&self, agent: &AgentName) -> bool {
        any(&self.agents, agent.as_str())
    }

    fn wants_state(&self, status: Status) -> bool {
        self.states.is_empty() || self.states.contains(&State(status))
    }
}

fn any(patterns: &[String], text: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| matches(pattern, text))
}

/// Matches `text` with a pattern in which `*` stands for any run of characters.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let mut pieces = rest.split('*').peekable();
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return text.ends_with(piece);
        }
        match text.split_once(piece) {
            Some((_, after)) => text = after,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ended, kind_of, session, status};
    use super::*;

    #[test]
    fn a_star_stands_for_any_run_of_characters() {
        for (pattern, text, expected) in [
            ("turn.*", "turn.started", true),
            ("turn.*", "turns", false),
            ("*.ended", "turn.ended", true),
            ("*.ended", "turn.ended.x", false),
            ("*", "", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("ab*ba", "aba", false),
            ("a**a", "aa", true),
            ("exact", "exact", true),
            ("exact", "exactly", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn an_exclusion_counts_whatever_else_is_asked() {
        let filter = Filter::kinds(["turn.*", "!turn.started"]);
        assert!(filter.wants_kind("turn.ended"));
        assert!(!filter.wants_kind("turn.started"));
        assert!(!filter.wants_kind("tool.ended"));
        assert!(Filter::kinds(["!notice"]).wants_kind("tool.ended"));
    }

    #[test]
    fn states_are_asked_of_status_changes_only() {
        let filter = Filter { states: vec![State(Status::Idle)], ..Filter::default() };
        assert!(filter.passes(&status(1, "a", Status::Idle)));
        assert!(!filter.passes(&status(1, "a", Status::Working)));
        assert!(filter.passes(&ended(1, "a")));
    }

    #[test]
    fn sessions_are_named_with_or_without_their_agent() {
        let wants = |pattern: &str| {
            Filter { sessions: vec![pattern.to_owned()], ..Filter::default() }
                .wants_session(&session("abc"))
        };
        assert!(wants("abc") && wants("test:abc") && wants("*:a*") && wants("ab*"));
        assert!(!wants("other:abc") && !wants("b*"));
    }

    #[test]
    fn a_filter_is_read_from_plain_data_and_refuses_what_it_does_not_know() {
        let filter: Filter =
            serde_json::from_str(r#"{"kinds":["status.changed"],"states":["idle"]}"#)
                .expect("a filter");
        assert!(filter.passes(&status(1, "a", Status::Idle)));
        assert!(!filter.passes(&ended(1, "a")), "{}", kind_of(&ended(1, "a")));
        assert!(serde_json::from_str::<Filter>(r#"{"states":["asleep"]}"#).is_err());
        assert!(serde_json::from_str::<Filter>(r#"{"kind":["x"]}"#).is_err());
    }
}
