//! Checking one layer against the table of keys.
//!
//! Says what a key is, whether it may stand where it stands, and whether its value is of the right
//! shape. What keys mean together (a sink needs a kind) is checked once all layers are joined.

use std::collections::BTreeSet;

use linelamp_core::event::{Body, Status};

use super::error::Problem;
use super::glob;
use super::keys::{
    AGENTS, DAEMON, FEED, Key, PLUGINS, PROJECT, PROJECT_FILTER, PROJECT_SINK, RULES, SECTIONS,
    SINK, Shape,
};
use super::layer::{Layer, LayerKind};
use super::nearest::{close, nearest};
use super::node::{Data, Node};

/// Everything that is wrong with a layer by itself.
pub(super) fn check(layer: &Layer) -> Vec<Problem> {
    let mut check = Check { layer, problems: Vec::new() };
    for (name, node) in layer.root.table().into_iter().flatten() {
        if layer.kind == LayerKind::Project {
            check.project(name, node);
        } else {
            check.section(name, node);
        }
    }
    check.problems
}

/// What is wrong with an option of a component whose options are known.
pub(super) fn check_option(
    layer: &Layer,
    component: &str,
    name: &str,
    node: &Node,
    keys: &'static [Key],
) -> Vec<Problem> {
    let mut check = Check { layer, problems: Vec::new() };
    if let Some(known) = find(keys, name) {
        check.value(&format!("{component}.{name}"), node, known);
    } else {
        let reserved = if component.starts_with("sinks.") { SINK } else { FEED };
        let valid = reserved.iter().chain(keys).map(|key| key.name);
        check.unknown(name, node, valid, component);
    }
    check.problems
}

/// What the key at a path takes; none for options of components and unknown keys.
pub(super) fn shape_at(path: &[&str]) -> Option<Shape> {
    let (keys, rest): (&[Key], _) = match path {
        ["daemon", rest @ ..] => (DAEMON, rest),
        ["feeds", _, rest @ ..] => (FEED, rest),
        ["sinks", _, rest @ ..] => (SINK, rest),
        ["plugins", _, rest @ ..] => (PLUGINS, rest),
        ["agents", _, rest @ ..] => (AGENTS, rest),
        _ => return None,
    };
    let (first, rest) = rest.split_first()?;
    let mut shape = find(keys, first)?.shape;
    for name in rest {
        let Shape::Table(keys) = shape else { return None };
        shape = find(keys, name)?.shape;
    }
    Some(shape)
}

fn find<'a>(keys: &'a [Key], name: &str) -> Option<&'a Key> {
    keys.iter().find(|key| key.name == name)
}

struct Check<'a> {
    layer: &'a Layer,
    problems: Vec<Problem>,
}

