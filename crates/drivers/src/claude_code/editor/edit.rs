//! Setting the one key, and giving back what stood there, as edits of the text.
//!
//! A key that is added goes behind the last one, in the layout of its neighbours; comments stay where
//! they are. Taking it out again gives back the same bytes by the text alone. Only where nothing stood
//! in the settings, or the key had a value, the old text has to be remembered: that is [`Before`].

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::super::settings::SettingsError;
use super::super::settings::layout::{Layout, json, slice, space_before};
use super::super::settings::tree::{BOM, Kind, Member, Node, decode, parse, position};
use super::super::settings::trivia::{
    Between, behind_comments_of_line, is_line_comment, line_ends_at,
};

/// The setting that names the program through which the agent is started.
pub const KEY: &str = "claudeCode.claudeProcessWrapper";

/// One step of indentation where there is nothing to go by, as editors write their settings.
const UNIT: &str = "    ";

/// What stood in the settings before our launcher did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Before {
    /// There was no file.
    NoFile,
    /// A file without any setting: its text, which is white space, comments and brackets.
    Empty(String),
    /// Settings, but not this one.
    Absent,
    /// This setting: its value as it was written.
    Value(String),
}

impl Before {
    /// What stands in `text`; no text is no file.
    ///
    /// # Errors
    ///
    /// If the text cannot be read, or the setting is there with a value that is no text.
    pub fn of(text: Option<&str>) -> Result<Self, SettingsError> {
        let Some(text) = text else { return Ok(Self::NoFile) };
        let Some(root) = settings(text)? else { return Ok(Self::Empty(text.to_owned())) };
        Ok(match root.get(text, KEY) {
            Some(value) => {
                value_of(text, value)?;
                Self::Value(slice(text, value.span.start, value.span.end).to_owned())
            }
            None if members(&root).is_empty() => Self::Empty(text.to_owned()),
            None => Self::Absent,
        })
    }

    /// The other tool's launcher that was set.
    pub fn other(&self) -> Option<String> {
        match self {
            Self::Value(raw) => {
                serde_json::from_str(raw).ok().filter(|value: &String| !value.is_empty())
            }
            Self::NoFile | Self::Empty(_) | Self::Absent => None,
        }
    }
}

/// The value of the setting; none if it is not set, or set to nothing.
///
/// # Errors
///
/// If the text cannot be read, or the value is no text.
pub fn current(text: &str) -> Result<Option<String>, SettingsError> {
    let Some(root) = settings(text)? else { return Ok(None) };
    let value = root.get(text, KEY).map(|value| value_of(text, value)).transpose()?;
    Ok(value.flatten().filter(|value| !value.is_empty()))
}

/// The settings with `value` for our key; no text is no file. Everything else stays as it is.
///
/// # Errors
///
/// If the text cannot be read, or the setting is there with a value that is no text.
pub fn set(text: Option<&str>, value: &str) -> Result<String, SettingsError> {
    let value = json(value);
    let text = text.unwrap_or("");
    let Some(root) = settings(text)? else {
        return Ok(create(text, &value));
    };
    if let Some(there) = root.get(text, KEY) {
        value_of(text, there)?;
        return Ok(splice(text, &[(there.span.clone(), value)]));
    }
    Ok(match members(&root).last() {
        Some(last) => append(text, &root, last, &value),
        None => fill(text, &root, &value),
    })
}

/// The settings as they were before [`set`], of which `before` tells; none if there was no file. Only
/// values that are `ours` are touched.
///
/// # Errors
///
/// If the text cannot be read.
pub fn restore(
    text: &str,
    before: &Before,
    ours: &dyn Fn(&str) -> bool,
) -> Result<Option<String>, SettingsError> {
    let old = match before {
        Before::NoFile => Some(None),
        Before::Empty(old) => Some(Some(old.as_str())),
        Before::Absent | Before::Value(_) => None,
    };
    if let (Some(old), Ok(Some(value))) = (old, current(text))
        && ours(&value)
        && set(old, &value).is_ok_and(|then| then == text)
    {
        return Ok(old.map(str::to_owned));
    }
    let mut text = text.to_owned();
    let mut changed = false;
    while let Some(root) = settings(&text)? {
        let found: Vec<usize> = (0..members(&root).len())
            .filter(|&index| is_ours(&text, &members(&root)[index], ours))
            .collect();
        let Some(&first) = found.first() else { break };
        changed = true;
        if let (Before::Value(raw), [last]) = (before, found.as_slice()) {
            let span = members(&root)[*last].value.span.clone();
            return Ok(Some(splice(&text, &[(span, raw.clone())])));
        }
        text = remove(&text, &root, first);
    }
    let gone = changed && *before == Before::NoFile && is_bare(&text)?;
    Ok((!gone).then_some(text))
}

/// The object of the settings; none if there is nothing but white space and comments.
fn settings(text: &str) -> Result<Option<Node>, SettingsError> {
    match parse(text)? {
        Some(root) if !matches!(root.kind, Kind::Object(_)) => {
            Err(wrong_type(text, &root, "the settings", "an object"))
        }
        root => Ok(root),
    }
}

fn members(root: &Node) -> &[Member] {
    match &root.kind {
        Kind::Object(members) => members,
        _ => &[],
    }
}

