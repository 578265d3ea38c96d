//! One layer: what it says, and how the `config` crate gets it.

use std::path::PathBuf;

use config::{ConfigError, Map, Source, Value, ValueKind};

use super::node::{Data, Node};

/// Which layer, from the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LayerKind {
    /// What holds without any file.
    Default,
    /// The machine's file.
    System,
    /// The user's file.
    User,
    /// The project's file.
    Project,
    /// Environment variables.
    Environment,
    /// The command line.
    Flag,
}

impl LayerKind {
    /// The word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::System => "system",
            Self::User => "user",
            Self::Project => "project",
            Self::Environment => "environment",
            Self::Flag => "flag",
        }
    }
}

/// What one layer says.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub(super) kind: LayerKind,
    /// The file it was read from, if it was one.
    pub(super) file: Option<PathBuf>,
    pub(super) root: Node,
}

impl Layer {
    /// Where a value of this layer stands.
    pub(super) fn place(&self, node: &Node) -> String {
        match (&self.file, node.line, &node.name) {
            (Some(file), Some(line), _) => format!("{}:{line}", file.display()),
            (Some(file), None, _) => file.display().to_string(),
            (None, _, Some(name)) => name.clone(),
            (None, _, None) => "built in".to_owned(),
        }
    }
}

/// The `config` crate lays tables over one another; what is no table is replaced.
impl Source for Layer {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, Value>, ConfigError> {
        let members = self.root.table().into_iter().flatten();
        Ok(members.map(|(key, node)| (key.clone(), value(node))).collect())
    }
}

fn value(node: &Node) -> Value {
    let kind = match &node.data {
        Data::Table(members) => {
            ValueKind::Table(members.iter().map(|(key, node)| (key.clone(), value(node))).collect())
        }
        Data::List(nodes) => ValueKind::Array(nodes.iter().map(value).collect()),
        Data::Text(text) => ValueKind::String(text.clone()),
        Data::Integer(number) => ValueKind::I64(*number),
        Data::Float(number) => ValueKind::Float(*number),
        Data::Bool(value) => ValueKind::Boolean(*value),
    };
    Value::new(None, kind)
}
