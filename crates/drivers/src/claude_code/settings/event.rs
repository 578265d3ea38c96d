//! The hook events Claude Code knows, and which of them are worth a hook.
//!
//! An event name that the installed version does not know makes an interactive start stop at a warning
//! dialog, so the choice depends on the version. A hook costs a process per event, so an event that says
//! nothing which another one does not say is left out; the reason stands in the table.

/// One event and what is done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookEvent {
    /// Its name in the settings.
    pub name: &'static str,
    /// Which versions know it.
    since: Since,
    /// Whether it gets a hook.
    pub choice: Choice,
}

/// Whether an event gets a hook, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// It gets one; the text says what for.
    Hook(&'static str),
    /// It gets none; the text says why.
    Skip(&'static str),
    /// A hook there would change what the agent does; the text says how.
    Never(&'static str),
}

/// From which version on an event is written into settings. Only lists that were seen count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Since {
    /// One of the events of the first hook documentation, taken to be there in every version in use.
    Early,
    /// Seen in 2.1.197.
    V2_1_197,
    /// Seen in 2.1.332, absent from 2.1.197.
    V2_1_332,
}

use Choice::{Hook, Never, Skip};
use Since::{Early, V2_1_197, V2_1_332};

const fn event(name: &'static str, since: Since, choice: Choice) -> HookEvent {
    HookEvent { name, since, choice }
}

/// Every event of the versions looked at, in the order in which settings get them.
pub const KNOWN_EVENTS: &[HookEvent] = &[
    event("SessionStart", Early, Hook("a session exists; its source, folder and process")),
    event("UserPromptSubmit", Early, Hook("a turn starts")),
    event("PreToolUse", Early, Hook("a tool starts; gives permission requests their call id")),
    event("PermissionRequest", V2_1_197, Hook("somebody is asked: the only prompt sign of a wait")),
    event("PermissionDenied", V2_1_197, Hook("a call was refused by auto mode")),
    event("PostToolUse", Early, Hook("a tool ended; closes its permission request")),
    event("PostToolUseFailure", V2_1_197, Hook("a tool failed; closes its permission request")),
    event("PostToolBatch", V2_1_197, Hook("the only trace of calls refused before they started")),
    event("Notification", Early, Hook("confirms waits; the only sign of some dialogs")),
    event("Elicitation", V2_1_197, Hook("a tool server asks the user")),
    event("ElicitationResult", V2_1_197, Hook("the tool server got its answer")),
    event("Stop", Early, Hook("a turn ended; what still runs in the background")),
    event("StopFailure", V2_1_197, Hook("a turn ended because the API failed")),
    event("SubagentStart", V2_1_197, Hook("a subagent started")),
    event("SubagentStop", Early, Hook("a subagent ended; closes its requests")),
    event("PreCompact", Early, Hook("compaction started")),
    event("PostCompact", V2_1_197, Hook("compaction ended")),
    event("PostModelSwitch", V2_1_332, Hook("the session's model changed")),
    event("CwdChanged", V2_1_197, Hook("the session's folder changed")),
    event("SessionEnd", Early, Hook("the session ended, and why")),
    event(
        "UserPromptExpansion",
        V2_1_197,
        Skip("follows UserPromptSubmit and says the same prompt"),
    ),
    event("PreModelSwitch", V2_1_332, Skip("PostModelSwitch says what came of it")),
    event("MessageDisplay", V2_1_197, Skip("one process for each batch of lines on the screen")),
    event(
        "FileChanged",
        V2_1_197,
        Skip("needs a list of file names, and says nothing of the session"),
    ),
    event(
        "InstructionsLoaded",
        V2_1_197,
        Skip("one process per instruction file, nothing of state"),
    ),
    event("ConfigChange", V2_1_197, Skip("about settings files, not about the session")),
    event("DirectoryAdded", V2_1_332, Skip("about access to folders, nothing of state")),
    event(
        "PreSkillShellCommand",
        V2_1_332,
        Skip("a gate inside a prompt that is under way already"),
    ),
    event("Setup", V2_1_197, Skip("a maintenance run outside of any conversation")),
    event("TaskCreated", V2_1_197, Skip("about to-do lists; background tasks come with Stop")),
    event("TaskCompleted", V2_1_197, Skip("about to-do lists; background tasks come with Stop")),
    event("TeammateIdle", V2_1_197, Skip("a teammate is a session of its own and ends with Stop")),
    event("WorktreeRemove", V2_1_197, Skip("may take the place of the agent's own removal")),
    event(
        "WorktreeCreate",
        V2_1_197,
        Never("a hook there replaces the agent's own worktree creation"),
    ),
];

/// The events to hook for the version that `claude --version` printed, e.g. `2.1.332 (Claude Code)`.
///
/// A version between two that were looked at counts as the older one, a newer one as the newest. A
/// version that cannot be read gets what all versions looked at have in common.
pub fn wanted(version: Option<&str>) -> Vec<&'static str> {
    let known = known_to(version);
    KNOWN_EVENTS
        .iter()
        .filter(|event| event.since <= known && matches!(event.choice, Hook(_)))
        .map(|event| event.name)
        .collect()
}

