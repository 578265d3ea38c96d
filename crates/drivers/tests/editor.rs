//! The promises about the settings of editors: one key comes and goes, and whatever goes wrong the file is
//! as it was.

use std::fs;
use std::path::{Path, PathBuf};

use linelamp_core::Timestamp;
use linelamp_drivers::claude_code::editor::{
    Before, KEY, Standing, Wrapper, current, is_launcher, restore, set,
};
use linelamp_drivers::claude_code::settings::SettingsError;
use proptest::prelude::*;

const LAUNCHER: &str = "/home/a b/bin/linelamp-claude-wrapper-0123456789abcdef";

fn installed(text: &str) -> String {
    set(Some(text), LAUNCHER).expect("valid settings")
}

fn removed(text: &str, before: &Before) -> Option<String> {
    restore(text, before, &is_launcher).expect("valid settings")
}

fn at() -> Timestamp {
    "2026-11-30T11:32:44Z".parse().expect("a timestamp")
}

/// Settings as people have them, and how they look with the launcher, where that is worth a look. `@` stands for the
/// member that is added.
const SETTINGS: &[(&str, Option<&str>)] = &[
    ("", Some("{\n    @\n}\n")),
    (" \n", Some("{\n    @\n}\n")),
    ("\u{feff}", Some("\u{feff}{\n    @\n}\n")),
    ("// nothing yet", Some("// nothing yet\n{\n    @\n}\n")),
    ("/* nothing\r\n yet */\r\n", Some("/* nothing\r\n yet */\r\n{\r\n    @\r\n}\r\n")),
    ("{}", Some("{\n    @\n}")),
    ("{ }\n", Some("{\n    @\n}\n")),
    ("{\n}\n", Some("{\n    @\n}\n")),
    ("// top\n{\n\t// inside\n}\n", Some("// top\n{\n\t// inside\n    @\n}\n")),
    ("{\n    \"a\": 1\n}\n", Some("{\n    \"a\": 1,\n    @\n}\n")),
    ("{\n    \"a\": 1,\n}\n", Some("{\n    \"a\": 1,\n    @,\n}\n")),
    ("{\n  \"a\": 1 // one\n}", Some("{\n  \"a\": 1, // one\n  @\n}")),
    ("{\n  \"a\": 1, // one\n}", Some("{\n  \"a\": 1, // one\n  @,\n}")),
    ("{\n  \"a\": 1 // one  \n  , // comma\n  // end\n}", None),
    (
        "{\n  \"a\": 1 /* one */ // two\n  // end\n}",
        Some("{\n  \"a\": 1, /* one */ // two\n  @\n  // end\n}"),
    ),
    ("{\r\n\t\"a\": 1\r\n}\r\n", Some("{\r\n\t\"a\": 1,\r\n\t@\r\n}\r\n")),
    ("{\r\n\t\"a\": 1, // one\r\n}\r\n", Some("{\r\n\t\"a\": 1, // one\r\n\t@,\r\n}\r\n")),
    ("{\"a\":1}", Some("{\"a\":1, #}")),
    ("{ \"a\": 1 }", Some("{ \"a\": 1, @ }")),
    ("{ \"a\": 1, }", Some("{ \"a\": 1, @, }")),
    ("{\"a\": [1, 2], /* x */}", Some("{\"a\": [1, 2], /* x */ @,}")),
    ("\u{feff}{\r\n  \"a\": {}\r\n}", Some("\u{feff}{\r\n  \"a\": {},\r\n  @\r\n}")),
    // Keys that only look like ours.
    ("{\n  \"claudeCode\": {\n    \"claudeProcessWrapper\": \"/x\"\n  }\n}\n", None),
    (
        "{\n  \"[rust]\": { \"claudeCode.claudeProcessWrapper\": \"/x\" },\n  \"claudecode.claudeProcessWrapper\": 1\n}\n",
        None,
    ),
    // The key is there.
    (
        "{\n  \"claudeCode.claudeProcessWrapper\": \"\\/opt\\/other\", // theirs\n  \"a\": 1\n}\n",
        Some("{\n  @, // theirs\n  \"a\": 1\n}\n"),
    ),
    ("{\"claudeCode.claudeProcessWrapper\":null,}", Some("{#,}")),
    ("{\"claudeCode.claudeProcessWrapper\": \"\"}", Some("{@}")),
    // A key escaped, and there twice: the last one counts.
    (
        "{\"claude\\u0043ode.claudeProcessWrapper\": \"/a\", \"claudeCode.claudeProcessWrapper\": \"/b\"}",
        Some("{\"claude\\u0043ode.claudeProcessWrapper\": \"/a\", @}"),
    ),
];

