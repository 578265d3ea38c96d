//! The promises of the configuration.

use std::fs;
use std::path::PathBuf;

use linelamp_core::detail::Detail;
use linelamp_core::sink::BuildError;
use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;

use super::error::ConfigError;
use super::init::starter_in_full;
use super::keys::{AGENTS, DAEMON, FEED, Key, PLUGINS, PROJECT_SINK, RULES, SINK};
use super::model::{Action, Maker};
use super::{Config, Loaded, STARTER, Setting, Sources};

/// Sources in a folder of their own.
struct Place {
    folder: TempDir,
    sources: Sources,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder"), sources: Sources::default() }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).expect("writable");
        path
    }

    fn system(mut self, text: &str) -> Self {
        self.sources.system = Some(self.file("system.toml", text));
        self
    }

    fn user(mut self, text: &str) -> Self {
        self.sources.user = Some(self.file("user.toml", text));
        self
    }

    fn project(mut self, text: &str) -> Self {
        self.sources.project = Some(self.file(".linelamp.toml", text));
        self
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.sources.environment.push((name.into(), value.into()));
        self
    }

    fn flag(mut self, key: &str, value: &str) -> Self {
        let (key, value) = (key.to_owned(), value.to_owned());
        self.sources.flags.push(Setting { flag: "--set".to_owned(), key, value });
        self
    }

    fn load(&self) -> Result<Loaded, ConfigError> {
        Loaded::load(&self.sources)
    }

    fn config(&self) -> Config {
        match self.load() {
            Ok(loaded) => loaded.config,
            Err(error) => panic!("{error}"),
        }
    }

    /// The message, without the folder.
    fn error(&self) -> String {
        let error = self.load().expect_err("a mistake").to_string();
        error.replace(&format!("{}/", self.folder.path().display()), "")
    }
}

fn user(text: &str) -> Place {
    Place::new().user(text)
}

#[test]
fn without_any_file_hooks_and_wrapped_agents_reach_store_and_desktop() {
    let config = Place::new().config();
    let names = |names: Vec<&String>| names.into_iter().cloned().collect::<Vec<_>>();
    let feeds = ["hooks", "process", "status", "transcript", "wrap"];
    assert_eq!(names(config.feeds.keys().collect()), feeds);
    assert_eq!(names(config.sinks.keys().collect()), ["desktop", "store"]);
    assert!(config.feeds.values().all(|feed| feed.enabled));
    for sink in config.sinks.values() {
        assert!(sink.component.enabled && sink.filters.is_empty() && sink.durable.is_none());
        assert_eq!(sink.detail, Detail::Metadata);
        assert_eq!(sink.component.options, json!({}));
    }
    assert_eq!((config.daemon.log_level.as_str(), config.daemon.log_files), ("info", 3));
    assert!(!config.muted && config.rules.is_empty());
}

#[test]
fn a_file_that_is_not_there_is_no_mistake_unless_it_was_named() {
    let mut place = Place::new();
    place.sources.user = Some(place.folder.path().join("user.toml"));
    assert!(place.load().is_ok());
    place.sources.user_required = true;
    assert!(place.error().starts_with("user.toml: cannot be read"), "{}", place.error());
    place.sources.user = Some(place.folder.path().to_owned());
    assert!(place.load().is_err(), "a folder is no file");
}

#[test]
fn our_keys_are_split_from_the_options_of_the_component() {
    let config = user(
        r#"
        [sinks.team]
        kind = "webhook"
        enabled = false
        detail = "content"
        durable = true
        filter = { kinds = ["turn.*"], agents = ["claude-code"] }
        url = "https://example.com"
        timeout_seconds = 5
        headers = { X-Team = "a" }
        list = [1, 2.5, true]

        [plugins.chat]
        path = "/lib/chat.so"

        [sinks.room]
        plugin = "chat"
        component = "room"
        "#,
    )
    .config();
    let team = &config.sinks["team"];
    assert_eq!(team.component.maker, Maker::Kind("webhook".to_owned()));
    assert_eq!(
        (team.component.enabled, team.detail, team.durable),
        (false, Detail::Content, Some(true))
    );
    assert_eq!(team.filters[0].kinds, ["turn.*"]);
    let options = json!({
        "url": "https://example.com",
        "timeout_seconds": 5,
        "headers": {"X-Team": "a"},
        "list": [1, 2.5, true],
    });
    assert_eq!(team.component.options, options);
    let maker = Maker::Plugin { plugin: "chat".to_owned(), component: "room".to_owned() };
    assert_eq!(config.sinks["room"].component.maker, maker);
}

