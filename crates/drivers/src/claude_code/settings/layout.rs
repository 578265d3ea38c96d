//! How a settings file is laid out, so that what we add looks like what is there.

use super::command::HOOK_TIMEOUT_SECONDS;
use super::tree::{Kind, Node};

/// Line breaks and indentation of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::claude_code) struct Layout {
    /// The line break; none if everything stands on one line.
    line_break: Option<&'static str>,
    /// One step of indentation.
    unit: String,
}

impl Layout {
    /// The layout of `text`, whose value is `root`.
    pub(in crate::claude_code) fn of(text: &str, root: Option<&Node>) -> Self {
        let windows = text.find('\n').is_some_and(|at| text.as_bytes()[..at].ends_with(b"\r"));
        let line_break = Some(if windows { "\r\n" } else { "\n" });
        let first = root.and_then(|root| match &root.kind {
            Kind::Object(members) => members.first().map(|member| (root, member.key.start)),
            _ => None,
        });
        let standard = Self { line_break, unit: "  ".to_owned() };
        let Some((root, first)) = first else {
            return standard;
        };
        if !slice(text, root.span.start, root.span.end).contains('\n') {
            return Self { line_break: None, unit: String::new() };
        }
        match space_before(text, first).rsplit_once('\n') {
            Some((_, unit)) => Self { line_break, unit: unit.to_owned() },
            None => standard,
        }
    }

    /// White space that is never empty: a line break and the indentation, or one space.
    pub(in crate::claude_code) fn gap(&self, indent: &str) -> String {
        self.line_break.map_or_else(|| " ".to_owned(), |line_break| format!("{line_break}{indent}"))
    }

    /// Whether everything stands on one line.
    pub(super) fn is_one_line(&self) -> bool {
        self.line_break.is_none()
    }

    /// One step further in.
    pub(in crate::claude_code) fn deeper(&self, indent: &str) -> String {
        format!("{indent}{}", self.unit)
    }

    /// A container that we create: its opening bracket is followed by white space.
    pub(super) fn container(
        &self,
        brackets: [char; 2],
        children: &[String],
        indent: &str,
    ) -> String {
        let [open, close] = brackets;
        let separator = if self.is_one_line() {
            ",".to_owned()
        } else {
            format!(",{}", self.gap(&self.deeper(indent)))
        };
        let inner = children.join(&separator);
        let (before, after) = (self.gap(&self.deeper(indent)), self.gap(indent));
        format!("{open}{before}{inner}{after}{close}")
    }

    /// A key in front of its value.
    pub(super) fn member(&self, key: &str, value: &str) -> String {
        let colon = if self.is_one_line() { ":" } else { ": " };
        format!("{}{colon}{value}", json(key))
    }

    /// The entry of one hook, on one line.
    pub(super) fn group(&self, command: &str) -> String {
        let command = json(command);
        if self.is_one_line() {
            let hook = format!(
                r#"{{"type":"command","command":{command},"timeout":{HOOK_TIMEOUT_SECONDS}}}"#
            );
            format!(r#"{{"hooks":[{hook}]}}"#)
        } else {
            let hook = format!(
                r#"{{ "type": "command", "command": {command}, "timeout": {HOOK_TIMEOUT_SECONDS} }}"#
            );
            format!(r#"{{ "hooks": [{hook}] }}"#)
        }
    }
}

/// The white space right before `at`.
pub(in crate::claude_code) fn space_before(text: &str, at: usize) -> &str {
    let before = slice(text, 0, at);
    let end = before.trim_end_matches([' ', '\t', '\r', '\n']).len();
    slice(text, end, at)
}

/// The indentation of the line that `at` stands on.
pub(super) fn indent_of_line(text: &str, at: usize) -> &str {
    let before = slice(text, 0, at);
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = slice(text, start, at);
    slice(line, 0, line.len() - line.trim_start_matches([' ', '\t']).len())
}

/// A part of a text between two places that a parse of it gave.
pub(in crate::claude_code) fn slice(text: &str, start: usize, end: usize) -> &str {
    text.get(start..end).expect("places come from a parse of the same text")
}

pub(in crate::claude_code) fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