#[test]
fn the_key_is_set_in_the_layout_of_the_file() {
    for (text, expected) in SETTINGS {
        let Some(expected) = expected else { continue };
        let expected = expected
            .replace('@', &format!("\"{KEY}\": \"{LAUNCHER}\""))
            .replace('#', &format!("\"{KEY}\":\"{LAUNCHER}\""));
        assert_eq!(installed(text), expected, "{text:?}");
    }
    assert_eq!(set(None, "/x").expect("new"), format!("{{\n    \"{KEY}\": \"/x\"\n}}\n"));
}

#[test]
fn uninstall_gives_back_the_same_bytes() {
    for (text, _) in SETTINGS {
        let before = Before::of(Some(text)).expect("valid settings");
        let with = installed(text);
        assert_eq!(current(&with).expect("valid").as_deref(), Some(LAUNCHER), "{text:?}");
        assert_eq!(installed(&with), with, "{text:?}");
        assert_eq!(removed(&with, &before).as_deref(), Some(*text), "{text:?}");
    }
    let new = set(None, LAUNCHER).expect("new");
    assert_eq!(removed(&new, &Before::NoFile), None);
}

#[test]
fn what_others_wrote_after_us_stays() {
    for (text, before, expected) in [
        ("{\n  @,\n  \"b\": 2\n}", Before::Absent, Some("{\n  \"b\": 2\n}")),
        (
            "{\n  \"a\": 1,\n  @,\n  \"b\": 2\n}",
            Before::Absent,
            Some("{\n  \"a\": 1,\n  \"b\": 2\n}"),
        ),
        ("{\n  @ // note\n}", Before::Absent, Some("{ // note\n}")),
        ("{ // note\n  @}", Before::Absent, Some("{ // note\n  }")),
        (
            "{ \"a\": 1, // note\n  @ /* more */ }",
            Before::Absent,
            Some("{ \"a\": 1 // note\n   /* more */ }"),
        ),
        ("{@ /* x */ , \"b\": 2}", Before::Absent, Some("{ /* x */  \"b\": 2}")),
        ("{@, \"b\": 2, @}", Before::Absent, Some("{ \"b\": 2}")),
        (
            "{@, \"b\": 2, @}",
            Before::Value("\"/o\"".to_owned()),
            Some("{ \"b\": 2, \"claudeCode.claudeProcessWrapper\": \"/o\"}"),
        ),
        ("{\n    @,\n    \"b\": 2\n}\n", Before::NoFile, Some("{\n    \"b\": 2\n}\n")),
        ("{\n\n @\n}", Before::NoFile, None),
        ("{\n @ // theirs\n}", Before::NoFile, Some("{ // theirs\n}")),
        ("{ @, \"b\": 2 }", Before::Empty("{}".to_owned()), Some("{ \"b\": 2 }")),
        // Not ours any more.
        (
            "{\"claudeCode.claudeProcessWrapper\": \"/theirs\"}",
            Before::Absent,
            Some("{\"claudeCode.claudeProcessWrapper\": \"/theirs\"}"),
        ),
        ("{}", Before::NoFile, Some("{}")),
    ] {
        let text = text.replace('@', &format!("\"{KEY}\": \"{LAUNCHER}\""));
        assert_eq!(removed(&text, &before).as_deref(), expected, "{text:?}");
    }
}