/// The setting's value as a text; none if it is `null`.
fn value_of(text: &str, value: &Node) -> Result<Option<String>, SettingsError> {
    let wrong = || wrong_type(text, value, KEY, "a text");
    match value.kind {
        Kind::Null => Ok(None),
        Kind::Text => decode(text, &value.span).map(Some).ok_or_else(wrong),
        _ => Err(wrong()),
    }
}

fn is_ours(text: &str, member: &Member, ours: &dyn Fn(&str) -> bool) -> bool {
    decode(text, &member.key).as_deref() == Some(KEY)
        && matches!(member.value.kind, Kind::Text)
        && decode(text, &member.value.span).is_some_and(|value| ours(&value))
}

fn wrong_type(text: &str, node: &Node, key: &str, expected: &'static str) -> SettingsError {
    let (line, column) = position(text, node.span.start);
    SettingsError::Type { line, column, key: key.to_owned(), found: node.describe(), expected }
}

/// True if there is neither a setting nor a comment.
fn is_bare(text: &str) -> Result<bool, SettingsError> {
    Ok(settings(text)?.is_none_or(|root| {
        let inside = slice(text, root.span.start + 1, root.span.end - 1);
        members(&root).is_empty() && inside.trim().is_empty()
    }))
}

/// An object where there is none.
fn create(text: &str, value: &str) -> String {
    let line_break = Layout::of(text, None).gap("");
    let object = format!("{{{line_break}{UNIT}{}: {value}{line_break}}}{line_break}", json(KEY));
    let mark = if text.starts_with(BOM) { slice(text, 0, BOM.len_utf8()) } else { "" };
    let comments = slice(text, mark.len(), text.len());
    if comments.trim().is_empty() {
        return format!("{mark}{object}");
    }
    let separator = if comments.ends_with('\n') { "" } else { &line_break };
    format!("{text}{separator}{object}")
}

/// The first member of an object.
fn fill(text: &str, root: &Node, value: &str) -> String {
    let line_break = Layout::of(text, None).gap("");
    let inside = root.span.start + 1..root.span.end - 1;
    let comments = Between::scan(text, inside.clone()).comments;
    let at = comments.last().map_or(inside.start, |comment| comment.end);
    let member = format!("{line_break}{UNIT}{}: {value}{line_break}", json(KEY));
    splice(text, &[(at..inside.end, member)])
}

/// A member behind the last one.
fn append(text: &str, root: &Node, last: &Member, value: &str) -> String {
    let layout = Layout::of(text, Some(root));
    let end = last.value.span.end;
    let between = Between::scan(text, end..root.span.end - 1);
    let behind = between.comma.map_or(end, |comma| comma + 1);
    let at = behind_comments_of_line(text, behind);
    let needs_break = between
        .comments_from(behind)
        .iter()
        .any(|comment| comment.end == at && is_line_comment(text, comment));
    let gap = match space_before(text, last.key.start).rsplit_once('\n') {
        Some((_, indent)) => Layout::of(text, None).gap(indent),
        None if needs_break => Layout::of(text, None).gap(&layout.deeper("")),
        None => " ".to_owned(),
    };
    let colon = slice(text, last.key.end, last.value.span.start);
    let colon = if colon == ":" { ":" } else { ": " };
    let member = format!("{gap}{}{colon}{value}", json(KEY));
    match between.comma {
        Some(_) => splice(text, &[(at..at, format!("{member},"))]),
        None => splice(text, &[(end..end, ",".to_owned()), (at..at, member)]),
    }
}

/// The text without a member, its comma and the white space before it. Comments stay.
fn remove(text: &str, root: &Node, index: usize) -> String {
    let members = members(root);
    let member = &members[index];
    let from = match index {
        0 => root.span.start + 1,
        _ => members[index - 1].value.span.end,
    };
    let to = members.get(index + 1).map_or(root.span.end - 1, |next| next.key.start);
    let before = Between::scan(text, from..member.key.start);
    let comma = Between::scan(text, member.value.span.end..to).comma;
    let end = member.value.span.end;
    let next = if comma == Some(end) { end + 1 } else { end };

    let comment = before.comments.last();
    let mut start = before.comma.map_or(from, |comma| comma + 1);
    start = start.max(comment.map_or(0, |comment| comment.end));
    let behind_line_comment =
        comment.is_some_and(|comment| comment.end == start && is_line_comment(text, comment));
    if behind_line_comment && !line_ends_at(text, next) {
        // What follows must not become a part of the comment.
        start = member.key.start;
    }
    let nothing = String::new;
    match (comma, before.comma) {
        (Some(comma), _) => splice(text, &[(start..end, nothing()), (comma..comma + 1, nothing())]),
        (None, Some(comma)) => {
            splice(text, &[(comma..comma + 1, nothing()), (start..end, nothing())])
        }
        (None, None) => splice(text, &[(start..end, nothing())]),
    }
}

/// The text with parts replaced, which are in order and apart from one another.
fn splice(text: &str, pieces: &[(Range<usize>, String)]) -> String {
    let mut result = String::with_capacity(text.len() + 256);
    let mut at = 0;
    for (span, piece) in pieces {
        result.push_str(slice(text, at, span.start));
        result.push_str(piece);
        at = span.end;
    }
    result.push_str(slice(text, at, text.len()));
    result
}
