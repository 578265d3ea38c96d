//! Whatever stands in a file: comments, commas, any white space, containers in containers, any text.

use linelamp_drivers::claude_code::settings::{HOOK_TIMEOUT_SECONDS, install, status, uninstall};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{COMMAND, EVENTS, installed};

/// White space and comments, as between any two parts of a file.
fn space() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        8 => Just(""),
        4 => Just(" "),
        4 => Just("\n  "),
        2 => Just("\r\n\t"),
        2 => Just("\n"),
        1 => Just(" \t\n \n"),
        1 => Just("/**/"),
        1 => Just(" /* , ] } \" */ "),
        1 => Just("\n  /* a\n b */"),
        1 => Just(" /* a\n } */"),
        1 => Just(" // , ] } \"\n"),
        1 => Just("\n    // \u{e4} /* \n    "),
        1 => Just("// \r\n"),
        1 => Just(" /* x */ // y \n\n"),
        1 => Just("// \r"),
    ]
}

fn bracketed(
    open: char,
    close: char,
    children: impl Strategy<Value = String> + 'static,
) -> impl Strategy<Value = String> {
    (prop::collection::vec((space(), children, space()), 0..4), space(), 0..4_u8).prop_map(
        move |(children, rest, comma)| {
            let inner: Vec<_> = children
                .iter()
                .map(|(before, child, after)| format!("{before}{child}{after}"))
                .collect();
            let inner = inner.join(",");
            if inner.is_empty() {
                format!("{open}{rest}{close}")
            } else if comma == 0 {
                format!("{open}{inner},{rest}{close}")
            } else {
                format!("{open}{inner}{close}")
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
    (
        "\u{feff}?",
        space(),
        bracketed('{', '}', root),
        space(),
        prop_oneof![3 => Just(""), 1 => Just("// end")],
    )
        .prop_map(|(mark, before, root, after, end)| format!("{mark}{before}{root}{after}{end}"))
}

/// True if there is a hook of ours already.
fn is_of_ours(text: &str) -> bool {
    status(text, COMMAND, &[]).expect("valid").is_installed()
}

/// The text as strict JSON, by a reader that has nothing in common with the one that is tested.
fn strict(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text.trim_start_matches('\u{feff}');
    while let Some(character) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = rest.find(['\n', '\r']).map_or("", |end| rest.split_at(end).1);
        } else if rest.starts_with("/*") {
            rest = rest.split_once("*/").expect("a whole comment").1;
        } else if character == '"' {
            let mut escaped = true;
            let end = rest.find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            let (string, after) = rest.split_at(end.expect("a whole string") + 1);
            kept.push_str(string);
            rest = after;
        } else {
            if matches!(character, ']' | '}') {
                let length = kept.trim_end().trim_end_matches(',').len();
                kept.truncate(length);
            }
            kept.push(character);
            rest = rest.split_at(character.len_utf8()).1;
        }
    }
    kept
}

/// How often a hook with this command stands in the list of an event.
fn count(value: &Value, event: &str, command: &str) -> usize {
    let groups = value["hooks"][event].as_array().into_iter().flatten();
    let hooks = groups.filter_map(|group| group["hooks"].as_array()).flatten();
    hooks.filter(|hook| hook["command"] == command).count()
}

/// Everything in the text but what a reader skips: white space and commas.
fn words(text: &str) -> String {
    text.chars().filter(|character| !" \t\r\n,".contains(*character)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn install_reinstall_uninstall_is_the_identity(text in settings()) {
        prop_assume!(!is_of_ours(&text));
        let with = installed(&text);
        prop_assert!(status(&with, COMMAND, &EVENTS).expect("valid").is_complete(), "{}", with);
        prop_assert_eq!(installed(&with), with.clone());
        prop_assert_eq!(uninstall(&with).expect("valid"), text.clone(), "by way of {}", with);
        // Whoever else reads the file sees each of our entries once, and all others as before.
        let mut value: Value = serde_json::from_str(&strict(&with)).expect("JSON");
        for event in EVENTS {
            prop_assert_eq!(count(&value, event, COMMAND), 1, "{} in {}", event, with);
        }
        let before: Value = serde_json::from_str(&strict(&text)).expect("JSON");
        let entry = json!({"type": "command", "command": COMMAND, "timeout": HOOK_TIMEOUT_SECONDS});
        let ours = json!({"hooks": [entry]});
        let hooks = value["hooks"].as_object_mut().expect("an object");
        for list in hooks.values_mut().filter_map(Value::as_array_mut) {
            list.retain(|group| *group != ours);
        }
        let kept = before.get("hooks").and_then(Value::as_object);
        hooks.retain(|event, list| *list != json!([]) || kept.is_some_and(|kept| kept.contains_key(event)));
        if hooks.is_empty() && kept.is_none() {
            value.as_object_mut().expect("an object").remove("hooks");
        }
        prop_assert_eq!(value, before);
        let older = install(&text, "/old/linelamp hook", &["Stop", "PreToolUse", "PreCompact"]).expect("valid");
        prop_assert_eq!(&installed(&older), &with);
    }

    #[test]
    fn what_others_added_beside_ours_stays(text in settings(), more in settings()) {
        // Ours stand in the midst of what another tool wrote around them.
        let around = format!(
            "{{\"hooks\":{{\"Stop\":[{more},{{\"hooks\":[{{\"command\":\"linelamp hook\"}},{text},\
             {{\"command\":\"linelamp hook\"}}/* x */]}}// y\n,{more}],\"Setup\":[{{\"hooks\":[{{\"command\":\"linelamp hook\"}}\n]\n}}\n]}}}}",
            text = text.trim_start_matches('\u{feff}').trim_end_matches("// end"),
            more = more.trim_start_matches('\u{feff}').trim_end_matches("// end"),
        );
        let left = uninstall(&around).expect("valid");
        prop_assert!(!is_of_ours(&left), "{}", left);
        let ours = words("{\"command\":\"linelamp hook\"}");
        let gone = words(&around).replace(&ours, "").replace("\"Setup\":[{\"hooks\":[]}]", "");
        let kept = words(&left).replace(&ours, "").replace("\"Setup\":[]", "");
        prop_assert_eq!(kept, gone, "of {}", around);
    }

    #[test]
    fn ours_go_from_between_others_and_all_comments_stay(
        parts in prop::collection::vec((space(), any::<bool>(), space()), 1..7),
        comma in any::<bool>(),
        rest in space(),
    ) {
        let ours = "{\"command\":\"linelamp hook\"}";
        let children: Vec<String> = parts
            .iter()
            .enumerate()
            .map(|(index, (before, is_ours, after))| {
                let child = format!("{{\"command\":\"x{index}\"}}");
                format!("{before}{}{after}", if *is_ours { ours } else { &child })
            })
            .collect();
        let end = if comma { format!(",{rest}") } else { String::new() };
        let text = format!("{{\"hooks\":{{\"Stop\":[{{\"hooks\":[{}{end}]}}]}}}}", children.join(","));
        let left = uninstall(&text).expect("valid");
        let value: Value = serde_json::from_str(&strict(&left)).expect("JSON");
        let kept: Vec<Value> = parts
            .iter()
            .enumerate()
            .filter(|(_, (_, is_ours, _))| !is_ours)
            .map(|(index, _)| json!({"command": format!("x{index}")}))
            .collect();
        if kept.is_empty() {
            prop_assert!(!is_of_ours(&left), "{}", left);
        } else {
            prop_assert_eq!(&value["hooks"]["Stop"][0]["hooks"], &Value::from(kept), "{}", left);
            prop_assert_eq!(words(&left), words(&text).replace(&words(ours), ""), "{}", text);
        }
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

    #[test]
    fn a_file_cut_off_anywhere_is_refused_or_comes_back_whole(
        text in settings(),
        at in any::<prop::sample::Index>(),
    ) {
        prop_assume!(!is_of_ours(&text));
        let length = at.index(text.chars().count());
        let cut: String = text.chars().take(length).collect();
        if let Ok(with) = install(&cut, COMMAND, &EVENTS) {
            prop_assert_eq!(uninstall(&with).expect("valid"), cut);
        }
    }
}
