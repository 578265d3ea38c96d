//! What goes wrong with installers in real life, one test for each promise.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use linelamp_core::driver::Driver as _;
use linelamp_drivers::claude_code::ClaudeCode;
use linelamp_drivers::claude_code::settings::{
    HOOK_TIMEOUT_SECONDS, Level, SettingsError, SettingsFile, hook_command, install, is_ours,
    program_of, settings_path, status, uninstall, wanted,
};
use serde_json::Value;

use crate::support::{COMMAND, EVENTS, at, folder, install_into, installed, names, uninstall_from};

#[test]
fn a_slow_hook_is_given_up_in_the_agents_own_unit() {
    let value: Value = serde_json::from_str(&installed("{}")).expect("JSON");
    for event in EVENTS {
        // Claude Code counts seconds; five thousand of them would be over an hour.
        assert_eq!(value["hooks"][event][0]["hooks"][0]["timeout"], HOOK_TIMEOUT_SECONDS);
    }
    assert!((1..60).contains(&HOOK_TIMEOUT_SECONDS));
}

#[test]
fn user_and_project_settings_can_both_hold_our_hooks() {
    let home = folder();
    let config = home.path().join(".claude");
    let project = home.path().join("project");
    let files = Level::ALL.map(|level| level.file(&config, &project));
    for path in &files {
        install_into(path);
    }
    for path in &files {
        let found = SettingsFile::new(path).status(COMMAND, &EVENTS).expect("readable");
        assert!(found.is_complete(), "{}", path.display());
    }
    uninstall_from(&files[0]);
    let left = files.iter().map(|path| path.exists()).collect::<Vec<_>>();
    assert_eq!(left, [false, true, true]);
}

#[test]
fn any_path_is_one_word_of_a_shell_and_valid_json() {
    let paths = [
        "/opt/it's $1/linelamp",
        "/home/a b/\"bin\"/linelamp",
        r"C:\Program Files\linelamp\linelamp.exe",
        "/x/`id`/$(id)/linelamp",
        "/tab\there/linelamp",
        "/ünï/日本/linelamp",
        "/semi;colon&and|pipe/linelamp",
    ];
    for path in paths {
        let command = hook_command(Path::new(path), "claude-code").expect("UTF-8");
        assert_eq!(program_of(&command).as_deref(), Some(path));
        let text = install("{}", &command, &EVENTS).expect("valid");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["hooks"]["Stop"][0]["hooks"][0]["command"], *command);
        assert_eq!(uninstall(&text).expect("valid"), "{}");
    }
    let command = hook_command(Path::new("/opt/it's $1/linelamp"), "claude-code").expect("UTF-8");
    assert_eq!(command, r"'/opt/it'\''s $1/linelamp' hook --agent claude-code");
}

#[test]
fn hooks_of_other_tools_unknown_keys_and_the_order_of_all_are_kept() {
    let text = include_str!("../fixtures/claude_code/settings/14-three-other-tools.json");
    let first = installed(text);
    let second = install(&first, "/new/linelamp hook", &wanted(Some("2.1.332"))).expect("valid");
    for changed in [&first, &second] {
        let before: Value = serde_json::from_str(text).expect("JSON");
        let after: Value = serde_json::from_str(changed).expect("JSON");
        for (event, list) in before["hooks"].as_object().expect("an object") {
            let after = after["hooks"][event].as_array().expect("still there");
            assert_eq!(
                after[..list.as_array().expect("a list").len()],
                *list.as_array().expect("a list")
            );
        }
        assert_eq!(after["alpha"], before["alpha"]);
        // Every line of the file is there, in its order.
        let mut lines = changed.lines().map(|line| line.trim_end_matches(','));
        for line in text.lines() {
            let line = line.trim_end_matches(',');
            assert!(lines.any(|found| found == line), "{line} is gone or moved");
        }
    }
    assert_eq!(uninstall(&second).expect("valid"), text);
}

#[test]
fn a_command_that_only_mentions_us_stays() {
    let text = include_str!("../fixtures/claude_code/settings/19-mentions-our-name.json");
    assert_eq!(uninstall(text).expect("valid"), text);
    assert_eq!(status(text, COMMAND, &EVENTS).expect("valid").others, 4);
    assert_eq!(uninstall(&installed(text)).expect("valid"), text);
}

