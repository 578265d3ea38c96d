//! From the joined layers to the typed form: what keys mean together.
//!
//! Keys and shapes are checked already, layer by layer. Here it is about what only shows once all layers
//! are joined: a sink needs something that makes it, a name must name something.

use std::collections::BTreeMap;

use config::{Map, Value, ValueKind};
use linelamp_core::bus::Filter;
use linelamp_core::detail::Detail;
use serde::de::DeserializeOwned;

use super::check::check_option;
use super::error::{ConfigError, Problem};
use super::keys::{self, FEED_KINDS, LATER, PROJECT_FILTER, PROJECT_RULES, SINK, SINK_KINDS};
use super::layer::Layer;
use super::load::origin;
use super::model::{Component, Config, Maker, Plugin, Rule, SinkConfig, to_json};
use super::nearest::{close, nearest};
use super::node::Data;

/// The typed form of the joined layers.
///
/// # Errors
///
/// With everything that keys get wrong together.
pub(super) fn join(layers: &[Layer], merged: &Map<String, Value>) -> Result<Config, ConfigError> {
    let mut join = Join { layers, problems: Vec::new() };
    let config = join.config(merged);
    ConfigError::unless_empty(join.problems)?;
    Ok(config.expect("a configuration without problems is whole"))
}

/// Makes the typed form, collecting what keys get wrong together.
struct Join<'a> {
    layers: &'a [Layer],
    problems: Vec<Problem>,
}