impl Check<'_> {
    fn add(&mut self, node: &Node, key: &str, message: impl Into<String>, hint: impl Into<String>) {
        let place = self.layer.place(node);
        self.problems.push(Problem::new(place, key, message).hint(hint));
    }

    fn section(&mut self, name: &str, node: &Node) {
        match name {
            "daemon" => self.closed(name, node, DAEMON),
            "feeds" => self.named(name, node, |check, key, node| check.component(key, node, FEED)),
            "sinks" => self.named(name, node, |check, key, node| check.component(key, node, SINK)),
            "plugins" => self.named_closed(name, node, PLUGINS),
            "agents" => self.named_closed(name, node, AGENTS),
            "rules" => self.rules(name, node),
            _ => self.unknown(name, node, SECTIONS.into_iter(), ""),
        }
    }

    /// A project may only mute or narrow: whoever sends a repository must not decide what runs or what
    /// leaves the machine.
    fn project(&mut self, name: &str, node: &Node) {
        const WHY: &str = "a project's file may only mute or narrow";
        match name {
            "mute" => self.value(name, node, &PROJECT[0]),
            "rules" => {
                self.rules(name, node);
                let Data::List(rules) = &node.data else { return };
                for (index, rule) in rules.iter().enumerate() {
                    let action = rule.at(["action"]);
                    if action.is_none_or(|action| action.data != Data::Text("mute".to_owned())) {
                        let key = format!("rules[{index}].action");
                        self.add(rule, &key, "is not \"mute\"", WHY);
                    }
                }
            }
            "sinks" => self.named(name, node, |check, key, node| {
                check.closed(key, node, PROJECT_SINK);
                for (name, wide) in
                    [("enabled", Data::Bool(true)), ("detail", Data::Text("content".to_owned()))]
                {
                    if let Some(found) = node.at([name]).filter(|found| found.data == wide) {
                        check.add(found, &format!("{key}.{name}"), "would widen", WHY);
                    }
                }
            }),
            _ if SECTIONS.contains(&name) => {
                self.add(node, name, "cannot stand here", format!("{WHY}; put it into your own"));
            }
            _ => self.unknown(name, node, ["mute", "rules", "sinks"].into_iter(), ""),
        }
    }

    /// A table whose keys are names that the user chooses.
    fn named(&mut self, section: &str, node: &Node, each: impl Fn(&mut Self, &str, &Node)) {
        let Some(members) = node.table() else {
            let hint = format!("write [{section}.NAME] with keys below it");
            return self.add(node, section, wrong(node, "a table of names"), hint);
        };
        for (name, node) in members {
            let key = format!("{section}.{name}");
            let plain = |byte: u8| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte)
            };
            if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
                // Other names could not be reached by variables, which know no case.
                self.add(
                    node,
                    &key,
                    "is no valid name",
                    "use a-z, 0-9, _ and -, at most 64 of them",
                );
            } else {
                each(self, &key, node);
            }
        }
    }

    /// Tables by name, all of whose keys are ours.
    fn named_closed(&mut self, section: &str, node: &Node, keys: &'static [Key]) {
        self.named(section, node, |check, key, node| check.closed(key, node, keys));
    }

    /// A table all of whose keys are ours.
    fn closed(&mut self, key: &str, node: &Node, keys: &'static [Key]) {
        let Some(members) = node.table() else {
            let hint = format!("write [{key}] with keys below it");
            return self.add(node, key, wrong(node, "a table"), hint);
        };
        for (name, node) in members {
            match find(keys, name) {
                Some(known) => self.value(&format!("{key}.{name}"), node, known),
                None => self.unknown(name, node, keys.iter().map(|key| key.name), key),
            }
        }
    }

    /// A feed or a sink: our keys, and whatever the component takes.
    fn component(&mut self, key: &str, node: &Node, keys: &'static [Key]) {
        let Some(members) = node.table() else {
            let hint = format!("write [{key}] with keys below it");
            return self.add(node, key, wrong(node, "a table"), hint);
        };
        for (name, node) in members {
            let full = format!("{key}.{name}");
            if let Some(known) = find(keys, name) {
                self.value(&full, node, known);
            } else if name == PROJECT_FILTER {
                self.unknown(name, node, keys.iter().map(|key| key.name), key);
            } else if let Some(other) = find(SINK, name) {
                self.add(
                    node,
                    &full,
                    "stands in a feed",
                    format!("only a sink has `{}`", other.name),
                );
            }
        }
    }

    fn rules(&mut self, key: &str, node: &Node) {
        let Data::List(rules) = &node.data else {
            return self.add(node, key, wrong(node, "a list"), "write [[rules]] with two brackets");
        };
        for (index, rule) in rules.iter().enumerate() {
            self.closed(&format!("{key}[{index}]"), rule, RULES);
        }
    }

    fn value(&mut self, key: &str, node: &Node, known: &Key) {
        let fits = match (known.shape, &node.data) {
            (Shape::Table(keys), Data::Table(_)) => return self.closed(key, node, keys),
            (Shape::Bool, Data::Bool(_)) => true,
            (Shape::Text, Data::Text(text)) => !text.is_empty(),
            (Shape::Number { min, max }, Data::Integer(number)) => (min..=max).contains(number),
            (Shape::Word(words), Data::Text(text)) => words.contains(&text.as_str()),
            (Shape::Texts, Data::List(items)) => {
                items.iter().all(|item| matches!(item.data, Data::Text(_)))
            }
            (Shape::Kinds, Data::List(items)) => {
                return self.words(key, items, known, "kind of event", Body::KINDS, |pattern| {
                    let pattern = pattern.strip_prefix('!').unwrap_or(pattern);
                    Body::KINDS.iter().any(|kind| glob::matches(pattern, kind))
                });
            }
            (Shape::States, Data::List(items)) => {
                let states: Vec<_> = STATES.iter().map(|state| state.as_str()).collect();
                return self
                    .words(key, items, known, "state", &states, |word| states.contains(&word));
            }
            _ => false,
        };
        if !fits {
            self.add(node, key, wrong(node, &expected(known.shape)), meaning(node, known));
        }
    }

    /// A list of words of which a set is known.
    fn words(
        &mut self,
        key: &str,
        items: &[Node],
        known: &Key,
        what: &str,
        valid: &[&str],
        fits: impl Fn(&str) -> bool,
    ) {
        for item in items {
            match &item.data {
                Data::Text(word) if fits(word) => {}
                Data::Text(word) => {
                    let message = format!("names no {what}: \"{word}\"");
                    // A pattern is compared by what stands before its star.
                    let (begin, star) =
                        word.split_once('*').map_or((word.as_str(), ""), |(b, _)| (b, "*"));
                    let groups: BTreeSet<&str> = valid
                        .iter()
                        .filter_map(|word| word.split_inclusive('.').next())
                        .filter(|_| !star.is_empty())
                        .collect();
                    let hint = match close(begin, groups.into_iter().chain(valid.iter().copied())) {
                        Some(near) if near.ends_with('.') => format!("the nearest is \"{near}*\""),
                        Some(near) => format!("the nearest is \"{near}\""),
                        None => format!("there are: {}", valid.join(", ")),
                    };
                    self.add(item, key, message, hint);
                }
                _ => {
                    let message = format!("has {} in its list", found(item));
                    self.add(item, key, message, known.about);
                }
            }
        }
    }

    fn unknown<'a>(
        &mut self,
        name: &str,
        node: &Node,
        valid: impl Iterator<Item = &'a str> + Clone,
        table: &str,
    ) {
        let key = if table.is_empty() { name.to_owned() } else { format!("{table}.{name}") };
        let near = nearest(name, valid).unwrap_or_default();
        self.add(node, &key, "is no known key", format!("the nearest valid key is `{near}`"));
    }
}