#[test]
fn what_cannot_be_understood_is_refused_with_its_place() {
    for (text, line, column, word) in [
        ("[]", 1, 1, "an array"),
        ("\"x\"", 1, 1, "a text"),
        ("{\n  \"claudeCode.claudeProcessWrapper\": [\"/x\"]\n}", 2, 38, "an array"),
        ("{\"claudeCode.claudeProcessWrapper\": 7}", 1, 37, "a number"),
        ("{\"claudeCode.claudeProcessWrapper\": {}}", 1, 37, "an object"),
        ("{\"claudeCode.claudeProcessWrapper\": false}", 1, 37, "true or false"),
    ] {
        match set(Some(text), LAUNCHER) {
            Err(SettingsError::Type { line: l, column: c, found, .. }) => {
                assert_eq!((l, c, found), (line, column, word), "{text}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    for text in
        ["{", "{\n  \"a\": 1\n", "{\"a\": \"b", "{} {}", "{a: 1}", "{,}", "{\"a\": 1,,}", "{ /* }"]
    {
        let refused = set(Some(text), LAUNCHER).expect_err("refused");
        assert!(matches!(refused, SettingsError::Syntax { .. }), "{text}: {refused}");
    }
}

fn space() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop::sample::select(vec![
            " ",
            "\t",
            "\n",
            "\r\n",
            "// c, }  \n",
            "// \r\n",
            "/* ,\n\" */",
            "/**/",
        ]),
        0..3,
    )
    .prop_map(|parts| parts.concat())
}

fn value() -> BoxedStrategy<String> {
    let plain = vec!["1", "-2.5e3", "true", "null", "\"// no\"", "\"/* no\\\" */\"", "\"ü\""];
    let leaf = prop::sample::select(plain).prop_map(str::to_owned);
    leaf.prop_recursive(3, 12, 3, |inner| {
        let values = prop::collection::vec((space(), inner.clone(), space()), 0..3);
        let list = (values, any::<bool>(), space()).prop_map(|(values, trailing, end)| {
            let values: Vec<_> = values.into_iter().map(|(a, v, b)| format!("{a}{v}{b}")).collect();
            let comma = if trailing && !values.is_empty() { "," } else { "" };
            format!("[{}{comma}{end}]", values.join(","))
        });
        prop_oneof![list, object(inner, vec!["a", "b", KEY])]
    })
    .boxed()
}

fn object(
    value: impl Strategy<Value = String> + 'static,
    keys: Vec<&'static str>,
) -> BoxedStrategy<String> {
    let member = (space(), prop::sample::select(keys), space(), space(), value, space());
    (prop::collection::vec(member, 0..4), any::<bool>(), space())
        .prop_map(|(members, trailing, end)| {
            let members: Vec<_> = members
                .into_iter()
                .map(|(a, key, b, c, value, d)| format!("{a}\"{key}\"{b}:{c}{value}{d}"))
                .collect();
            let comma = if trailing && !members.is_empty() { "," } else { "" };
            format!("{{{}{comma}{end}}}", members.join(","))
        })
        .boxed()
}

/// Settings of any layout, now and then with another tool's launcher.
fn settings() -> impl Strategy<Value = String> {
    let theirs = prop::sample::select(vec!["\"/opt/other\"", "\"\"", "null", "\"\\u002fx\""]);
    let own = (object(value(), vec!["a", "b", "claudeCode"]), space(), theirs, any::<u8>())
        .prop_map(|(object, space, theirs, choice)| match (choice % 3, object.strip_prefix('{')) {
            (0, Some(rest)) if object.contains(':') => {
                format!("{{{space}\"{KEY}\":{theirs},{rest}")
            }
            _ => object,
        });
    let mark = prop::sample::select(vec!["", "\u{feff}"]);
    let root = prop_oneof![8 => own, 1 => Just(String::new())];
    (mark, space(), root, space()).prop_map(|(m, a, root, b)| format!("{m}{a}{root}{b}"))
}

proptest! {
    #[test]
    fn install_then_uninstall_is_the_identity(text in settings()) {
        let before = Before::of(Some(&text)).expect("valid settings");
        let with = installed(&text);
        let value = current(&with).expect("valid settings");
        prop_assert_eq!(value.as_deref(), Some(LAUNCHER));
        prop_assert_eq!(&installed(&with), &with);
        prop_assert_eq!(removed(&with, &before), Some(text));
    }

    #[test]
    fn taking_it_out_without_a_note_leaves_valid_settings_without_it(text in settings()) {
        let with = installed(&text);
        let left = removed(&with, &Before::Absent).expect("a text");
        let value = current(&left).expect("valid settings");
        prop_assert!(value.is_none_or(|value| value != LAUNCHER));
    }

    #[test]
    fn no_text_makes_it_fail_other_than_by_refusing(text in "[ \\[\\]{},:\"/*a\n\u{feff}-]{0,20}") {
        if let Ok(with) = set(Some(&text), LAUNCHER) {
            prop_assert!(removed(&with, &Before::of(Some(&text)).expect("set")).is_some_and(|old| old == text));
        }
    }
}

/// A home folder with one settings file, a linelamp program and another tool's launcher.
struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        let home = Self { folder: tempfile::tempdir().expect("a folder") };
        fs::create_dir(home.at("User")).expect("a folder");
        for program in ["linelamp", "other"] {
            fs::write(home.at(program), "#!/bin/sh\n").expect("written");
            #[cfg(unix)]
            fs::set_permissions(
                home.at(program),
                std::os::unix::fs::PermissionsExt::from_mode(0o755),
            )
            .expect("ours");
        }
        home
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn settings(&self) -> PathBuf {
        self.at("User/settings.json")
    }

    fn write(&self, text: &str) {
        fs::write(self.settings(), text).expect("written");
    }

    fn text(&self) -> Option<String> {
        fs::read_to_string(self.settings()).ok()
    }

    fn wrapper(&self) -> Wrapper {
        Wrapper::new(&self.settings(), &self.at("bin")).expect("UTF-8")
    }

    fn install(&self) {
        let plan = self.wrapper().plan_install(&self.at("linelamp"), &|_| true).expect("planned");
        plan.apply(at()).expect("installed");
    }

    fn uninstall(&self) {
        self.wrapper().plan_uninstall(&[]).expect("planned").apply(at()).expect("taken out");
    }

    /// What the setting names.
    fn named(&self) -> Option<String> {
        current(&self.text()?).expect("valid")
    }

    fn launchers(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.at("bin")).into_iter().flatten();
        let mut found: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
        found.sort();
        found
    }

    fn standing(&self) -> Standing {
        self.wrapper().standing().expect("read")
    }

    fn other(&self) -> String {
        self.at("other").to_str().expect("UTF-8").to_owned()
    }

    fn with_other(&self) -> String {
        format!("{{\n  \"{KEY}\": \"{}\", // theirs\n  \"a\": 1\n}}\n", self.other())
    }
}