impl Join<'_> {
    fn add(&mut self, key: &str, message: impl Into<String>, hint: impl Into<String>) {
        let path: Vec<&str> = key.split('.').collect();
        let place = origin(self.layers, &path).map(|(layer, node)| layer.place(node));
        let problem = Problem::new(place.unwrap_or_default(), key, message);
        self.problems.push(problem.hint(hint));
    }

    fn config(&mut self, merged: &Map<String, Value>) -> Option<Config> {
        let section = |name: &str| merged.get(name).and_then(members).cloned().unwrap_or_default();
        let plugins = self.typed_table("plugins", section("plugins"));
        let agents = self.typed_table("agents", section("agents"));
        let mut feeds = BTreeMap::new();
        for (name, value) in section("feeds") {
            let key = format!("feeds.{name}");
            let table = members(&value).cloned().unwrap_or_default();
            feeds.extend(self.component(&key, &table, FEED_KINDS, &plugins).map(|it| (name, it)));
        }
        let mut sinks = BTreeMap::new();
        for (name, value) in section("sinks") {
            let key = format!("sinks.{name}");
            let table = members(&value).cloned().unwrap_or_default();
            let Some(component) = self.component(&key, &table, SINK_KINDS, &plugins) else {
                continue;
            };
            let filters = ["filter", PROJECT_FILTER]
                .into_iter()
                .filter_map(|name| table.get(name).cloned())
                .filter_map(|value| self.typed::<Filter>(&key, value))
                .collect();
            let content = text(&table, "detail").as_deref() == Some("content");
            let detail = if content { Detail::Content } else { Detail::Metadata };
            let durable = table.get("durable").and_then(|value| value.clone().into_bool().ok());
            sinks.insert(name, SinkConfig { component, filters, detail, durable });
        }
        let rules = self.rules(merged, &sinks);
        self.plugins(&plugins);
        let muted =
            merged.get("mute").is_some_and(|mute| mute.clone().into_bool().unwrap_or_default());
        let daemon = self.typed("daemon", merged.get("daemon")?.clone())?;
        Some(Config { daemon, feeds, sinks, plugins, agents, rules, muted })
    }

    fn component(
        &mut self,
        key: &str,
        table: &Map<String, Value>,
        kinds: &[&str],
        plugins: &BTreeMap<String, Plugin>,
    ) -> Option<Component> {
        let maker = match Self::maker(key, table, kinds, plugins) {
            Ok(maker) => maker,
            Err((key, message, hint)) => {
                self.add(&key, message, hint);
                return None;
            }
        };
        let enabled = table.get("enabled").cloned();
        let enabled = enabled.is_none_or(|value| value.into_bool().unwrap_or(true));
        let ours = |name: &str| name == PROJECT_FILTER || SINK.iter().any(|key| key.name == name);
        let options: serde_json::Map<_, _> = table
            .iter()
            .filter(|(name, _)| !ours(name))
            .map(|(name, value)| (name.clone(), to_json(value)))
            .collect();
        if let Maker::Kind(kind) = &maker
            && let Some(known) = keys::options(kind)
        {
            for name in options.keys() {
                let path: Vec<&str> = key.split('.').chain([name.as_str()]).collect();
                if let Some((layer, node)) = origin(self.layers, &path) {
                    self.problems.extend(check_option(layer, key, name, node, known));
                }
            }
        }
        Some(Component { maker, enabled, options: serde_json::Value::Object(options) })
    }

    /// What makes a component; else the key that is wrong, what is wrong with it, and what would be right.
    fn maker(
        key: &str,
        table: &Map<String, Value>,
        kinds: &[&str],
        plugins: &BTreeMap<String, Plugin>,
    ) -> Result<Maker, (String, &'static str, String)> {
        let kind_for = |word: &str| match close(word, kinds.iter().copied()) {
            Some(near) => format!("the nearest kind is \"{near}\""),
            None => format!("kinds are: {}", kinds.join(", ")),
        };
        let name = key.rsplit('.').next().unwrap_or(key);
        let word = text(table, "kind").unwrap_or_else(|| name.to_owned());
        if !kinds.contains(&word.as_str()) && LATER.contains(&word.as_str()) {
            let hint = format!("take it away, or set {key}.enabled = false when it is there");
            return Err((
                key.to_owned(),
                "asks for something that this version does not have yet",
                hint,
            ));
        }
        match (text(table, "kind"), text(table, "plugin"), text(table, "component")) {
            (Some(kind), None, None) if kinds.contains(&kind.as_str()) => Ok(Maker::Kind(kind)),
            (Some(kind), None, None) => {
                Err((format!("{key}.kind"), "names nothing that is built in", kind_for(&kind)))
            }
            (None, Some(plugin), Some(component)) if plugins.contains_key(&plugin) => {
                Ok(Maker::Plugin { plugin, component })
            }
            (None, Some(plugin), Some(_)) => {
                let hint = match nearest(&plugin, plugins.keys().map(String::as_str)) {
                    Some(near) => format!("the nearest in [plugins] is \"{near}\""),
                    None => format!("declare it: [plugins.{plugin}] path = \"…\""),
                };
                Err((format!("{key}.plugin"), "names no plugin", hint))
            }
            (None, Some(_), None) => {
                let hint = "add component = \"…\"".to_owned();
                Err((key.to_owned(), "names a plugin and no component of it", hint))
            }
            (Some(_), ..) => {
                let hint = "take `kind` away, or `plugin` and `component`".to_owned();
                Err((key.to_owned(), "has a kind and a plugin", hint))
            }
            (None, None, _) => {
                let hint = format!("add `kind`; {}", kind_for(name));
                Err((key.to_owned(), "does not say what it is", hint))
            }
        }
    }

    fn rules(
        &mut self,
        merged: &Map<String, Value>,
        sinks: &BTreeMap<String, SinkConfig>,
    ) -> Vec<Rule> {
        let mut rules = Vec::new();
        for section in ["rules", PROJECT_RULES] {
            let Some(ValueKind::Array(found)) = merged.get(section).map(|value| &value.kind) else {
                continue;
            };
            for (index, value) in found.iter().enumerate() {
                let key = format!("{section}[{index}]");
                if members(value).is_some_and(|table| !table.contains_key("action")) {
                    self.add_in_list(section, index, "has no action", "add action = \"mute\"");
                    continue;
                }
                let Some(rule) = self.typed::<Rule>(&key, value.clone()) else { continue };
                let unknown = rule.sinks.iter().find(|name| !sinks.contains_key(*name));
                if let Some(unknown) = unknown.filter(|_| section == "rules") {
                    let near = nearest(unknown, sinks.keys().map(String::as_str));
                    let hint = format!("the nearest sink is \"{}\"", near.unwrap_or_default());
                    self.add_in_list(section, index, format!("names no sink: \"{unknown}\""), hint);
                }
                rules.push(rule);
            }
        }
        rules
    }

    fn add_in_list(
        &mut self,
        section: &str,
        index: usize,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let place = origin(self.layers, &[section]).map(|(layer, node)| {
            let item = match &node.data {
                Data::List(items) => items.get(index),
                _ => None,
            };
            layer.place(item.unwrap_or(node))
        });
        let problem = Problem::new(place.unwrap_or_default(), format!("rules[{index}]"), message);
        self.problems.push(problem.hint(hint));
    }

    fn plugins(&mut self, plugins: &BTreeMap<String, Plugin>) {
        for (name, plugin) in plugins {
            if plugin.path.is_some() != plugin.command.is_empty() {
                let hint = "give it either path = \"…\" or command = [\"…\"]";
                self.add(&format!("plugins.{name}"), "needs one place to come from", hint);
            }
        }
    }

    fn typed_table<T: DeserializeOwned>(
        &mut self,
        section: &str,
        table: Map<String, Value>,
    ) -> BTreeMap<String, T> {
        let typed = table.into_iter().filter_map(|(name, value)| {
            self.typed(&format!("{section}.{name}"), value).map(|typed| (name, typed))
        });
        typed.collect()
    }

    /// Reads a table whose keys and shapes are checked: only a missing key can be wrong.
    fn typed<T: DeserializeOwned>(&mut self, key: &str, value: Value) -> Option<T> {
        match value.try_deserialize() {
            Ok(typed) => Some(typed),
            Err(config::ConfigError::NotFound(missing)) => {
                self.add(key, format!("lacks `{missing}`"), format!("add {missing} = …"));
                None
            }
            Err(error) => {
                self.add(key, error.to_string(), "see `linelamp config init --print`");
                None
            }
        }
    }
}

fn members(value: &Value) -> Option<&Map<String, Value>> {
    match &value.kind {
        ValueKind::Table(members) => Some(members),
        _ => None,
    }
}

fn text(table: &Map<String, Value>, key: &str) -> Option<String> {
    table.get(key).and_then(|value| value.clone().into_string().ok())
}
