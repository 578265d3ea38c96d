//! Settings as people and tools write them.

use std::fs;
use std::path::{Path, PathBuf};

use linelamp_drivers::claude_code::settings::{SettingsFile, hook_command, status, wanted};

use crate::support::{at, folder};

fn golden() -> Vec<(String, Vec<u8>)> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/claude_code/settings");
    let mut files: Vec<PathBuf> = fs::read_dir(place)
        .expect("golden files")
        .map(|entry| entry.expect("one").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    let read = |path: PathBuf| {
        let bytes = fs::read(&path).expect("readable");
        (path.file_name().expect("a name").display().to_string(), bytes)
    };
    files.into_iter().map(read).collect()
}

#[test]
fn install_reinstall_uninstall_ends_with_the_same_bytes() {
    let files = golden();
    assert!(files.len() >= 25, "only {} golden files", files.len());
    let commands = ["/usr/local/bin/linelamp", "/opt/linelamp 0.1/bin/linelamp", "/opt/lamp-0.2"]
        .map(|path| hook_command(Path::new(path), "claude-code").expect("UTF-8"));
    let versions = [Some("2.1.197"), Some("2.1.332"), Some("1.0.90"), None];
    for (name, bytes) in files {
        let folder = folder();
        let path = folder.path().join("settings.json");
        fs::write(&path, &bytes).expect("writable");
        let file = SettingsFile::new(&path);
        // Every way from one installation to the next, and twice the same.
        for (round, version) in versions.iter().enumerate() {
            for command in &commands {
                let events = wanted(*version);
                for _ in 0..2 {
                    let change = file.plan_install(command, &events).expect(&name);
                    change.apply(at()).expect(&name);
                    let found = file.status(command, &events).expect(&name);
                    assert!(found.is_complete(), "{name}: {found:?}");
                }
                assert!(file.plan_install(command, &events).expect(&name).is_empty(), "{name}");
            }
            if round % 2 == 1 {
                file.plan_uninstall().expect(&name).apply(at()).expect(&name);
                let found = fs::read(&path).expect("still there");
                let text = String::from_utf8_lossy(&found).into_owned();
                assert_eq!(found, bytes, "{name}: {text}");
                assert!(!status(&text, "", &[]).expect(&name).is_installed(), "{name}");
            }
        }
    }
}

#[test]
fn the_way_to_an_installation_does_not_matter() {
    let old = hook_command(Path::new("/old/linelamp"), "claude-code").expect("UTF-8");
    let new = hook_command(Path::new("/new/linelamp"), "claude-code").expect("UTF-8");
    let install = linelamp_drivers::claude_code::settings::install;
    for (name, bytes) in golden() {
        let text = String::from_utf8(bytes).expect("text");
        let at_once = install(&text, &new, &wanted(Some("2.1.332"))).expect(&name);
        let before = install(&text, &old, &wanted(Some("2.1.197"))).expect(&name);
        assert_eq!(
            install(&before, &new, &wanted(Some("2.1.332"))).expect(&name),
            at_once,
            "{name}"
        );
    }
}

#[test]
fn an_installation_only_adds() {
    let install = linelamp_drivers::claude_code::settings::install;
    for (name, bytes) in golden() {
        let text = String::from_utf8(bytes).expect("text");
        let with = install(&text, "linelamp hook", &wanted(None)).expect(&name);
        // Every character is still there, in its order.
        let mut rest = with.chars();
        for (index, character) in text.chars().enumerate() {
            assert!(rest.any(|found| found == character), "{name}: character {index}\n{with}");
        }
    }
}
