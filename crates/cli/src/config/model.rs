//! The configuration as the rest of the program uses it.

use std::collections::BTreeMap;

use linelamp_core::bus::Filter;
use linelamp_core::detail::Detail;
use serde::Deserialize;
use serde_json::{Map, Value};

/// All of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Config {
    /// The daemon itself.
    pub(crate) daemon: Daemon,
    /// Feeds by name, those that are switched off as well.
    pub(crate) feeds: BTreeMap<String, Component>,
    /// Sinks by name, those that are switched off as well.
    pub(crate) sinks: BTreeMap<String, SinkConfig>,
    /// Plugins by name.
    pub(crate) plugins: BTreeMap<String, Plugin>,
    /// Agents that are described here, by name.
    pub(crate) agents: BTreeMap<String, Agent>,
    /// Rules, those of the project last.
    pub(crate) rules: Vec<Rule>,
    /// True if the project asks for silence.
    pub(crate) muted: bool,
}

impl Config {
    /// What is asked for and has no effect in this version, for warnings.
    pub(crate) fn without_effect(&self) -> Vec<String> {
        let mut found = Vec::new();
        if !self.rules.is_empty() {
            found.push(
                "`[[rules]]` are not applied yet: every sink gets what its own filter lets through",
            );
        }
        if !self.agents.is_empty() {
            found.push("`[agents]` are not used yet: only built-in agents are known");
        }
        if self.plugins.values().any(|plugin| plugin.enabled) {
            found.push("`[plugins]` are not loaded yet");
        }
        if self.muted {
            found.push("`mute` is not applied yet");
        }
        found.into_iter().map(str::to_owned).collect()
    }
}

/// `[daemon]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Daemon {
    /// `error`, `warn`, `info`, `debug` or `trace`.
    pub(crate) log_level: String,
    /// The log is rotated at this size.
    pub(crate) log_size_mib: u64,
    /// How many log files are kept.
    pub(crate) log_files: usize,
    /// How long sinks may finish when the daemon stops.
    pub(crate) drain_seconds: u64,
}

/// What makes a feed or a sink, and with which options.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Component {
    /// What makes it.
    pub(crate) maker: Maker,
    /// False if it is switched off.
    pub(crate) enabled: bool,
    /// All keys that are not ours: a JSON object.
    pub(crate) options: Value,
}

/// What makes a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Maker {
    /// One that is built in.
    Kind(String),
    /// A component of a plugin.
    Plugin {
        /// The plugin's name in `[plugins]`.
        plugin: String,
        /// The component's name in the plugin.
        component: String,
    },
}

/// `[sinks.NAME]`
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SinkConfig {
    /// What it is.
    pub(crate) component: Component,
    /// What reaches it: what passes all of these, the user's first, then the project's.
    pub(crate) filters: Vec<Filter>,
    /// How much of an event it gets.
    pub(crate) detail: Detail,
    /// Whether deliveries survive a restart, if the user decided it.
    pub(crate) durable: Option<bool>,
}

/// `[plugins.NAME]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Plugin {
    /// The shared library.
    pub(crate) path: Option<String>,
    /// Or the program with its arguments.
    #[serde(default)]
    pub(crate) command: Vec<String>,
    /// The only content of the library that is loaded.
    pub(crate) sha256: Option<String>,
    /// False if it is switched off.
    #[serde(default = "yes")]
    pub(crate) enabled: bool,
}

/// `[agents.NAME]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Agent {
    /// The agent whose protocol it speaks.
    pub(crate) dialect: String,
    /// Names of its program; if there are none, the agent's name.
    #[serde(default)]
    pub(crate) programs: Vec<String>,
    /// False if it is switched off.
    #[serde(default = "yes")]
    pub(crate) enabled: bool,
}

/// `[[rules]]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Rule {
    /// A name for messages.
    pub(crate) name: Option<String>,
    /// Which events.
    #[serde(default)]
    pub(crate) when: Filter,
    /// Which sinks; none are named for all.
    #[serde(default)]
    pub(crate) sinks: Vec<String>,
    /// What to do.
    pub(crate) action: Action,
}

/// What a rule does with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    /// Send it.
    Send,
    /// Keep it back.
    Mute,
}

fn yes() -> bool {
    true
}

/// A value of the `config` crate as JSON, for options.
pub(super) fn to_json(value: &config::Value) -> Value {
    use config::ValueKind as Kind;
    match &value.kind {
        Kind::Nil => Value::Null,
        Kind::Boolean(value) => Value::from(*value),
        Kind::I64(number) => Value::from(*number),
        Kind::U64(number) => Value::from(*number),
        Kind::Float(number) => Value::from(*number),
        Kind::String(text) => Value::from(text.as_str()),
        Kind::Array(values) => values.iter().map(to_json).collect(),
        Kind::Table(members) => Value::Object(
            members.iter().map(|(key, value)| (key.clone(), to_json(value))).collect::<Map<_, _>>(),
        ),
        // No layer makes these.
        Kind::I128(_) | Kind::U128(_) => Value::from(value.to_string()),
    }
}
