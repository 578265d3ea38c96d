//! The promises about the user's settings file: only our entries come and go, and whatever goes wrong the
//! file is as it was.

use std::fs;
use std::path::{Path, PathBuf};

use linelamp_core::Timestamp;
use linelamp_drivers::claude_code::ignored::{HOOK, find};
use linelamp_drivers::claude_code::settings::{
    Choice, KNOWN_EVENTS, SettingsError, SettingsFile, hook_command, install, settings_path,
    status, uninstall, wanted,
};
use proptest::prelude::*;
use serde_json::{Value, json};

const COMMAND: &str = "'/usr/bin/linelamp' hook --agent claude-code";
const EVENTS: [&str; 3] = ["SessionStart", "Stop", "PermissionRequest"];

fn installed(text: &str) -> String {
    install(text, COMMAND, &EVENTS).expect("valid settings")
}

fn at() -> Timestamp {
    "2026-11-30T11:32:44Z".parse().expect("a timestamp")
}

/// The settings without our entries and without anything empty, as another program reads them.
fn foreign(text: &str) -> Value {
    let mut value: Value =
        serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_else(|_| json!({}));
    let Some(hooks) = value.get_mut("hooks").and_then(Value::as_object_mut) else { return value };
    for list in hooks.values_mut().filter_map(Value::as_array_mut) {
        list.retain(|group| !group.to_string().contains("linelamp"));
    }
    hooks.retain(|_, list| list.as_array().is_none_or(|list| !list.is_empty()));
    if hooks.is_empty() {
        value.as_object_mut().expect("it had hooks").remove("hooks");
    }
    value
}

#[test]
fn a_new_file_looks_like_one_written_by_hand() {
    let expected = r#"{
  "hooks": {
    "Stop": [
      { "hooks": [{ "type": "command", "command": "'/usr/bin/linelamp' hook --agent claude-code", "timeout": 5 }] }
    ]
  }
}
"#;
    assert_eq!(install("{}\n", COMMAND, &["Stop"]).expect("valid"), expected);
}

#[test]
fn our_entries_follow_the_layout_of_the_file() {
    let tabs = "{\n\t\"model\": \"opus\"\n}\n";
    assert!(installed(tabs).contains("\n\t\"hooks\": {\n\t\t\"SessionStart\": [\n\t\t\t{ "));
    let windows = "{\r\n    \"model\": \"opus\"\r\n}\r\n";
    let text = installed(windows);
    assert!(text.contains("\r\n    \"hooks\": {\r\n        \"SessionStart\": ["));
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    let one_line = r#"{"model":"opus"}"#;
    assert!(!installed(one_line).contains('\n'));
}

/// What stands in settings files, ours not among it.
const FILES: [&str; 26] = [
    "",
    "\n",
    "\u{feff}",
    "\u{feff}{}",
    "{}",
    "{}\n",
    "{ }",
    "{\n}\n",
    "  {}  ",
    r#"{"hooks":{}}"#,
    r#"{"hooks": { } }"#,
    "{\n  \"hooks\": {}\n}\n",
    "{\n  \"hooks\": {\n  },\n  \"a\": 1\n}\n",
    r#"{"hooks":{"Stop":[]}}"#,
    "{ \"hooks\": { \"Stop\": [ ], \"SessionStart\": [\n] } }",
    r#"{"a":1}"#,
    r#"{"a":1, "b":{"c":[]}}"#,
    "{\n\t\"permissions\": {\"allow\": [\"Bash(ls:*)\"]},\n\t\"model\": \"opus\"\n}",
    "{\"b\": 1,\r\n \"a\": 1e9, \"env\": {\"X\": \"\\u00e4\\/\"}\r\n}\r\n",
    "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"matcher\": \"\",\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"say done\"\n          }\n        ]\n      }\n    ]\n  },\n  \"zeta\": null,\n  \"alpha\": [1, 2]\n}\n",
    r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"echo linelamp hook"}]}],"Other":[]}}"#,
    r#"{"hooks":{"Stop":[{"hooks":[{"type":"http","url":"http://localhost/linelamp"}]},{"matcher":"x","hooks":[]}]}}"#,
    r#"{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"x"},{"type":"prompt","prompt":"y"}]}]}}"#,
    r#"{"hooks":{"Stop":[1]},"hooks":{"a":[]}}"#,
    r#"{"h\u006foks":{"St\u006fp":[]}}"#,
    r#"{"\ud800":1,"hooks":{"\ud800":5}}"#,
];

