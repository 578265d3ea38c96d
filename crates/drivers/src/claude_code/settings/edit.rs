//! Putting hooks in and taking them out, as edits of the text.

use std::ops::Range;

use super::command::is_ours;
use super::error::SettingsError;
use super::event::forbidden;
use super::layout::{Layout, indent_of_line, slice, space_before};
use super::status::{of_root, type_error};
use super::tree::{BOM, Kind, Node, decode, parse};

/// The settings with a hook of ours that runs `command` for each of `events`.
///
/// What else stands in `text` stays as it is. Where the hooks are there already the same text comes back;
/// hooks of ours with another command, or for other events, are replaced.
///
/// # Errors
///
/// If the text is no JSON, a value on the way has the wrong type, the command would not be recognised
/// later, or an event must not be hooked.
pub fn install(text: &str, command: &str, events: &[&str]) -> Result<String, SettingsError> {
    if !is_ours(command) {
        return Err(SettingsError::Command(command.to_owned()));
    }
    for event in events {
        if let Some(reason) = forbidden(event) {
            return Err(SettingsError::Forbidden { event: (*event).to_owned(), reason });
        }
    }
    if of_root(text, parse(text)?.as_ref(), command, events).is_complete() {
        return Ok(text.to_owned());
    }
    add(&uninstall(text)?, command, events)
}

/// The settings without any hook of ours, and without the empty containers that we made for them.
///
/// # Errors
///
/// If the text is no JSON.
pub fn uninstall(text: &str) -> Result<String, SettingsError> {
    let Some(root) = parse(text)? else {
        return Ok(text.to_owned());
    };
    let fates: Vec<_> = members(&root)
        .iter()
        .map(|(key, value)| {
            if decode(text, key).as_deref() == Some("hooks") {
                prune_hooks(text, value)
            } else {
                Fate::default()
            }
        })
        .collect();
    let outer = root.span.clone();
    let inside = outer.start + 1..outer.end - 1;
    let mut fate = prune(text, &root, fates);
    if fate.gone {
        // Other containers go; the settings themselves stay as an empty object.
        fate.cuts = vec![inside];
    } else if fate.cuts.first() == Some(&inside) {
        // No white space anywhere between our entry and the brackets: they came with it.
        fate.cuts = vec![outer];
    }
    Ok(cut(text, &fate.cuts))
}

/// Adds hooks to settings without any of ours.
fn add(text: &str, command: &str, events: &[&str]) -> Result<String, SettingsError> {
    if events.is_empty() {
        return Ok(text.to_owned());
    }
    let root = parse(text)?;
    let layout = Layout::of(text, root.as_ref());
    let Some(root) = root else {
        let member = hooks_member(&layout, command, events, "");
        let (mark, rest) =
            if text.starts_with(BOM) { text.split_at(BOM.len_utf8()) } else { ("", text) };
        return Ok(format!("{mark}{{{member}}}{rest}"));
    };
    if !matches!(root.kind, Kind::Object(_)) {
        return Err(type_error(text, &root, "the settings", "an object"));
    }
    let Some(hooks) = root.get(text, "hooks") else {
        if slice(text, root.span.start, root.span.end) == "{}" {
            let member = hooks_member(&layout, command, events, &layout.deeper(""));
            let (before, after) = (layout.gap(&layout.deeper("")), layout.gap(""));
            return Ok(insert(
                text,
                vec![(root.span.start + 1, format!("{before}{member}{after}"))],
            ));
        }
        let place = Place::in_container(text, &root, &layout);
        let member = hooks_member(&layout, command, events, &place.indent);
        return Ok(insert(text, vec![place.of(&[member])]));
    };
    if !matches!(hooks.kind, Kind::Object(_)) {
        return Err(type_error(text, hooks, "hooks", "an object"));
    }
    let mut insertions = Vec::new();
    let mut new = Vec::new();
    for event in events {
        match hooks.get(text, event) {
            None => new.push(*event),
            Some(list) if matches!(list.kind, Kind::Array(_)) => {
                let place = Place::in_container(text, list, &layout);
                insertions.push(place.of(&[layout.group(command)]));
            }
            Some(other) => {
                return Err(type_error(text, other, &format!("hooks.{event}"), "an array"));
            }
        }
    }
    if !new.is_empty() {
        let place = Place::in_container(text, hooks, &layout);
        let new: Vec<_> =
            new.iter().map(|event| event_member(&layout, command, event, &place.indent)).collect();
        insertions.push(place.of(&new));
    }
    Ok(insert(text, insertions))
}

fn hooks_member(layout: &Layout, command: &str, events: &[&str], indent: &str) -> String {
    let inner = layout.deeper(indent);
    let events: Vec<_> =
        events.iter().map(|event| event_member(layout, command, event, &inner)).collect();
    layout.member("hooks", &layout.container(['{', '}'], &events, indent))
}

fn event_member(layout: &Layout, command: &str, event: &str, indent: &str) -> String {
    let list = layout.container(['[', ']'], &[layout.group(command)], indent);
    layout.member(event, &list)
}

/// Where new children of a container go, and how they are set apart.
struct Place {
    at: usize,
    indent: String,
    separator: String,
    first: bool,
}

