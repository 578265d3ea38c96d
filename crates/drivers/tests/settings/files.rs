//! The file itself: copies, links, modes, and what other programs do meanwhile.

use std::fs;

use linelamp_drivers::claude_code::settings::{SettingsError, SettingsFile};

use crate::support::{COMMAND, EVENTS, at, folder, install_into, names, uninstall_from};

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
        [&b"{\"a\": 1,,}"[..], b"{\n  /* x\n}", b"{\"hooks\": []}", b"{\"a\": \"\xff\"}", b"{"]
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