#[test]
fn a_mistake_is_told_with_file_line_key_and_what_would_be_right() {
    let cases = [
        (
            "[deamon]\nlog_level = \"info\"",
            "user.toml:1: `deamon` is no known key; the nearest valid key is `daemon`",
        ),
        (
            "[daemon]\n\nlog_levle = \"info\"",
            "user.toml:3: `daemon.log_levle` is no known key; the nearest valid key is `log_level`",
        ),
        (
            "[daemon]\nlog_level = \"debgu\"",
            "user.toml:2: `daemon.log_level` is the text \"debgu\", expected \"error\" or \"warn\" or \"info\" or \"debug\" or \"trace\"; the nearest is \"debug\"",
        ),
        (
            "[daemon]\nlog_files = 0",
            "user.toml:2: `daemon.log_files` is the number 0, expected a whole number from 1 to 100; how many log files are kept",
        ),
        (
            "[daemon]\nlog_files = \"3\"",
            "user.toml:2: `daemon.log_files` is the text \"3\", expected a whole number from 1 to 100; how many log files are kept",
        ),
        (
            "daemon = 1",
            "user.toml:1: `daemon` is the number 1, expected a table; write [daemon] with keys below it",
        ),
        (
            "[sinks.a]\nkind = \"webhok\"",
            "user.toml:2: `sinks.a.kind` names nothing that is built in; the nearest kind is \"webhook\"",
        ),
        (
            "[sinks.a]\nurl = \"x\"",
            "user.toml:1: `sinks.a` does not say what it is; add `kind`; kinds are: store, jsonl, webhook, desktop",
        ),
        (
            "[sinks.a]\nkind = \"store\"\nplugin = \"b\"",
            "user.toml:1: `sinks.a` has a kind and a plugin; take `kind` away, or `plugin` and `component`",
        ),
        (
            "[sinks.a]\nplugin = \"b\"\ncomponent = \"c\"",
            "user.toml:2: `sinks.a.plugin` names no plugin; declare it: [plugins.b] path = \"…\"",
        ),
        (
            "[sinks.a]\nplugin = \"b\"\n[plugins.b]\npath = \"x\"",
            "user.toml:1: `sinks.a` names a plugin and no component of it; add component = \"…\"",
        ),
        (
            "[plugins.b]\nenabled = true",
            "user.toml:1: `plugins.b` needs one place to come from; give it either path = \"…\" or command = [\"…\"]",
        ),
        (
            "[sinks.desktop]\nenabled = \"yes\"",
            "user.toml:2: `sinks.desktop.enabled` is the text \"yes\", expected true or false; false switches it off",
        ),
        (
            "[sinks.desktop.filter]\nkind = [\"turn.ended\"]",
            "user.toml:2: `sinks.desktop.filter.kind` is no known key; the nearest valid key is `kinds`",
        ),
        (
            "[sinks.desktop]\nfilter.states = [\"idel\"]",
            "user.toml:2: `sinks.desktop.filter.states` names no state: \"idel\"; the nearest is \"idle\"",
        ),
        (
            "[sinks.desktop]\nfilter.agents = \"x\"",
            "user.toml:2: `sinks.desktop.filter.agents` is the text \"x\", expected a list of texts; names of agents",
        ),
        (
            "[sinks.desktop]\nfilter.kinds = [\"turn.*\", 5]",
            "user.toml:2: `sinks.desktop.filter.kinds` has the number 5 in its list; kinds of events, e.g. \"turn.*\"; \"!tool.*\" takes away again",
        ),
        (
            "[sinks.desktop]\nfilter.kinds = [\"turn.end\"]",
            "user.toml:2: `sinks.desktop.filter.kinds` names no kind of event: \"turn.end\"; the nearest is \"turn.ended\"",
        ),
        (
            "[feeds.hooks]\nfilter = {}",
            "user.toml:2: `feeds.hooks.filter` stands in a feed; only a sink has `filter`",
        ),
        (
            "[sinks.My_Sink]\nkind = \"store\"",
            "user.toml:1: `sinks.My_Sink` is no valid name; use a-z, 0-9, _ and -, at most 64 of them",
        ),
        (
            "[agents.mine]\nprograms = [\"x\"]",
            "user.toml:1: `agents.mine` lacks `dialect`; add dialect = …",
        ),
        (
            "[rules]\naction = \"mute\"",
            "user.toml:1: `rules` is a table, expected a list; write [[rules]] with two brackets",
        ),
        (
            "[[rules]]\naction = \"mute\"\n[[rules]]\naction = \"mute\"\nsinks = [\"desktob\"]",
            "user.toml:3: `rules[1]` names no sink: \"desktob\"; the nearest sink is \"desktop\"",
        ),
        ("[[rules]]\nname = \"x\"", "user.toml:1: `rules[0]` has no action; add action = \"mute\""),
    ];
    for (text, message) in cases {
        assert_eq!(user(text).error(), message, "{text}");
    }
}