#[test]
fn uninstall_gives_back_the_same_bytes() {
    for text in FILES {
        let with = installed(text);
        assert_ne!(with, text);
        assert_eq!(uninstall(&with).expect("valid"), text, "by way of {with}");
        assert_eq!(uninstall(text).expect("valid"), text);
    }
}

#[test]
fn installing_twice_changes_nothing() {
    for text in FILES {
        let once = installed(text);
        assert_eq!(installed(&once), once);
        assert!(status(&once, COMMAND, &EVENTS).expect("valid").is_complete());
    }
}

#[test]
fn entries_of_others_survive() {
    for text in FILES {
        assert_eq!(foreign(&installed(text)), foreign(text));
    }
}

#[test]
fn an_older_installation_is_replaced_and_leaves_nothing_behind() {
    for text in FILES {
        let old = install(text, "/old/linelamp hook", &["Stop", "PreToolUse"]).expect("valid");
        let new = installed(&old);
        let found = status(&new, COMMAND, &EVENTS).expect("valid");
        assert!(found.is_complete(), "{found:?}");
        assert_eq!(uninstall(&new).expect("valid"), text);
    }
}

#[test]
fn every_entry_of_ours_goes_wherever_it_was_moved() {
    let ours = json!({"type": "command", "command": COMMAND});
    let others = json!({"type": "command", "command": "echo linelamp hook --agent claude-code"});
    let settings = json!({"hooks": {
        "Stop": [{"matcher": "a", "hooks": [ours, others, ours]}, {"hooks": [ours, ours]}],
        "Gone": [{"hooks": [{"type": "command", "command": "linelamp hook"}]}],
        "Notification": [{"hooks": [others]}, {"hooks": [ours]}, {"hooks": [others]}],
    }});
    for text in [settings.to_string(), serde_json::to_string_pretty(&settings).expect("JSON")] {
        let text = uninstall(&text).expect("valid");
        assert!(!status(&text, COMMAND, &[]).expect("valid").is_installed(), "{text}");
        let left: Value = serde_json::from_str(&text).expect("still JSON");
        assert_eq!(left["hooks"]["Stop"], json!([{"matcher": "a", "hooks": [others]}]));
        assert_eq!(
            left["hooks"]["Notification"],
            json!([{"hooks": [others]}, {"hooks": [others]}])
        );
        // In one line without spaces an emptied list may stay, as it could have been there before.
        assert!(left["hooks"].get("Gone").is_none_or(|list| list == &json!([])), "{text}");
    }
}

#[test]
fn what_another_program_reformatted_still_goes() {
    for text in FILES {
        let with = installed(text);
        let Ok(value) = serde_json::from_str::<Value>(&with) else { continue };
        let pretty = serde_json::to_string_pretty(&value).expect("JSON");
        for reformatted in [pretty, value.to_string()] {
            assert_eq!(installed(&reformatted), reformatted);
            let without = uninstall(&reformatted).expect("valid");
            assert!(!status(&without, COMMAND, &[]).expect("valid").is_installed());
            assert_eq!(foreign(&without), foreign(text));
        }
    }
}

#[test]
fn entries_added_after_ours_stay() {
    let with = installed("{}\n");
    let more = with.replace(
        "\n    ]\n  }\n}\n",
        ",\n      { \"hooks\": [] }\n    ],\n    \"Later\": []\n  },\n  \"model\": \"x\"\n}\n",
    );
    assert_ne!(more, with);
    let expected = "{\n  \"hooks\": {\n    \"PermissionRequest\": [\n      { \"hooks\": [] }\n    ],\n    \"Later\": []\n  },\n  \"model\": \"x\"\n}\n";
    assert_eq!(uninstall(&more).expect("valid"), expected);
}