impl Place {
    fn in_container(text: &str, container: &Node, layout: &Layout) -> Self {
        let outer = indent_of_line(text, container.span.start);
        let spans = children(container);
        let Some(last) = spans.last() else {
            // Right behind the bracket: this tells a removal that the container was there before.
            let indent = layout.deeper(outer);
            let separator = format!(",{}", layout.gap(&indent));
            return Self { at: container.span.start + 1, indent, separator, first: true };
        };
        let gap = space_before(text, last.start);
        let (gap, indent) = match gap.rsplit_once('\n') {
            Some((_, indent)) => (gap, indent),
            None if gap.is_empty() && !layout.is_one_line() => (" ", outer),
            None => (gap, outer),
        };
        let separator = format!(",{gap}");
        Self { at: last.end, indent: indent.to_owned(), separator, first: false }
    }

    fn of(&self, children: &[String]) -> (usize, String) {
        let joined = children.join(&self.separator);
        (self.at, if self.first { joined } else { format!("{}{joined}", self.separator) })
    }
}

/// A part of the text that goes.
type Cut = Range<usize>;

/// What becomes of a value when our hooks go.
#[derive(Default)]
struct Fate {
    /// All of it was ours, or was made for ours.
    gone: bool,
    /// Otherwise, what is cut out of it.
    cuts: Vec<Cut>,
}

fn prune_hooks(text: &str, hooks: &Node) -> Fate {
    if !matches!(hooks.kind, Kind::Object(_)) {
        return Fate::default();
    }
    let fates = members(hooks).iter().map(|(_, list)| prune_list(text, list)).collect();
    prune(text, hooks, fates)
}

/// The list of an event.
fn prune_list(text: &str, list: &Node) -> Fate {
    let Kind::Array(groups) = &list.kind else {
        return Fate::default();
    };
    prune(text, list, groups.iter().map(|group| prune_group(text, group)).collect())
}

/// A matcher with its hooks. Gone if all of them are ours.
fn prune_group(text: &str, group: &Node) -> Fate {
    let mut fate = Fate::default();
    let mut left = 0;
    let mut found = 0;
    for member in group.members(text, "hooks") {
        let Kind::Array(hooks) = &member.value.kind else {
            continue;
        };
        let fates: Vec<_> = hooks
            .iter()
            .map(|hook| Fate {
                gone: command_of(text, hook).is_some_and(|c| is_ours(&c)),
                cuts: vec![],
            })
            .collect();
        let ours = fates.iter().filter(|fate| fate.gone).count();
        found += ours;
        left += hooks.len() - ours;
        fate.cuts.extend(prune(text, &member.value, fates).cuts);
    }
    fate.gone = found > 0 && left == 0;
    fate
}

/// The command of a hook, if it is one that runs a command.
pub(super) fn command_of(text: &str, hook: &Node) -> Option<String> {
    let value = hook.get(text, "command")?;
    matches!(value.kind, Kind::Text).then(|| decode(text, &value.span)).flatten()
}

/// Joins the fates of a container's children into its own.
fn prune(text: &str, container: &Node, fates: Vec<Fate>) -> Fate {
    let spans = children(container);
    if !fates.is_empty() && fates.iter().all(|fate| fate.gone) {
        let all = spans[0].start..spans[spans.len() - 1].end;
        let was_there = space_before(text, all.start).is_empty();
        return Fate { gone: !was_there, cuts: vec![all] };
    }
    let mut cuts = Vec::new();
    let mut at_front = true;
    for (index, fate) in fates.into_iter().enumerate() {
        if !fate.gone {
            at_front = false;
            cuts.extend(fate.cuts);
        } else if at_front {
            // Up to the next child, which keeps the space before the first one.
            let front = spans[0].start..spans[index + 1].start;
            cuts = vec![front];
        } else {
            cuts.push(spans[index - 1].end..spans[index].end);
        }
    }
    Fate { gone: false, cuts }
}

fn members(node: &Node) -> Vec<(Range<usize>, &Node)> {
    match &node.kind {
        Kind::Object(members) => {
            members.iter().map(|member| (member.key.clone(), &member.value)).collect()
        }
        _ => Vec::new(),
    }
}

fn children(node: &Node) -> Vec<Range<usize>> {
    match &node.kind {
        Kind::Object(members) => members.iter().map(super::tree::Member::span).collect(),
        Kind::Array(values) => values.iter().map(|value| value.span.clone()).collect(),
        _ => Vec::new(),
    }
}

/// The text without the given parts, which are in order and apart from one another.
fn cut(text: &str, cuts: &[Cut]) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    for cut in cuts {
        kept.push_str(slice(text, at, cut.start));
        at = cut.end;
    }
    kept.push_str(slice(text, at, text.len()));
    kept
}

/// The text with pieces put in; each place is one of `text`.
fn insert(text: &str, mut pieces: Vec<(usize, String)>) -> String {
    pieces.sort_by_key(|piece| piece.0);
    let mut result = String::with_capacity(text.len() + 4096);
    let mut at = 0;
    for (place, piece) in pieces {
        result.push_str(slice(text, at, place));
        result.push_str(&piece);
        at = place;
    }
    result.push_str(slice(text, at, text.len()));
    result
}
