//! From sources to the typed configuration: read, check each layer, join, check what keys mean together.

use config::{Map, Value, ValueKind};
use linelamp_core::sink::BuildError;

use super::check::check;
use super::error::{ConfigError, Problem};
use super::join::join;
use super::keys::{DEFAULTS, PROJECT_FILTER, PROJECT_RULES};
use super::layer::{Layer, LayerKind};
use super::model::{Config, Maker};
use super::node::{Node, parse_file};
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
        let config = join(&layers, &merged)?;
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
    match merged.cache.kind {
        ValueKind::Table(members) => members,
        _ => Map::new(),
    }
}