fn wrong(node: &Node, expected: &str) -> String {
    format!("is {}, expected {expected}", found(node))
}

/// What stands there. The value itself is only shown where it is one short word.
fn found(node: &Node) -> String {
    match &node.data {
        Data::Text(text) if text.is_empty() => "empty".to_owned(),
        Data::Text(text) if text.len() <= 24 && text.bytes().all(|b| b.is_ascii_alphanumeric()) => {
            format!("the text \"{text}\"")
        }
        Data::Integer(number) => format!("the number {number}"),
        other => other.describe().to_owned(),
    }
}

fn expected(shape: Shape) -> String {
    match shape {
        Shape::Bool => "true or false".to_owned(),
        Shape::Text => "a text".to_owned(),
        Shape::Number { min, max } => format!("a whole number from {min} to {max}"),
        Shape::Word(words) => {
            let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
            words.join(" or ")
        }
        Shape::Texts => "a list of texts".to_owned(),
        Shape::Kinds => "a list of event kinds".to_owned(),
        Shape::States => "a list of states".to_owned(),
        Shape::Table(_) => "a table".to_owned(),
    }
}

fn meaning(node: &Node, known: &Key) -> String {
    let near = match (known.shape, &node.data) {
        (Shape::Word(words), Data::Text(text)) => close(text, words.iter().copied()),
        _ => None,
    };
    near.map_or_else(|| known.about.to_owned(), |near| format!("the nearest is \"{near}\""))
}

/// States that a filter can name.
const STATES: [Status; 7] = [
    Status::Starting,
    Status::Working,
    Status::WaitingForPermission,
    Status::WaitingForInput,
    Status::Idle,
    Status::Stale,
    Status::Ended,
];