#[test]
fn text_that_is_no_toml_is_told_with_line_and_column_and_never_quoted() {
    for text in ["[daemon\nx = 1", "secret = hunter2", "a = 1\na = 2", "x = \"hunter2"] {
        let error = user(text).error();
        assert!(error.starts_with("user.toml:"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
    let place = Place::new();
    let path = place.folder.path().join("user.toml");
    fs::write(&path, b"[daemon]\nx = \"\xff\"").expect("writable");
    let sources = Sources { user: Some(path), ..Sources::default() };
    let error = Loaded::load(&sources).expect_err("no text").to_string();
    assert!(error.contains("is not UTF-8 (byte 14)"), "{error}");
}

#[test]
fn all_mistakes_are_told_at_once_even_those_another_layer_covers() {
    let place = user("[daemon]\nlog_files = 0\nlog_level = \"loud\"\n[x]\n")
        .variable("LINELAMP__DAEMON__LOG_FILES", "5")
        .variable("LINELAMP__DAEMON__LOG", "5")
        .flag("daemon.drain_seconds", "soon");
    let error = place.load().expect_err("mistakes");
    assert_eq!(error.problems().len(), 5, "{error}");
    assert!(error.to_string().contains("LINELAMP__DAEMON__LOG: `daemon.log` is no known key"));
    assert!(error.to_string().contains("--set: `daemon.drain_seconds` is the text \"soon\""));
}

#[test]
fn variables_reach_every_key_and_mean_the_names_in_the_files() {
    let config = user("[sinks.my-team]\nkind = \"webhook\"\n")
        .variable("LINELAMP__SINKS__MY_TEAM__URL", "https://example.com")
        .variable("LINELAMP__SINKS__MY_TEAM__FILTER__KINDS", "[\"turn.*\"]")
        .variable("LINELAMP__SINKS__MY_TEAM__RETRIES", "3")
        .variable("LINELAMP__SINKS__MY_TEAM__NAME", "\"3\"")
        .variable("LINELAMP__SINKS__DESKTOP__ENABLED", "false")
        .variable("LINELAMP__SINKS__NEW__KIND", "jsonl")
        .variable("LINELAMP__DAEMON__LOG_LEVEL", "debug")
        .config();
    let team = &config.sinks["my-team"];
    let options = json!({"url": "https://example.com", "retries": 3, "name": "3"});
    assert_eq!(team.component.options, options);
    assert_eq!(team.filters[0].kinds, ["turn.*"]);
    assert!(!config.sinks["desktop"].component.enabled);
    assert!(config.sinks.contains_key("new"));
    assert_eq!(config.daemon.log_level, "debug");
    for name in ["LINELAMP__", "LINELAMP__DAEMON____X", "LINELAMP__DAEMON"] {
        assert!(Place::new().variable(name, "1").load().is_err(), "{name}");
    }
}

#[test]
fn a_project_may_only_mute_or_narrow() {
    let config = user(
        "[sinks.team]\nkind = \"webhook\"\ndetail = \"content\"\nfilter.kinds = [\"turn.*\"]\n[[rules]]\naction = \"send\"",
    )
    .project(
        r#"
        mute = true
        [sinks.team]
        detail = "metadata"
        filter.kinds = ["permission.*"]
        [sinks.desktop]
        enabled = false
        [sinks.somebody-elses]
        enabled = false
        [[rules]]
        when.agents = ["x"]
        sinks = ["somebody-elses"]
        action = "mute"
        "#,
    )
    .config();
    assert!(config.muted);
    let team = &config.sinks["team"];
    assert_eq!(team.detail, Detail::Metadata);
    // Both filters must agree: a project cannot let through what the user holds back.
    assert_eq!(team.filters.len(), 2);
    assert_eq!(team.filters[0].kinds, ["turn.*"]);
    assert_eq!(team.filters[1].kinds, ["permission.*"]);
    assert!(!config.sinks["desktop"].component.enabled);
    assert!(!config.sinks.contains_key("somebody-elses"));
    let actions: Vec<_> = config.rules.iter().map(|rule| rule.action).collect();
    assert_eq!(actions, [Action::Send, Action::Mute]);

    for wide in [
        "[plugins.x]\npath = \"/tmp/x.so\"",
        "[sinks.x]\nkind = \"webhook\"",
        "[sinks.desktop]\nenabled = true",
        "[sinks.desktop]\ndetail = \"content\"",
        "[sinks.desktop]\nurl = \"https://example.com\"",
        "[sinks.desktop]\nproject-filter = {}",
        "[daemon]\nlog_level = \"error\"",
        "[feeds.hooks]\nenabled = false",
        "[agents.x]\ndialect = \"claude-code\"",
        "[[rules]]\naction = \"send\"",
        "mute = 1",
        "nonsense = 1",
    ] {
        let error = Place::new().project(wide).error();
        assert!(error.starts_with(".linelamp.toml:"), "{error}");
    }
    assert!(user("mute = true").load().is_err(), "only a project mutes as a whole");
}

#[test]
fn a_projects_file_is_found_in_its_folder_or_at_the_root_of_its_repository() {
    let root = tempfile::tempdir().expect("a folder");
    let inner = root.path().join("a/b");
    fs::create_dir_all(&inner).expect("a folder");
    let found = || Sources::default().with_project(&inner).project;
    fs::write(root.path().join(".linelamp.toml"), "").expect("writable");
    assert_eq!(found(), None, "a folder above that is no repository says nothing");
    fs::create_dir(root.path().join(".git")).expect("a folder");
    assert_eq!(found(), Some(root.path().join(".linelamp.toml")));
    fs::write(inner.join(".linelamp.toml"), "").expect("writable");
    assert_eq!(found(), Some(inner.join(".linelamp.toml")));
}

#[test]
fn every_value_is_shown_with_the_layer_that_decided_it() {
    let place = Place::new()
        .system("[daemon]\nlog_files = 4\nlog_level = \"warn\"")
        .user("[daemon]\nlog_level = \"error\"\n")
        .project("[sinks.desktop]\nenabled = false")
        .variable("LINELAMP__DAEMON__LOG_SIZE_MIB", "1")
        .flag("daemon.drain_seconds", "1");
    let rows = place.load().expect("valid").rows();
    let place_of = |key: &str| {
        let row = rows.iter().find(|row| row.key == key).expect("shown");
        let file = row.place.rsplit('/').next().unwrap_or_default().to_owned();
        (row.value.clone(), row.layer, file)
    };
    for (key, value, layer, place) in [
        ("daemon.log_files", json!(4), "system", "system.toml:2"),
        ("daemon.log_level", json!("error"), "user", "user.toml:2"),
        ("sinks.desktop.enabled", json!(false), "project", ".linelamp.toml:2"),
        ("daemon.log_size_mib", json!(1), "environment", "LINELAMP__DAEMON__LOG_SIZE_MIB"),
        ("daemon.drain_seconds", json!(1), "flag", "--set"),
        ("sinks.store.kind", json!("store"), "default", "built in"),
    ] {
        assert_eq!(place_of(key), (value, layer, place.to_owned()), "{key}");
    }
}

#[test]
fn secrets_are_shown_as_references_only() {
    let loaded = user(
        r#"
        [sinks.team]
        kind = "webhook"
        url = "https://user:hunter2@example.com/hunter2"
        secret = "hunter2"
        old_secrets = ["hunter2", "env:OLD"]
        headers = { X-Plain = "hunter2", X-Ref = "file:/run/secret" }
        nested = { api_key = "hunter2", list = [{ token = "hunter2" }] }
        "#,
    )
    .variable("LINELAMP__SINKS__TEAM__TOKEN", "hunter2")
    .load()
    .expect("valid");
    let rows = loaded.rows();
    let shown = serde_json::to_string(&rows).expect("JSON");
    assert!(!shown.contains("hunter2"), "{shown}");
    assert!(shown.contains("env:OLD") && shown.contains("file:/run/secret"));
    assert!(shown.contains("https://example.com/…"));
    assert_eq!(rows.iter().filter(|row| row.exposed).count(), 6);
    let secret = user("[sinks.a]\nkind = \"hunter2 \"\nenabled = \"hunter2 and more\"").error();
    assert!(!secret.contains("hunter2"), "{secret}");
}

#[test]
fn a_sinks_own_complaint_is_told_with_its_place() {
    let loaded = user(
        "[sinks.team]\nkind = \"webhook\"\nurl = 5\n[sinks.off]\nkind = \"webhook\"\nenabled = false",
    )
    .load()
    .expect("valid");
    let wrong = |key: &str, problem: &str| {
        Err(BuildError::Option { key: key.to_owned(), problem: problem.to_owned() })
    };
    let told = |complaint: &dyn Fn() -> Result<(), BuildError>| {
        let build = |kind: &str, options: &serde_json::Value| {
            if kind != "webhook" {
                return Ok(());
            }
            assert_eq!(options, &json!({"url": 5}));
            complaint()
        };
        let error = loaded.check_sinks(&build).expect_err("a complaint").to_string();
        error.rsplit('/').next().unwrap_or_default().to_owned()
    };
    assert_eq!(told(&|| wrong("url", "is no URL")), "user.toml:3: `sinks.team.url` is no URL");
    assert_eq!(
        told(&|| wrong("secret", "is missing")),
        "user.toml:1: `sinks.team.secret` is missing"
    );
    let broken = || Err(BuildError::Unavailable("no disk".into()));
    assert_eq!(told(&broken), "user.toml:2: `sinks.team.kind` no disk");
    assert!(loaded.check_sinks(&|_, _| Ok(())).is_ok());
}

#[test]
fn what_is_to_come_is_refused_by_that_name_and_what_has_no_effect_is_told() {
    for text in ["[feeds.replay]\nenabled = true", "[feeds.a]\nkind = \"replay\""] {
        assert!(user(text).error().contains("does not have yet"), "{text}");
    }
    let config = user("[[rules]]\nname = \"quiet\"\naction = \"mute\"").config();
    assert!(config.without_effect()[0].contains("rules"), "{:?}", config.without_effect());
    assert!(user("").config().without_effect().is_empty());
}

#[test]
fn options_of_feeds_are_checked_here_and_those_of_sinks_are_handed_on() {
    let config = user("[sinks.store]\nretention_days = 7").config();
    assert_eq!(config.sinks["store"].component.options, json!({"retention_days": 7}));
    assert_eq!(
        user("[feeds.hooks]\nenable = true").error(),
        "user.toml:2: `feeds.hooks.enable` is no known key; the nearest valid key is `enabled`"
    );
    let config = user("[feeds.transcript]\nfolders = [\"~/.claude\", \"/srv/other\"]").config();
    assert_eq!(config.feeds["transcript"].options, json!({"folders": ["~/.claude", "/srv/other"]}));
    assert_eq!(
        user("[feeds.status]\nfolder = []").error(),
        "user.toml:2: `feeds.status.folder` is no known key; the nearest valid key is `folders`"
    );
    assert!(user("[feeds.status]\nfolders = \"~/.claude\"").error().contains("a list of texts"));
}

#[test]
fn the_starter_file_changes_nothing_and_every_line_of_it_is_valid() {
    assert_eq!(user(STARTER).config(), Place::new().config());
    let all = starter_in_full();
    let config = user(&all).config();
    assert_eq!(config.sinks.len(), 4);
    assert_eq!((config.rules.len(), config.agents.len(), config.plugins.len()), (1, 1, 1));
    for key in DAEMON {
        assert!(all.contains(&format!("\n{} = ", key.name)), "{} is not in it", key.name);
    }
}

#[test]
fn every_key_says_what_it_is_for() {
    let tables: [&[Key]; 7] = [DAEMON, FEED, SINK, PLUGINS, AGENTS, RULES, PROJECT_SINK];
    for (index, key) in tables.iter().flat_map(|keys| keys.iter().enumerate()) {
        assert!(!key.about.is_empty() && !key.about.ends_with('.'), "{} ({index})", key.name);
        assert!(
            key.name
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || b"_0123456789".contains(&byte))
        );
    }
}

fn piece() -> impl Strategy<Value = String> {
    let key = "daemon|feeds|sinks|rules|plugins|agents|mute|hooks|kind|filter|kinds|x|log_files";
    let value = prop_oneof![
        Just("1".to_owned()),
        Just("true".to_owned()),
        Just("\"store\"".to_owned()),
        Just("[]".to_owned()),
        Just("{}".to_owned()),
        Just("[1, {a = 2}]".to_owned()),
        Just("{ kinds = [\"*\", 5] }".to_owned()),
        Just("1979-05-27".to_owned()),
        Just("99999999999999999999".to_owned()),
        Just("inf".to_owned()),
        "\\PC{0,6}",
    ];
    prop_oneof![
        (key, key).prop_map(|(a, b)| format!("[{a}.{b}]\n")),
        key.prop_map(|a| format!("[[{a}]]\n")),
        (key, value.clone()).prop_map(|(a, value)| format!("{a} = {value}\n")),
        (key, key, value).prop_map(|(a, b, value)| format!("{a}.{b} = {value}\n")),
    ]
}

proptest! {
    #[test]
    fn the_highest_layer_that_speaks_decides(layers in prop::collection::vec(any::<bool>(), 4)) {
        let mut place = Place::new();
        let mut expected = ("default", 3);
        let text = |number: usize| format!("[daemon]\nlog_files = {number}");
        if layers[0] {
            place = place.system(&text(11));
            expected = ("system", 11);
        }
        if layers[1] {
            place = place.user(&text(12));
            expected = ("user", 12);
        }
        if layers[2] {
            place = place.variable("LINELAMP__DAEMON__LOG_FILES", "13");
            expected = ("environment", 13);
        }
        if layers[3] {
            place = place.flag("daemon.log_files", "14");
            expected = ("flag", 14);
        }
        let loaded = place.load().expect("valid");
        let rows = loaded.rows();
        let row = rows.iter().find(|row| row.key == "daemon.log_files").expect("shown");
        prop_assert_eq!((row.layer, loaded.config.daemon.log_files), expected);
    }

    #[test]
    fn no_file_makes_it_fail_other_than_by_telling_why(
        pieces in prop::collection::vec(piece(), 0..6),
        value in "\\PC{0,10}",
        as_project in any::<bool>(),
    ) {
        let text = pieces.concat();
        let place = if as_project { Place::new().project(&text) } else { user(&text) };
        let place = place.variable("LINELAMP__SINKS__STORE__RETENTION_DAYS", &value);
        match place.load() {
            Ok(loaded) => prop_assert!(!loaded.rows().is_empty()),
            Err(error) => {
                for problem in error.problems() {
                    prop_assert!(!problem.place.is_empty(), "{} in {}", problem, text);
                }
            }
        }
    }
}
