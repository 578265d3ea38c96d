//! What of ours stands in settings, compared with what should.

use super::command::is_ours;
use super::edit::command_of;
use super::error::SettingsError;
use super::tree::{Kind, Node, decode, first_extension, parse, position};

/// What of ours stands in settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Events with exactly one hook of ours that runs the wanted command.
    pub current: Vec<String>,
    /// Wanted events that have no hook of ours.
    pub missing: Vec<String>,
    /// Hooks of ours that should not stand there: another command, another event, or one too many. The
    /// event and the command.
    pub outdated: Vec<(String, String)>,
    /// How many hooks belong to others.
    pub others: usize,
    /// True if the settings switch all hooks off (`disableAllHooks`).
    pub disabled: bool,
    /// Line and column of the first comment, or comma before a closing bracket. Claude Code reads strict JSON
    /// and ignores a file with one, whatever hooks stand in it.
    pub unread: Option<(usize, usize)>,
}

impl Status {
    /// True if an installation would change nothing.
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty() && self.outdated.is_empty()
    }

    /// True if there is any hook of ours.
    pub fn is_installed(&self) -> bool {
        !self.current.is_empty() || !self.outdated.is_empty()
    }
}

/// Compares `text` with an installation of `command` for `events`.
///
/// # Errors
///
/// If the text is no JSON.
pub fn status(text: &str, command: &str, events: &[&str]) -> Result<Status, SettingsError> {
    let status = of_root(text, parse(text)?.as_ref(), command, events);
    Ok(Status { unread: first_extension(text), ..status })
}

/// As [`status`], for a text that is parsed already; whether Claude Code can read it is left open.
pub(super) fn of_root(text: &str, root: Option<&Node>, command: &str, events: &[&str]) -> Status {
    let mut status = Status::default();
    let hooks = root.into_iter().flat_map(|root| root.members(text, "hooks"));
    for member in hooks {
        let Kind::Object(lists) = &member.value.kind else {
            continue;
        };
        for list in lists {
            let Some(event) = decode(text, &list.key) else {
                continue;
            };
            for found in commands(text, &list.value) {
                match found {
                    Some(found) if is_ours(&found) => {
                        let known = events.contains(&event.as_str()) && found == command;
                        if known && !status.current.contains(&event) {
                            status.current.push(event.clone());
                        } else {
                            status.outdated.push((event.clone(), found));
                        }
                    }
                    Some(_) | None => status.others += 1,
                }
            }
        }
    }
    status.missing = events
        .iter()
        .filter(|event| status.current.iter().all(|current| current != *event))
        .map(|event| (*event).to_owned())
        .collect();
    let switch = root.and_then(|root| root.get(text, "disableAllHooks"));
    status.disabled = switch.is_some_and(|switch| switch.kind == Kind::True);
    status
}

/// The commands of all hooks in an event's list; none for a hook that runs no command.
fn commands(text: &str, list: &Node) -> Vec<Option<String>> {
    let Kind::Array(groups) = &list.kind else {
        return Vec::new();
    };
    groups
        .iter()
        .flat_map(|group| group.members(text, "hooks"))
        .filter_map(|member| match &member.value.kind {
            Kind::Array(hooks) => Some(hooks),
            _ => None,
        })
        .flatten()
        .map(|hook| command_of(text, hook))
        .collect()
}

/// The error that says that a value has the wrong type.
pub(super) fn type_error(
    text: &str,
    node: &Node,
    key: &str,
    expected: &'static str,
) -> SettingsError {
    let (line, column) = position(text, node.span.start);
    SettingsError::Type { line, column, key: key.to_owned(), found: node.describe(), expected }
}