#[test]
fn status_tells_what_is_missing_old_and_switched_off() {
    let text = install("{\"disableAllHooks\": true}", COMMAND, &["Stop"]).expect("valid");
    let found = status(&text, COMMAND, &["Stop", "SessionEnd"]).expect("valid");
    assert_eq!((found.current, found.missing), (vec!["Stop".into()], vec!["SessionEnd".into()]));
    assert!(found.disabled);
    let found = status(&text, "/new/linelamp hook", &["Stop"]).expect("valid");
    assert_eq!(found.outdated, [("Stop".to_owned(), COMMAND.to_owned())]);
    assert!(found.is_installed() && found.others == 0);
}

#[test]
fn what_cannot_be_merged_is_refused() {
    for (text, key) in [
        ("[]", "the settings"),
        ("{\"hooks\": []}", "hooks"),
        ("{\"hooks\": null}", "hooks"),
        ("{\"hooks\": {\"Stop\": {}}}", "hooks.Stop"),
    ] {
        match install(text, COMMAND, &EVENTS) {
            Err(SettingsError::Type { key: found, .. }) => assert_eq!(found, key),
            other => panic!("{text}: {other:?}"),
        }
    }
    for text in ["{", "{,}", "{\"a\": 1,}", "// x\n{}", "nonsense"] {
        let error = install(text, COMMAND, &EVENTS).expect_err(text);
        assert!(error.hint().is_some() && error.to_string().starts_with("line 1"), "{error}");
    }
    assert!(install("{}", COMMAND, &["WorktreeCreate"]).is_err());
    assert!(install("{}", "echo linelamp hook", &["Stop"]).is_err());
}

#[test]
fn all_wanted_events_fit_into_one_file() {
    let events = wanted(Some("2.1.332"));
    let text = install("{}", COMMAND, &events).expect("valid");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(value["hooks"].as_object().map(serde_json::Map::len), Some(events.len()));
    for event in events {
        assert_eq!(value["hooks"][event][0]["hooks"][0]["command"], COMMAND);
    }
}

#[test]
fn what_gets_no_hook_is_what_the_decoder_ignores() {
    for event in KNOWN_EVENTS {
        let ignored = find(HOOK, event.name).is_some();
        assert_eq!(ignored, !matches!(event.choice, Choice::Hook(_)), "{}", event.name);
    }
}

fn space() -> impl Strategy<Value = &'static str> {
    prop_oneof![4 => Just(""), 2 => Just(" "), 2 => Just("\n  "), 1 => Just("\r\n\t"), 1 => Just("\n")]
}

fn bracketed(
    open: char,
    close: char,
    children: impl Strategy<Value = String> + 'static,
) -> impl Strategy<Value = String> {
    (prop::collection::vec((space(), children, space()), 0..4), space()).prop_map(
        move |(children, empty)| {
            let inner: Vec<_> = children
                .iter()
                .map(|(before, child, after)| format!("{before}{child}{after}"))
                .collect();
            if inner.is_empty() {
                format!("{open}{empty}{close}")
            } else {
                format!("{open}{}{close}", inner.join(","))
            }
        },
    )
}

fn member(
    key: impl Strategy<Value = String> + 'static,
    value: BoxedStrategy<String>,
) -> BoxedStrategy<String> {
    (key, space(), space(), value)
        .prop_map(|(key, before, after, value)| format!("\"{key}\"{before}:{after}{value}"))
        .boxed()
}

fn any_json() -> BoxedStrategy<String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("-1.50e3".to_owned()),
        "[a-z\u{e4}\u{1f600}]{0,4}".prop_map(|text| format!("\"{text}\\n\\u00e4\"")),
        Just("\"linelamp hook\"".to_owned()),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            bracketed('[', ']', inner.clone()),
            bracketed('{', '}', member("[a-c]|hooks|command".prop_map(|key| key), inner.boxed())),
        ]
    })
    .boxed()
}

