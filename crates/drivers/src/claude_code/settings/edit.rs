//! Putting hooks in and taking them out, as edits of the text.

use super::command::is_ours;
use super::error::SettingsError;
use super::event::forbidden;
use super::layout::{Layout, slice};
use super::place::{Place, insert};
use super::prune::{Fate, cut, prune};
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
    let fates = match &root.kind {
        Kind::Object(members) => members
            .iter()
            .map(|member| match decode(text, &member.key).as_deref() {
                Some("hooks") => prune_hooks(text, &member.value),
                _ => Fate::default(),
            })
            .collect(),
        _ => Vec::new(),
    };
    let outer = root.span.clone();
    let inside = outer.start + 1..outer.end - 1;
    let mut fate = prune(text, &root, &fates);
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
            let piece = (root.span.start + 1, format!("{before}{member}{after}"));
            return Ok(insert(text, vec![piece]));
        }
        let place = Place::in_container(text, &root, &layout);
        let member = hooks_member(&layout, command, events, &place.indent);
        return Ok(insert(text, place.of(&[member])));
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
                insertions.extend(place.of(&[layout.group(command)]));
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
        insertions.extend(place.of(&new));
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

/// What becomes of the `hooks` object.
fn prune_hooks(text: &str, hooks: &Node) -> Fate {
    let Kind::Object(members) = &hooks.kind else {
        return Fate::default();
    };
    let fates: Vec<_> = members.iter().map(|member| prune_list(text, &member.value)).collect();
    prune(text, hooks, &fates)
}

/// What becomes of the list of an event.
fn prune_list(text: &str, list: &Node) -> Fate {
    let Kind::Array(groups) = &list.kind else {
        return Fate::default();
    };
    let fates: Vec<_> = groups.iter().map(|group| prune_group(text, group)).collect();
    prune(text, list, &fates)
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
        fate.cuts.extend(prune(text, &member.value, &fates).cuts);
    }
    fate.gone = found > 0 && left == 0;
    fate
}

/// The command of a hook, if it is one that runs a command.
pub(super) fn command_of(text: &str, hook: &Node) -> Option<String> {
    let value = hook.get(text, "command")?;
    matches!(value.kind, Kind::Text).then(|| decode(text, &value.span)).flatten()
}
