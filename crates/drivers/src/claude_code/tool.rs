//! Tools that mean something to a session's state, and what their input asks of a human.

use linelamp_core::event::{Choice, Content, WaitingFor};

use super::private::Private;
use crate::json::Raw;

/// How the CLI begins a refusal that nobody put into words.
const CANNED: &[&str] = &["The user doesn't want to", "User rejected tool use"];

/// What a human is asked when permission for `tool` is asked.
pub(crate) fn waiting_for(tool: &str) -> WaitingFor {
    match tool {
        "AskUserQuestion" | "ask_user_question" => WaitingFor::Question,
        "ExitPlanMode" | "exit_plan_mode" => WaitingFor::Plan,
        _ => WaitingFor::Permission,
    }
}

/// The tool server in a name like `mcp__SERVER__TOOL`.
pub(crate) fn server(tool: &str) -> Option<String> {
    let (server, _) = tool.strip_prefix("mcp__")?.split_once("__")?;
    (!server.is_empty()).then(|| server.to_owned())
}

/// What a human reads of a request, from the tool's input: the questions or the plan.
pub(crate) fn asked(
    private: Private,
    kind: WaitingFor,
    input: Option<Raw<'_>>,
) -> (Option<Content>, Vec<Choice>) {
    match kind {
        WaitingFor::Question => questions(private, input),
        WaitingFor::Plan => (private.text(input.and_then(|input| input.get("plan"))), Vec::new()),
        _ => (None, Vec::new()),
    }
}

fn questions(private: Private, input: Option<Raw<'_>>) -> (Option<Content>, Vec<Choice>) {
    let Some(list) = input.and_then(|input| input.get("questions")) else {
        return (private.text(input.and_then(|input| input.get("question"))), Vec::new());
    };
    let mut text: Option<Content> = None;
    let mut options = Vec::new();
    for entry in list.elements() {
        let [question, choices] = entry.fields(&["question", "options"]).unwrap_or_default();
        text = match (text.take(), private.text(question)) {
            (Some(mut before), Some(next)) => {
                before.size += 1 + next.size;
                if let (Some(all), Some(next)) = (&mut before.value, next.value) {
                    all.push('\n');
                    all.push_str(&next);
                }
                Some(before)
            }
            (before, next) => before.or(next),
        };
        for choice in choices.into_iter().flat_map(Raw::elements) {
            if let Some(label) = private.text(choice.get("label").or(Some(choice))) {
                options.push(Choice { id: None, label });
            }
        }
    }
    (text, options)
}

/// Whether a refusal's text is what a person said, not what the program says by itself.
pub(crate) fn carries_words(text: &str) -> bool {
    let text = text.split_once("hook error:").map_or(text, |(_, words)| words).trim();
    !text.is_empty() && !CANNED.iter().any(|canned| text.starts_with(canned))
}

/// The exit code the Bash tool writes before a failed command's output.
pub(crate) fn exit_code(text: &str) -> Option<i32> {
    let rest = text.strip_prefix("Exit code ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_person_are_told_from_canned_ones() {
        assert!(carries_words("Use green instead"));
        assert!(carries_words("PreToolUse:AskUserQuestion hook error: green"));
        assert!(!carries_words(""));
        assert!(!carries_words("  "));
        assert!(!carries_words("PreToolUse:AskUserQuestion hook error: "));
        assert!(!carries_words("The user doesn't want to proceed with this tool use."));
    }

    #[test]
    fn exit_codes_and_servers_are_read_off() {
        assert_eq!(exit_code("Exit code 3\nout"), Some(3));
        assert_eq!(exit_code("exit code 3"), None);
        assert_eq!(server("mcp__lab__ask_user").as_deref(), Some("lab"));
        assert_eq!(server("Bash"), None);
    }
}