#[test]
fn a_file_of_ours_comes_and_goes_and_nothing_is_left() {
    let home = Home::new();
    assert_eq!(home.standing(), Standing::NotInstalled);
    home.install();
    let linelamp = home.at("linelamp").to_str().expect("UTF-8").to_owned();
    assert_eq!(home.standing(), Standing::Installed { linelamp, chained: None });
    assert_eq!(home.launchers().len(), 1);
    home.uninstall();
    assert_eq!((home.text(), home.launchers()), (None, vec![]));
    assert!(!home.at("bin").exists());
}

#[test]
fn installing_twice_changes_nothing() {
    let home = Home::new();
    home.write(&home.with_other());
    home.install();
    let plan = home.wrapper().plan_install(&home.at("linelamp"), &|_| true).expect("planned");
    assert!(plan.is_empty(), "{plan:?}");
    assert_eq!(plan.other, Some(home.other()));
}

#[test]
fn another_tools_launcher_is_called_and_then_set_again() {
    let home = Home::new();
    home.write(&home.with_other());
    home.install();
    let Standing::Installed { chained, .. } = home.standing() else { panic!("not installed") };
    assert_eq!(chained, Some(home.other()));
    // A newer linelamp elsewhere: the note of the old text is kept.
    fs::copy(home.at("linelamp"), home.at("linelamp-2")).expect("copied");
    let plan = home.wrapper().plan_install(&home.at("linelamp-2"), &|_| true).expect("planned");
    assert!(plan.settings.is_empty() && !plan.is_empty());
    plan.apply(at()).expect("installed");
    fs::remove_file(home.at("other")).expect("removed");
    assert_eq!(home.standing(), Standing::ChainedGone(home.other()));
    home.uninstall();
    assert_eq!((home.text(), home.launchers()), (Some(home.with_other()), vec![]));
}

#[test]
fn a_value_that_is_no_program_is_refused() {
    let home = Home::new();
    home.write(&home.with_other());
    let refused = home.wrapper().plan_install(&home.at("linelamp"), &|value| value != home.other());
    let message = refused.expect_err("refused").to_string();
    assert!(message.contains("User/settings.json") && message.contains(&home.other()), "{message}");
    assert_eq!((home.text(), home.launchers()), (Some(home.with_other()), vec![]));
}

#[test]
fn a_tool_that_was_set_after_us_is_left_alone_and_can_still_call_us() {
    let home = Home::new();
    home.write("{\n  \"a\": 1\n}\n");
    home.install();
    let ours = home.named().expect("set");
    home.write(&home.with_other());
    assert_eq!(home.standing(), Standing::Other(home.other()));
    home.uninstall();
    assert_eq!(home.text(), Some(home.with_other()));
    let script = fs::read_to_string(&ours).expect("kept for who may call it");
    assert!(!script.contains("wrap --agent"), "{script}");
    // In front of that tool goes another launcher, so that the two never call each other in a circle.
    home.install();
    let second = home.named().expect("set");
    assert_ne!(second, ours);
    assert!(fs::read_to_string(&second).expect("written").contains(&home.other()));
    home.uninstall();
    assert_eq!(home.text(), Some(home.with_other()));
    home.write("{}");
    home.uninstall();
    assert_eq!((home.text().as_deref(), home.launchers()), (Some("{}"), vec![]));
}

