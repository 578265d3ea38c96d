//! Every key of our own tables: its name, what it takes and what it is for. Checking, the starter file
//! and the hints of error messages all read this table.

/// What a key takes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// `true` or `false`.
    Bool,
    /// Any text but an empty one.
    Text,
    /// A whole number within bounds.
    Number { min: i64, max: i64 },
    /// One of some words.
    Word(&'static [&'static str]),
    /// A list of texts.
    Texts,
    /// A list of event kinds, in which `*` stands for anything; `!` takes away again.
    Kinds,
    /// A list of states of a session.
    States,
    /// A table with keys of its own.
    Table(&'static [Key]),
}

/// One key.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) about: &'static str,
}

const fn key(name: &'static str, shape: Shape, about: &'static str) -> Key {
    Key { name, shape, about }
}

use Shape::{Bool, Kinds, Number, States, Table, Text, Texts, Word};

/// The tables at the top.
pub(super) const SECTIONS: [&str; 6] = ["daemon", "feeds", "sinks", "plugins", "agents", "rules"];

/// `[daemon]`
pub(super) const DAEMON: &[Key] = &[
    key(
        "log_level",
        Word(&["error", "warn", "info", "debug", "trace"]),
        "how much the daemon writes into its log",
    ),
    key("log_size_mib", Number { min: 1, max: 1024 }, "the log is rotated at this size"),
    key("log_files", Number { min: 1, max: 100 }, "how many log files are kept"),
    key(
        "drain_seconds",
        Number { min: 0, max: 300 },
        "how long sinks may finish when the daemon stops",
    ),
];

const ENABLED: Key = key("enabled", Bool, "false switches it off");
const KIND: Key = key("kind", Text, "which built-in component it is");
const PLUGIN: Key = key("plugin", Text, "instead of a kind: the plugin that brings the component");
const COMPONENT: Key = key("component", Text, "which component of the plugin it is");
const FILTER: Key =
    key("filter", Table(FILTERS), "what reaches the sink; without it everything does");

/// The reserved keys of `[feeds.NAME]`; all others are options of the component.
pub(super) const FEED: &[Key] = &[KIND, PLUGIN, COMPONENT, ENABLED];

/// The reserved keys of `[sinks.NAME]`; all others are options of the component.
pub(super) const SINK: &[Key] = &[
    KIND,
    PLUGIN,
    COMPONENT,
    ENABLED,
    FILTER,
    key(
        "detail",
        Word(&["metadata", "content"]),
        "`content` also sends prompts, replies and tool data",
    ),
    key("durable", Bool, "whether deliveries survive a restart of the daemon"),
];

/// A filter: all its lists must agree, a list agrees if one of its patterns does.
pub(super) const FILTERS: &[Key] = &[
    key("kinds", Kinds, "kinds of events, e.g. \"turn.*\"; \"!tool.*\" takes away again"),
    key("agents", Texts, "names of agents"),
    key("sessions", Texts, "ids of sessions, alone or as AGENT:ID"),
    key("states", States, "states that a session must have come to"),
];

/// `[plugins.NAME]`
pub(super) const PLUGINS: &[Key] = &[
    key("path", Text, "the plugin's shared library"),
    key("command", Texts, "instead of a path: a program that speaks the plugin protocol"),
    key("sha256", Text, "the only content of the library that is loaded"),
    ENABLED,
];

/// `[agents.NAME]`
pub(super) const AGENTS: &[Key] = &[
    key("dialect", Word(&["claude-code"]), "the agent whose protocol this one speaks"),
    key("programs", Texts, "names of its program; without them the agent's name"),
    ENABLED,
];

/// `[[rules]]`
pub(super) const RULES: &[Key] = &[
    key("name", Text, "a name for messages about the rule"),
    key("when", Table(FILTERS), "which events it is about"),
    key("sinks", Texts, "which sinks it is about; without it all"),
    key("action", Word(&["send", "mute"]), "what to do with such events"),
];

/// `[sinks.NAME]` in a project's file.
pub(super) const PROJECT_SINK: &[Key] = &[
    key("enabled", Bool, "false keeps this project's events from the sink"),
    key("detail", Word(&["metadata", "content"]), "metadata only, whatever the user allows"),
    FILTER,
];

/// Keys at the top of a project's file.
pub(super) const PROJECT: &[Key] =
    &[key("mute", Bool, "true keeps this project's events from all sinks but the store")];

/// Kinds of feeds that are built in.
pub(super) const FEED_KINDS: &[&str] = &["hooks", "wrap", "transcript", "status", "process"];

/// Options of the feeds that follow files.
const FOLLOW: &[Key] = &[key(
    "folders",
    Texts,
    "where agents keep their settings and sessions, e.g. \"~/.claude\"; one for each account",
)];

/// Names of feeds and sinks that have their place and are not built yet.
pub(super) const LATER: &[&str] = &["replay", "command", "http", "metrics", "slack", "discord"];

/// Kinds of sinks that are built in.
pub(super) const SINK_KINDS: &[&str] = &["store", "jsonl", "webhook", "desktop"];

/// Options of built-in components that are no factory of their own, by kind; none for the others, which
/// check theirs when they are built.
pub(super) fn options(kind: &str) -> Option<&'static [Key]> {
    match kind {
        "hooks" | "wrap" | "process" => Some(&[]),
        "transcript" | "status" => Some(FOLLOW),
        _ => None,
    }
}

/// What holds without any file.
pub(super) const DEFAULTS: &str = r#"
[daemon]
log_level = "info"
log_size_mib = 10
log_files = 3
drain_seconds = 5

[feeds.hooks]
kind = "hooks"

[feeds.wrap]
kind = "wrap"

[feeds.transcript]
kind = "transcript"

[feeds.status]
kind = "status"

[feeds.process]
kind = "process"

[sinks.store]
kind = "store"

[sinks.desktop]
kind = "desktop"
"#;

/// Where a project's filters and rules are kept apart from the user's while layers are merged. No file
/// can name these: they are no valid keys.
pub(super) const PROJECT_FILTER: &str = "project-filter";
pub(super) const PROJECT_RULES: &str = "project-rules";