#[test]
fn entries_of_all_our_versions_go() {
    let versions = [
        "linelamp hook",
        "/opt/linelamp-0.1/bin/linelamp hook --agent claude-code",
        "'/opt/linelamp 0.2/linelamp' hook --agent=claude-code",
        "'/opt/lamp' hook --agent claude-code # linelamp",
    ];
    let entry = |command: &str| {
        let command = Value::from(command);
        format!("      {{ \"hooks\": [{{ \"type\": \"command\", \"command\": {command} }}] }}")
    };
    let entries = versions.map(entry).join(",\n");
    let text = format!("{{\n  \"hooks\": {{\n    \"Stop\": [\n{entries}\n    ]\n  }}\n}}\n");
    assert!(versions.iter().all(|command| is_ours(command)));
    assert_eq!(status(&text, COMMAND, &[]).expect("valid").outdated.len(), versions.len());
    assert_eq!(uninstall(&text).expect("valid"), "{}\n");
    // Installing on top leaves one, not five.
    let value: Value = serde_json::from_str(&installed(&text)).expect("JSON");
    assert_eq!(value["hooks"]["Stop"].as_array().map(Vec::len), Some(1));
}

#[test]
fn empties_we_made_are_removed_and_empties_that_were_there_are_kept() {
    for text in [
        "{}",
        "{\"hooks\":{}}",
        "{ \"hooks\": { } }",
        "{\n  \"hooks\": {\n    \"Stop\": [],\n    \"Setup\": []\n  }\n}\n",
        "{\n  \"hooks\": {\n  },\n  \"env\": {}\n}\n",
        "{ \"hooks\": { /* later */ \"Stop\": [ // none\n ], } }",
    ] {
        assert_eq!(uninstall(&installed(text)).expect("valid"), text);
    }
}

#[test]
fn a_file_we_created_goes_only_if_nothing_else_is_in_it() {
    let folder = folder();
    let path = folder.path().join(".claude/settings.json");
    install_into(&path);
    uninstall_from(&path);
    assert!(!path.exists());
    assert_eq!(names(&folder.path().join(".claude")), Vec::<String>::new());

    // Another version comes in between, from elsewhere.
    install_into(&path);
    let newer = SettingsFile::new(&path).plan_install("/new/linelamp hook", &wanted(None));
    newer.expect("mergeable").apply(at()).expect("writable");
    uninstall_from(&path);
    assert!(!path.exists());

    install_into(&path);
    let more =
        fs::read_to_string(&path).expect("text").replacen('{', "{\n  \"model\": \"opus\",", 1);
    fs::write(&path, more).expect("writable");
    uninstall_from(&path);
    assert_eq!(fs::read_to_string(&path).expect("text"), "{\n  \"model\": \"opus\"\n}\n");
}

#[test]
fn what_cannot_be_read_is_refused_with_file_and_position_and_not_touched() {
    let cases: [(&[u8], &str); 9] = [
        (b"{\"hooks\": []}", "line 1, column 11"),
        (b"{\n  \"hooks\": {\n    \"Stop\": {}\n  }\n}", "line 3, column 13"),
        (b"[]", "line 1, column 1"),
        (b"{\n  \"a\": [1,\n", "line 3, column 1"),
        (b"{\n  \"a\": \"b", "line 2, column 10"),
        (b"{\n  \"a\": 1\n  \"b\": 2\n}", "line 3, column 3"),
        (b"{} /* never closed", "line 1, column 4"),
        (b"{'a': 1}", "line 1, column 2"),
        (b"{\"a\": \"\xff\"}", "byte 7"),
    ];
    let folder = folder();
    let path = folder.path().join("settings.json");
    let file = SettingsFile::new(&path);
    for (bytes, place) in cases {
        fs::write(&path, bytes).expect("writable");
        let error = file.plan_install(COMMAND, &EVENTS).expect_err("refused");
        assert!(error.hint().is_some(), "{error}");
        let mut text = error.to_string();
        if let Some(source) = std::error::Error::source(&error) {
            text = format!("{text}: {source}");
        }
        assert!(text.contains("settings.json") && text.contains(place), "{text}");
        assert_eq!(fs::read(&path).expect("readable"), bytes);
        assert_eq!(names(folder.path()), ["settings.json"]);
    }
}

#[test]
fn comments_and_trailing_commas_are_kept_and_told_as_what_the_agent_ignores() {
    for name in ["20-line-comments", "21-block-comments", "22-trailing-commas"] {
        let place =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/claude_code/settings");
        let text = fs::read_to_string(place.join(format!("{name}.json"))).expect("text");
        let with = installed(&text);
        let found = status(&with, COMMAND, &EVENTS).expect("valid");
        assert!(found.is_complete() && found.unread.is_some(), "{found:?}");
        assert_eq!(uninstall(&with).expect("valid"), text);
    }
    assert_eq!(status("{\"//\": \"/* */\"}", COMMAND, &EVENTS).expect("valid").unread, None);
    let place = status("{\n  \"a\": 1, // x\n}", COMMAND, &EVENTS).expect("valid").unread;
    assert_eq!(place, Some((2, 9)));
}