#[test]
fn what_is_missing_is_told_and_mended() {
    let home = Home::new();
    home.write("{}\n");
    home.install();
    let ours = home.named().expect("set");
    fs::remove_file(home.at("linelamp")).expect("removed");
    let gone = home.at("linelamp").to_str().expect("UTF-8").to_owned();
    assert_eq!(home.standing(), Standing::LinelampGone(gone));
    fs::remove_dir_all(home.at("bin")).expect("removed");
    assert_eq!(home.standing(), Standing::LauncherMissing(ours.clone()));
    let plan = home.wrapper().plan_install(&home.at("linelamp"), &|_| true).expect("planned");
    assert!(plan.forgotten);
    plan.apply(at()).expect("installed");
    assert_eq!(home.named(), Some(ours.clone()));
    fs::remove_file(&ours).expect("removed");
    home.uninstall();
    assert_eq!((home.named(), home.launchers()), (None, vec![]));
}

#[test]
fn settings_copied_to_another_file_never_name_a_launcher_that_is_gone() {
    let home = Home::new();
    home.write("{\n  \"a\": 1\n}\n");
    home.install();
    let copy = home.at("copy.json");
    fs::copy(home.settings(), &copy).expect("copied");
    let plan = home.wrapper().plan_uninstall(&[home.settings(), copy.clone()]).expect("planned");
    plan.apply(at()).expect("taken out");
    let copied = Wrapper::new(&copy, &home.at("bin")).expect("UTF-8");
    assert_eq!(copied.standing().expect("read"), Standing::Retired);
    copied
        .plan_uninstall(&[home.settings(), copy.clone()])
        .expect("planned")
        .apply(at())
        .expect("out");
    assert_eq!(fs::read_to_string(&copy).expect("there"), "{\n  \"a\": 1\n}\n");
    home.uninstall();
    assert_eq!(home.launchers(), Vec::<PathBuf>::new());
}

#[test]
fn planning_writes_nothing() {
    let home = Home::new();
    home.write(&home.with_other());
    let plan = home.wrapper().plan_install(&home.at("linelamp"), &|_| true).expect("planned");
    assert!(!plan.is_empty());
    assert_eq!((home.text(), home.launchers()), (Some(home.with_other()), vec![]));
}

#[test]
fn a_file_that_is_refused_is_not_touched_and_no_launcher_is_left() {
    for text in ["{\"a\": ", "[]", "{\"claudeCode.claudeProcessWrapper\": []}"] {
        let home = Home::new();
        home.write(text);
        let refused =
            home.wrapper().plan_install(&home.at("linelamp"), &|_| true).expect_err("refused");
        let message = format!("{refused:?}");
        assert!(message.contains("settings.json") && message.contains("line: 1"), "{message}");
        assert_eq!((home.text().as_deref(), home.launchers()), (Some(text), vec![]));
    }
    // Changed by somebody in between.
    let home = Home::new();
    home.write("{}");
    let plan = home.wrapper().plan_install(&home.at("linelamp"), &|_| true).expect("planned");
    home.write("{ }");
    plan.apply(at()).expect_err("refused");
    assert_eq!((home.text().as_deref(), home.launchers()), (Some("{ }"), vec![]));
}

#[cfg(unix)]
#[test]
fn links_modes_and_read_only_files_are_respected() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    let home = Home::new();
    let target = home.at("dotfiles.json");
    fs::write(&target, "{\n\t\"a\": 1,\n}\n").expect("written");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).expect("ours");
    symlink("../dotfiles.json", home.settings()).expect("linked");
    home.install();
    assert!(home.settings().is_symlink());
    assert_eq!(mode(&target), 0o640);
    assert_eq!(mode(Path::new(&home.named().expect("set"))), 0o755);
    home.uninstall();
    assert!(home.settings().is_symlink());
    assert_eq!(fs::read_to_string(&target).expect("there"), "{\n\t\"a\": 1,\n}\n");
    assert_eq!(mode(&target), 0o640);

    fs::set_permissions(&target, fs::Permissions::from_mode(0o440)).expect("ours");
    let plan = home.wrapper().plan_install(&home.at("linelamp"), &|_| true).expect("planned");
    let refused = plan.apply(at()).expect_err("read-only");
    assert!(refused.to_string().contains("read-only"), "{refused}");
    assert_eq!(fs::read_to_string(&target).expect("there"), "{\n\t\"a\": 1,\n}\n");
    assert_eq!(home.launchers(), Vec::<PathBuf>::new());
}
