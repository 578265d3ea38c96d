//! From sources to the typed configuration: read, check each layer, join, check what keys mean together.

use std::collections::BTreeMap;

use config::{Map, Value, ValueKind};
use linelamp_core::bus::Filter;
use linelamp_core::detail::Detail;
use linelamp_core::sink::BuildError;
use serde::de::DeserializeOwned;

use super::check::{check, check_option};
use super::error::{ConfigError, Problem};
use super::keys::{self, DEFAULTS, FEED_KINDS, PROJECT_FILTER, PROJECT_RULES, SINK, SINK_KINDS};
use super::layer::{Layer, LayerKind};
use super::model::{Component, Config, Maker, Rule, SinkConfig, to_json};
use super::nearest::nearest;
use super::node::{Data, Node, parse_file};
use super::read::{self, Names};
use super::source::Sources;

impl Config {
    /// Reads, checks and joins all layers.
    ///
    /// # Errors
    ///
    /// With everything that is wrong in any of them.
    pub(crate) fn load(sources: &Sources) -> Result<Self, ConfigError> {
        Loaded::load(sources).map(|loaded| loaded.config)
    }
}

/// The configuration with what it was made of.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The configuration.
    pub(crate) config: Config,
    pub(super) layers: Vec<Layer>,
    pub(super) merged: Map<String, Value>,
}

impl Loaded {
    /// As [`Config::load`].
    ///
    /// # Errors
    ///
    /// With everything that is wrong in any layer.
    pub(crate) fn load(sources: &Sources) -> Result<Self, ConfigError> {
        let layers = layers(sources)?;
        let merged = merge(&layers);
        let mut join = Join { layers: &layers, problems: Vec::new() };
        let config = join.config(&merged);
        ConfigError::unless_empty(join.problems)?;
        let config = config.expect("a configuration without problems is whole");
        Ok(Self { config, layers, merged })
    }

    /// A problem with an option of a component, told with the place where the option stands. `key` is the
    /// component's full key, e.g. `sinks.hook`.
    fn option_problem(&self, key: &str, option: &str, message: &str) -> Problem {
        let full = format!("{key}.{option}");
        let path: Vec<&str> = full.split('.').collect();
        // An option that is missing is told at its component.
        let end = (1..=path.len()).rev().find(|end| origin(&self.layers, &path[..*end]).is_some());
        let place = end.and_then(|end| origin(&self.layers, &path[..end]));
        let place = place.map_or_else(String::new, |(layer, node)| layer.place(node));
        Problem::new(place, full, message)
    }

    /// Has every sink that is switched on looked at by `build`, which knows the built-in kinds.
    ///
    /// # Errors
    ///
    /// With everything that the sinks do not accept.
    pub(crate) fn check_sinks(
        &self,
        build: &dyn Fn(&str, &serde_json::Value) -> Result<(), BuildError>,
    ) -> Result<(), ConfigError> {
        let mut problems = Vec::new();
        for (name, sink) in self.config.sinks.iter().filter(|(_, sink)| sink.component.enabled) {
            let Maker::Kind(kind) = &sink.component.maker else { continue };
            let key = format!("sinks.{name}");
            match build(kind, &sink.component.options) {
                Ok(()) => {}
                Err(BuildError::Option { key: option, problem }) => {
                    problems.push(self.option_problem(&key, &option, &problem));
                }
                Err(error) => problems.push(self.option_problem(&key, "kind", &error.to_string())),
            }
        }
        ConfigError::unless_empty(problems)
    }

    /// The files that were read, lowest layer first.
    pub(crate) fn files(&self) -> impl Iterator<Item = &std::path::Path> {
        self.layers.iter().filter_map(|layer| layer.file.as_deref())
    }
}

/// The layer that decides about a path, and what it says there.
pub(super) fn origin<'a>(layers: &'a [Layer], path: &[&str]) -> Option<(&'a Layer, &'a Node)> {
    layers
        .iter()
        .rev()
        .find_map(|layer| layer.root.at(path.iter().copied()).map(|node| (layer, node)))
}