#[test]
fn a_comment_stays_with_the_line_it_stands_on() {
    let text = "{\n  \"model\": \"opus\" // not the small one\n}\n";
    let with = installed(text);
    assert!(
        with.starts_with("{\n  \"model\": \"opus\", // not the small one\n  \"hooks\": {"),
        "{with}"
    );
    let text = "{\n  \"model\": \"opus\", // not the small one\n}\n";
    let with = installed(text);
    assert!(with.starts_with(text.trim_end_matches("}\n")), "{with}");
    assert!(with.ends_with("},\n}\n"), "{with}");
}

#[test]
fn a_byte_order_mark_is_kept() {
    for text in ["\u{feff}", "\u{feff}{}", "\u{feff}{\n  \"a\": 1\n}\n"] {
        let with = installed(text);
        assert!(with.starts_with("\u{feff}{") && with.matches('\u{feff}').count() == 1);
        assert_eq!(uninstall(&with).expect("valid"), text);
    }
}

#[cfg(unix)]
#[test]
fn a_link_stays_and_what_it_leads_to_is_rewritten_in_one_step_with_its_mode() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    let folder = folder();
    // Another filesystem, where the system has one at hand.
    let memory = Path::new("/dev/shm");
    let elsewhere = if memory.is_dir() {
        tempfile::tempdir_in(memory).expect("a folder")
    } else {
        tempfile::tempdir().expect("a folder")
    };
    let target = elsewhere.path().join("claude.json");
    fs::write(&target, "{\n  // mine\n}\n").expect("writable");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).expect("ours");
    let held = fs::File::open(&target).expect("open");
    let link = folder.path().join("settings.json");
    symlink(&target, &link).expect("a link");

    install_into(&link);
    assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
    assert_eq!(fs::read_link(&link).expect("a link"), target);
    let data = fs::metadata(&target).expect("there");
    assert_eq!(data.permissions().mode() & 0o777, 0o600);
    // Whoever has the old file open has all of it: the new one came by a rename.
    assert_ne!(held.metadata().expect("open").ino(), data.ino());
    assert_eq!(std::io::read_to_string(&held).expect("text"), "{\n  // mine\n}\n");
    assert_eq!(names(elsewhere.path()), ["claude.json"]);
    uninstall_from(&link);
    assert_eq!(fs::read_to_string(&target).expect("text"), "{\n  // mine\n}\n");
    assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_leaves_nothing_behind() {
    let folder = folder();
    let path = folder.path().join("settings.json");
    fs::write(&path, "{}").expect("writable");
    let change = SettingsFile::new(&path).plan_install(COMMAND, &EVENTS).expect("mergeable");
    // Where the complete file would be written first, a folder is in the way.
    let blocked = folder.path().join(format!(".settings.json.linelamp-{}", std::process::id()));
    fs::create_dir(&blocked).expect("a folder");
    assert!(matches!(change.apply(at()), Err(SettingsError::Io { .. })));
    fs::remove_dir(&blocked).expect("ours");
    assert_eq!(fs::read_to_string(&path).expect("text"), "{}");
    assert_eq!(names(folder.path()), ["settings.json"], "not even a copy");
}

#[test]
fn the_settings_are_in_the_folder_that_the_variable_names() {
    let home = Path::new("/home/a");
    for (variable, want) in [
        (None, "/home/a/.claude/settings.json"),
        (Some(""), "/home/a/.claude/settings.json"),
        (Some("/x y"), "/x y/settings.json"),
        (Some("~/.claude-work"), "/home/a/.claude-work/settings.json"),
        (Some("~"), "/home/a/settings.json"),
        (Some("accounts/one"), "accounts/one/settings.json"),
    ] {
        assert_eq!(settings_path(variable.map(AsRef::as_ref), home), Path::new(want));
        // Session and status files are looked for in the same folder.
        let folders = ClaudeCode::new().config_folders(home, &|_| variable.map(OsString::from));
        assert_eq!(folders, [Path::new(want).parent().expect("a folder")]);
    }
    let project = Path::new("/p");
    let files = Level::ALL.map(|level| level.file(Path::new("/c"), project));
    assert_eq!(
        files.map(|path| path.display().to_string()),
        ["/c/settings.json", "/p/.claude/settings.json", "/p/.claude/settings.local.json"]
    );
}
