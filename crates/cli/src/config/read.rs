//! Reading a layer from where it is.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::path::Path;

use super::check::shape_at;
use super::error::Problem;
use super::keys::Shape;
use super::layer::{Layer, LayerKind};
use super::node::{Data, Node, parse_file, parse_value};
use super::source::Setting;
use crate::env::KEY_PREFIX;

/// A file; none if it is not there and need not be.
pub(super) fn file(kind: LayerKind, path: &Path, required: bool) -> Result<Option<Layer>, Problem> {
    let place = path.display().to_string();
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !required => return Ok(None),
        Err(error) => {
            return Err(Problem::new(place, "", format!("cannot be read: {error}"))
                .hint("make it readable, or take it away"));
        }
    };
    let text = String::from_utf8(bytes).map_err(|error| {
        let byte = error.utf8_error().valid_up_to();
        Problem::new(&*place, "", format!("is not UTF-8 (byte {byte})")).hint("save it as UTF-8")
    })?;
    // Some editors put a mark before the first character.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let root = parse_file(text).map_err(|(line, column, message)| {
        let message = message.lines().next().unwrap_or("this is no TOML").to_owned();
        Problem::new(format!("{place}:{line}:{column}"), "", message)
            .hint("a text stands in double quotes, a list in [ ], a table begins with [name]")
    })?;
    Ok(Some(Layer { kind, file: Some(path.to_owned()), root }))
}

/// The names that lower layers give in each section, so that variables, which can hold no hyphen and are
/// written in capitals, can mean them.
pub(super) type Names = BTreeMap<String, BTreeSet<String>>;

/// Environment variables.
pub(super) fn environment(
    variables: &[(OsString, OsString)],
    names: &Names,
) -> Result<Layer, Vec<Problem>> {
    let settings = variables.iter().map(|(name, value)| {
        let place = name.display().to_string();
        let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else {
            return Err(Problem::new(place, "", "is not UTF-8"));
        };
        let path: Vec<String> = name
            .strip_prefix(KEY_PREFIX)
            .unwrap_or(name)
            .split("__")
            .map(str::to_lowercase)
            .collect();
        Ok((place, meant(path, names), value.to_owned()))
    });
    build(LayerKind::Environment, settings.collect())
}

/// What the command line sets.
pub(super) fn flags(settings: &[Setting]) -> Result<Layer, Vec<Problem>> {
    let settings = settings.iter().map(|setting| {
        let path = setting.key.split('.').map(str::to_owned).collect();
        Ok((setting.flag.clone(), path, setting.value.clone()))
    });
    build(LayerKind::Flag, settings.collect())
}

type Parts = (String, Vec<String>, String);

fn build(kind: LayerKind, settings: Vec<Result<Parts, Problem>>) -> Result<Layer, Vec<Problem>> {
    let mut root = Node::root();
    let mut problems = Vec::new();
    for setting in settings {
        let (place, path, value) = match setting {
            Ok(parts) => parts,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        let key = path.join(".");
        if path.iter().any(String::is_empty) {
            problems.push(
                Problem::new(place, key, "has an empty part").hint(format!(
                    "write {KEY_PREFIX}TABLE__KEY, e.g. {KEY_PREFIX}DAEMON__LOG_LEVEL"
                )),
            );
            continue;
        }
        let keys: Vec<&str> = path.iter().map(String::as_str).collect();
        let node = match shape_at(&keys) {
            // Where a text is expected, `5` and `true` are texts as well.
            Some(Shape::Text | Shape::Word(_)) => {
                Node { line: None, name: Some(place.clone()), data: Data::Text(value) }
            }
            _ => parse_value(&value, &place),
        };
        if !root.set(&path, node) {
            problems.push(Problem::new(place, key, "is set inside a value that is no table"));
        }
    }
    if problems.is_empty() { Ok(Layer { kind, file: None, root }) } else { Err(problems) }
}

/// `sinks.my_hook` where only `my-hook` is known.
fn meant(mut path: Vec<String>, names: &Names) -> Vec<String> {
    if let [section, name, ..] = path.as_mut_slice()
        && let Some(known) = names.get(section.as_str())
        && !known.contains(name.as_str())
        && let Some(other) = known.iter().find(|other| other.replace('-', "_") == *name)
    {
        name.clone_from(other);
    }
    path
}