fn layers(sources: &Sources) -> Result<Vec<Layer>, ConfigError> {
    let root = parse_file(DEFAULTS).expect("the defaults are TOML");
    let mut layers = vec![Layer { kind: LayerKind::Default, file: None, root }];
    let mut problems = Vec::new();
    let files = [
        (LayerKind::System, sources.system.as_deref(), false),
        (LayerKind::User, sources.user.as_deref(), sources.user_required),
        (LayerKind::Project, sources.project.as_deref(), false),
    ];
    for (kind, path, required) in files {
        let Some(path) = path else { continue };
        match read::file(kind, path, required) {
            Ok(layer) => layers.extend(layer),
            Err(problem) => problems.push(problem),
        }
    }
    match read::environment(&sources.environment, &names(&layers)) {
        Ok(layer) => layers.push(layer),
        Err(more) => problems.extend(more),
    }
    match read::flags(&sources.flags) {
        Ok(layer) => layers.push(layer),
        Err(more) => problems.extend(more),
    }
    problems.extend(layers.iter().flat_map(check));
    ConfigError::unless_empty(problems)?;
    set_project_apart(&mut layers);
    Ok(layers)
}

fn names(layers: &[Layer]) -> Names {
    let mut names = Names::new();
    for (section, node) in layers.iter().filter_map(|layer| layer.root.table()).flatten() {
        let members = node.table().into_iter().flatten();
        names.entry(section.clone()).or_default().extend(members.map(|(name, _)| name.clone()));
    }
    names
}

/// What a project says must be added to what the user says, not replace it; and sinks that this user does
/// not have are nothing to the project.
fn set_project_apart(layers: &mut [Layer]) {
    let Some(at) = layers.iter().position(|layer| layer.kind == LayerKind::Project) else { return };
    let names = names(&layers[..at]);
    let Some(root) = layers[at].root.table_mut() else { return };
    if let Some(rules) = root.remove("rules") {
        root.insert(PROJECT_RULES.to_owned(), rules);
    }
    let Some(sinks) = root.get_mut("sinks").and_then(Node::table_mut) else { return };
    sinks.retain(|name, _| names.get("sinks").is_some_and(|known| known.contains(name)));
    for sink in sinks.values_mut().filter_map(Node::table_mut) {
        if let Some(filter) = sink.remove("filter") {
            sink.insert(PROJECT_FILTER.to_owned(), filter);
        }
    }
}

fn merge(layers: &[Layer]) -> Map<String, Value> {
    let mut builder = config::Config::builder();
    for layer in layers {
        builder = builder.add_source(layer.clone());
    }
    let merged = builder.build().expect("layers are tables and cannot fail to be read");
    members(&merged.cache).cloned().unwrap_or_default()
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

    fn component<P>(
        &mut self,
        key: &str,
        table: &Map<String, Value>,
        kinds: &[&str],
        plugins: &BTreeMap<String, P>,
    ) -> Option<Component> {
        let maker = match (text(table, "kind"), text(table, "plugin"), text(table, "component")) {
            (Some(kind), None, None) if kinds.contains(&kind.as_str()) => Maker::Kind(kind),
            (Some(kind), None, None) => {
                let near = nearest(&kind, kinds.iter().copied()).unwrap_or_default();
                let hint = format!("the nearest kind is \"{near}\"");
                self.add(&format!("{key}.kind"), "names nothing that is built in", hint);
                return None;
            }
            (None, Some(plugin), Some(component)) if plugins.contains_key(&plugin) => {
                Maker::Plugin { plugin, component }
            }
            (None, Some(plugin), Some(_)) => {
                let hint = match nearest(&plugin, plugins.keys().map(String::as_str)) {
                    Some(near) => format!("the nearest in [plugins] is \"{near}\""),
                    None => format!("declare it: [plugins.{plugin}] path = \"…\""),
                };
                self.add(&format!("{key}.plugin"), "names no plugin", hint);
                return None;
            }
            (None, Some(_), None) => {
                self.add(key, "names a plugin and no component of it", "add component = \"…\"");
                return None;
            }
            (Some(_), _, _) => {
                let hint = "take `kind` away, or `plugin` and `component`";
                self.add(key, "has a kind and a plugin", hint);
                return None;
            }
            (None, None, _) => {
                let name = key.rsplit('.').next().unwrap_or(key);
                let near = nearest(name, kinds.iter().copied()).unwrap_or_default();
                self.add(key, "does not say what it is", format!("add kind = \"{near}\""));
                return None;
            }
        };
        let enabled =
            table.get("enabled").is_none_or(|value| value.clone().into_bool().unwrap_or(true));
        let ours = |name: &str| name == PROJECT_FILTER || SINK.iter().any(|key| key.name == name);
        let options = table.iter().filter(|(name, _)| !ours(name));
        let options: serde_json::Map<_, _> =
            options.map(|(name, value)| (name.clone(), to_json(value))).collect();
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

    fn plugins(&mut self, plugins: &BTreeMap<String, super::model::Plugin>) {
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