fn settings() -> impl Strategy<Value = String> {
    let hook = bracketed('{', '}', member("type|command|timeout".prop_map(|k| k), any_json()));
    let hooks = member(Just("hooks".to_owned()), bracketed('[', ']', hook).boxed());
    let group =
        bracketed('{', '}', prop_oneof![hooks, member(Just("matcher".to_owned()), any_json())]);
    let list = bracketed('[', ']', prop_oneof![3 => group, 1 => any_json()]).boxed();
    let event = "Stop|SessionStart|PermissionRequest|Other|St\\\\u006fp";
    let events = bracketed('{', '}', member(event.prop_map(|key| key), list)).boxed();
    let root = prop_oneof![
        member(Just("hooks".to_owned()), events),
        member("[a-c]|env".prop_map(|key| key), any_json()),
    ];
    ("\u{feff}?", space(), bracketed('{', '}', root), space())
        .prop_map(|(mark, before, root, after)| format!("{mark}{before}{root}{after}"))
}

/// True if there is a hook of ours already.
fn is_of_ours(text: &str) -> bool {
    status(text, COMMAND, &[]).expect("valid").is_installed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn install_then_uninstall_is_the_identity(text in settings()) {
        prop_assume!(!is_of_ours(&text));
        let with = install(&text, COMMAND, &EVENTS).expect("mergeable");
        prop_assert_eq!(uninstall(&with).expect("valid"), text.clone());
        prop_assert!(status(&with, COMMAND, &EVENTS).expect("valid").is_complete());
        prop_assert_eq!(installed(&with), with);
    }

    #[test]
    fn no_text_makes_it_fail_other_than_by_refusing(text in "\\PC{0,30}", json in any_json()) {
        for text in [text, json] {
            match install(&text, COMMAND, &EVENTS) {
                Ok(with) => prop_assert_eq!(uninstall(&with).expect("valid"), text),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("one").file_name().display().to_string()).collect();
    names.sort();
    names
}

fn install_into(path: &Path) -> Option<PathBuf> {
    let change = SettingsFile::new(path).plan_install(COMMAND, &EVENTS).expect("mergeable");
    change.apply(at()).expect("writable").backup
}

fn uninstall_from(path: &Path) {
    let change = SettingsFile::new(path).plan_uninstall().expect("readable");
    change.apply(at()).expect("writable");
}

#[test]
fn a_file_we_created_goes_again_and_one_of_the_user_stays() {
    let folder = folder();
    let created = folder.path().join(".claude/settings.json");
    assert_eq!(install_into(&created), None);
    assert!(SettingsFile::new(&created).status(COMMAND, &EVENTS).expect("readable").is_complete());
    uninstall_from(&created);
    assert!(!created.exists());

    let users = folder.path().join("settings.json");
    fs::write(&users, "{}\n").expect("writable");
    install_into(&users);
    uninstall_from(&users);
    assert_eq!(fs::read_to_string(&users).expect("still there"), "{}\n");
}

#[test]
fn a_copy_is_kept_once_before_a_change() {
    let folder = folder();
    let path = folder.path().join("settings.json");
    fs::write(&path, "{\"a\": 1}").expect("writable");
    let backup = install_into(&path).expect("a copy");
    assert_eq!(backup, folder.path().join("settings.json.linelamp-backup-20261130T113244Z"));
    assert_eq!(fs::read_to_string(&backup).expect("readable"), "{\"a\": 1}");
    assert_eq!(install_into(&path), None, "nothing to change");
    uninstall_from(&path);
    assert_eq!(fs::read_to_string(&path).expect("readable"), "{\"a\": 1}");
    assert_eq!(install_into(&path), None, "the same copy is there");
    assert_eq!(names(folder.path()).len(), 3);
}

#[test]
fn planning_writes_nothing() {
    let folder = folder();
    let file = SettingsFile::new(folder.path().join(".claude/settings.json"));
    let change = file.plan_install(COMMAND, &EVENTS).expect("mergeable");
    assert!(!change.is_empty() && change.before().is_none() && change.after().is_some());
    assert!(file.plan_uninstall().expect("readable").is_empty());
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn a_file_that_cannot_be_understood_is_not_touched() {
    let folder = folder();
    let path = folder.path().join("settings.json");
    let file = SettingsFile::new(&path);
    for bytes in
        [&b"{\"a\": 1,}"[..], b"{\n  // x\n}", b"{\"hooks\": []}", b"{\"a\": \"\xff\"}", b"{"]
    {
        fs::write(&path, bytes).expect("writable");
        let error = file.plan_install(COMMAND, &EVENTS).expect_err("refused");
        assert!(error.to_string().contains("settings.json"), "{error}");
        assert!(error.hint().is_some(), "{error}");
        assert_eq!(fs::read(&path).expect("readable"), bytes);
        assert_eq!(names(folder.path()), ["settings.json"]);
    }
}

#[test]
fn a_change_by_another_program_in_between_is_not_overwritten() {
    let folder = folder();
    let path = folder.path().join("settings.json");
    fs::write(&path, "{}").expect("writable");
    let change = SettingsFile::new(&path).plan_install(COMMAND, &EVENTS).expect("mergeable");
    fs::write(&path, "{\"model\": \"new\"}").expect("writable");
    assert!(matches!(change.apply(at()), Err(SettingsError::Changed(_))));
    assert_eq!(fs::read_to_string(&path).expect("readable"), "{\"model\": \"new\"}");
    assert_eq!(names(folder.path()), ["settings.json"]);
}

#[cfg(unix)]
#[test]
fn links_and_modes_are_kept() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let folder = folder();
    let home = folder.path().join("home");
    let dotfiles = folder.path().join("dotfiles");
    fs::create_dir(&home).expect("a folder");
    fs::create_dir(&dotfiles).expect("a folder");
    let target = dotfiles.join("claude.json");
    fs::write(&target, "{\n}").expect("writable");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).expect("ours");
    symlink("../dotfiles/claude.json", home.join("middle.json")).expect("a link");
    let link = home.join("settings.json");
    symlink("middle.json", &link).expect("a link");

    install_into(&link);
    assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
    assert!(fs::read_to_string(&target).expect("readable").contains(COMMAND));
    let mode = fs::metadata(&target).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert_eq!(names(&dotfiles), ["claude.json"]);
    uninstall_from(&link);
    assert_eq!(fs::read_to_string(&target).expect("readable"), "{\n}");

    // A link to a file that is not there yet makes that file, and does not go with it.
    let dangling = home.join("dangling.json");
    symlink(dotfiles.join("new.json"), &dangling).expect("a link");
    install_into(&dangling);
    assert!(dotfiles.join("new.json").exists());
    uninstall_from(&dangling);
    assert!(fs::symlink_metadata(&dangling).expect("there").is_symlink());
    let round = home.join("round.json");
    symlink("round.json", &round).expect("a link");
    assert!(SettingsFile::new(&round).plan_install(COMMAND, &EVENTS).is_err());
}

#[cfg(unix)]
#[test]
fn a_read_only_file_stays_as_it_is() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = folder();
    let path = folder.path().join("settings.json");
    fs::write(&path, "{}").expect("writable");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("ours");
    let change = SettingsFile::new(&path).plan_install(COMMAND, &EVENTS).expect("mergeable");
    assert!(matches!(change.apply(at()), Err(SettingsError::ReadOnly(_))));
    assert_eq!(fs::read_to_string(&path).expect("readable"), "{}");
    assert_eq!(names(folder.path()), ["settings.json"]);
}

#[test]
fn the_settings_folder_follows_the_variable() {
    let home = Path::new("/home/a");
    assert_eq!(settings_path(None, home), Path::new("/home/a/.claude/settings.json"));
    assert_eq!(settings_path(Some("".as_ref()), home), Path::new("/home/a/.claude/settings.json"));
    assert_eq!(settings_path(Some("/x y".as_ref()), home), Path::new("/x y/settings.json"));
}

#[test]
fn the_command_is_safe_for_a_shell() {
    let command = hook_command(Path::new("/opt/it's $1/linelamp"), "claude-code").expect("UTF-8");
    assert_eq!(command, r"'/opt/it'\''s $1/linelamp' hook --agent claude-code");
}
