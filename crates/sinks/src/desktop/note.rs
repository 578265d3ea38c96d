//! What a notification says.

use linelamp_core::SessionKey;
use linelamp_core::event::{ErrorKind, TurnOutcome, WaitingFor};
use linelamp_core::id::ToolName;

/// Names longer than this are cut: the desktop would cut them less kindly.
const LONGEST_NAME: usize = 60;

/// What there is to act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Topic {
    WaitingForPermission,
    WaitingForInput,
    Done,
    Failed,
}

impl Topic {
    pub(super) const WORDS: &'static [&'static str] =
        &["waiting_for_permission", "waiting_for_input", "done", "failed"];

    pub(super) fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "waiting_for_permission" => Self::WaitingForPermission,
            "waiting_for_input" => Self::WaitingForInput,
            "done" => Self::Done,
            "failed" => Self::Failed,
            _ => return None,
        })
    }

    /// True for what goes away once somebody has acted.
    pub(super) fn waits(self) -> bool {
        matches!(self, Self::WaitingForPermission | Self::WaitingForInput)
    }
}

/// One notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) topic: Topic,
    pub(super) title: String,
    /// Plain text; whoever shows it escapes it as the desktop needs.
    pub(super) text: String,
}

impl Note {
    pub(super) fn new(
        topic: Topic,
        session: &SessionKey,
        folder: Option<&str>,
        text: String,
    ) -> Self {
        let agent = clean(session.agent.as_str());
        let title = match folder {
            Some(folder) => format!("{agent}: {}", clean(folder)),
            None => agent,
        };
        Self { topic, title, text }
    }
}

pub(super) fn waiting(waiting_for: Option<WaitingFor>, tool: Option<&ToolName>) -> String {
    match (waiting_for.unwrap_or(WaitingFor::Permission), tool) {
        (WaitingFor::Permission, Some(tool)) => {
            format!("waits for permission: {}", clean(tool.as_str()))
        }
        (WaitingFor::Permission, None) => "waits for permission".to_owned(),
        (WaitingFor::Question, _) => "asks a question".to_owned(),
        (WaitingFor::Plan, _) => "waits for approval of its plan".to_owned(),
        (WaitingFor::Elicitation, _) => "waits for an answer to a tool server".to_owned(),
    }
}

/// The end of a turn, if it is worth telling. What a human stopped is known to that human.
pub(super) fn ended(outcome: TurnOutcome, error: Option<ErrorKind>) -> Option<(Topic, String)> {
    let text = match outcome {
        TurnOutcome::Completed => return Some((Topic::Done, "is done".to_owned())),
        TurnOutcome::Interrupted | TurnOutcome::Lost => return None,
        TurnOutcome::Failed => match error {
            Some(error) => return Some((Topic::Failed, format!("failed: {}", words(error)))),
            None => "failed",
        },
        TurnOutcome::MaxTurns => "stopped at its limit of rounds",
        TurnOutcome::MaxBudget => "stopped at its limit of cost",
        TurnOutcome::Refused => "stopped: the model declined",
        TurnOutcome::Blocked => "stopped: a hook blocked the prompt",
        TurnOutcome::HookStopped => "was stopped by a hook",
    };
    Some((Topic::Failed, text.to_owned()))
}

fn words(error: ErrorKind) -> String {
    error.as_str().replace('_', " ")
}

/// The last part of a path of any system.
pub(super) fn folder_name(path: &str) -> Option<&str> {
    path.rsplit(['/', '\\']).find(|part| !part.is_empty())
}

/// One line of printable text of bearable length.
fn clean(name: &str) -> String {
    let mut text: String = name
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .take(LONGEST_NAME)
        .collect();
    if name.chars().nth(LONGEST_NAME).is_some() {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_short_line_whatever_they_are() {
        let session = SessionKey::new("claude-code", "1");
        let title =
            |folder: &str| Note::new(Topic::Done, &session, Some(folder), String::new()).title;
        assert_eq!(title("app"), "claude-code: app");
        assert_eq!(title("a\nb\u{7}"), "claude-code: a b ");
        assert_eq!(title(&"x".repeat(200)).chars().count(), "claude-code: ".len() + 61);
        assert_eq!(folder_name("/home/u/app/"), Some("app"));
        assert_eq!(folder_name(r"C:\work\app"), Some("app"));
        assert_eq!(folder_name("/"), None);
    }

    #[test]
    fn every_word_of_the_option_is_a_topic() {
        for word in Topic::WORDS {
            assert!(Topic::from_word(word).is_some(), "{word}");
        }
    }
}
