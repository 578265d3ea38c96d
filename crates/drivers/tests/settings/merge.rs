//! Hooks as edits of a text.

use linelamp_drivers::claude_code::ignored::{HOOK, find};
use linelamp_drivers::claude_code::settings::{
    Choice, KNOWN_EVENTS, SettingsError, install, status, uninstall, wanted,
};
use serde_json::{Value, json};

use crate::support::{COMMAND, EVENTS, installed};

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
    for text in ["{", "{,}", "{\"a\": 1,,}", "/* x\n{}", "# x\n{}", "nonsense"] {
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