/// True if `text` begins with a version that [`wanted`] can read: three numbers, as in `2.1.332`.
pub fn is_version(text: &str) -> bool {
    parse(text).is_some()
}

/// Why `name` must never be hooked, if so.
pub(super) fn forbidden(name: &str) -> Option<&'static str> {
    KNOWN_EVENTS.iter().filter(|event| event.name == name).find_map(|event| match event.choice {
        Never(reason) => Some(reason),
        Hook(_) | Skip(_) => None,
    })
}

fn known_to(version: Option<&str>) -> Since {
    match version.and_then(parse) {
        Some(version) if version >= [2, 1, 332] => V2_1_332,
        Some(version) if version < [2, 1, 197] => Early,
        Some(_) | None => V2_1_197,
    }
}

/// The first three numbers of a version text.
fn parse(text: &str) -> Option<[u32; 3]> {
    let word = text.split_whitespace().next()?.trim_start_matches('v');
    let release = word.split(['-', '+']).next()?;
    let mut parts = release.split('.').map(|part| part.parse().ok());
    Some([parts.next()??, parts.next()??, parts.next()??])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_the_version_knows_are_wanted() {
        const NEW: [&str; 4] =
            ["PreModelSwitch", "PostModelSwitch", "DirectoryAdded", "PreSkillShellCommand"];
        for version in ["2.1.332", "2.1.332 (Claude Code)", "v2.1.400", "3.0.0", "2.2.0-beta.1"] {
            assert!(wanted(Some(version)).contains(&"PostModelSwitch"), "{version}");
        }
        for version in [Some("2.1.197 (Claude Code)"), Some("2.1.331"), Some("nonsense"), None] {
            let wanted = wanted(version);
            assert!(wanted.iter().all(|name| !NEW.contains(name)), "{version:?}");
            assert!(wanted.contains(&"PermissionRequest"), "{version:?}");
        }
        assert!(!wanted(Some("2.0.5")).contains(&"PermissionRequest"));
        assert!(wanted(Some("1.0.90")).contains(&"Stop"));
    }

    #[test]
    fn a_version_is_three_numbers() {
        for text in ["2.1.332", "v2.1.197 (Claude Code)", "3.0.0-beta.1", "2.1.332+build.5"] {
            assert!(is_version(text), "{text}");
        }
        for text in ["", "zzz", "2.1", "2.1.x", "Claude Code 2.1.332", "-1.0.0"] {
            assert!(!is_version(text), "{text}");
        }
    }

    #[test]
    fn costly_and_meddling_events_are_never_wanted() {
        for version in [None, Some("2.1.197"), Some("2.1.332")] {
            for name in ["WorktreeCreate", "MessageDisplay", "FileChanged"] {
                assert!(!wanted(version).contains(&name), "{name}");
            }
        }
        assert!(forbidden("WorktreeCreate").is_some());
        assert!(forbidden("Stop").is_none());
    }

    #[test]
    fn the_table_holds_each_event_once() {
        // Thirty-four names in 2.1.332, four of which 2.1.197 lacks.
        assert_eq!(KNOWN_EVENTS.len(), 34);
        assert_eq!(KNOWN_EVENTS.iter().filter(|event| event.since == V2_1_332).count(), 4);
        for (index, event) in KNOWN_EVENTS.iter().enumerate() {
            assert!(KNOWN_EVENTS[..index].iter().all(|other| other.name != event.name));
        }
    }
}
