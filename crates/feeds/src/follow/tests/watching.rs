//! What happens where the system does not tell everything.

use std::time::Duration;

use super::super::catalog::Look;
use super::super::watch::Refusal;
use super::support::{Refuse, Scene, lock, say, warnings};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn without_watches_files_are_looked_at_and_the_user_is_told_once_what_helps() {
    for (refusal, remedy) in [
        ((|| Refusal::NoMoreWatches) as Refuse, "fs.inotify.max_user_watches"),
        (|| Refusal::NoMoreFiles, "ulimit -n"),
    ] {
        let mut scene = Scene::new();
        *lock(&scene.quiet.refuses) = Some(refusal);
        scene.append("p/a.jsonl", say("one"));
        let told = warnings(|| {
            scene.begin();
            assert!(scene.catalog.needs_polling() && scene.catalog.is_refused());
            scene.append("p/a.jsonl", say("two"));
            scene.append("q/b.jsonl", say("new folder"));
            scene.append("p/a/subagents/agent-1.jsonl", say("child"));
            scene.pass(2 * SECOND);
            let mut told = scene.look(Look::Unwatched);
            told.sort();
            assert_eq!(told, ["a/agent-1 child", "a/main two", "b/main new folder"]);
            scene.pass(61 * SECOND);
            scene.look(Look::All);
            scene.append("p/a.jsonl", say("three"));
            assert_eq!(scene.look(Look::Unwatched), ["a/main three"]);
        });
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains(remedy), "{}", told[0]);
        assert_eq!((scene.counts().watched, scene.counts().polling), (0, 1));
    }
}

#[test]
fn watches_are_asked_for_again_after_a_while() {
    let mut scene = Scene::new();
    *lock(&scene.quiet.refuses) = Some(|| Refusal::NoMoreWatches);
    scene.begin();
    *lock(&scene.quiet.refuses) = None;
    scene.pass(10 * SECOND);
    scene.look(Look::All);
    assert!(scene.catalog.needs_polling(), "too early to ask");
    scene.pass(60 * SECOND);
    scene.look(Look::All);
    assert!(!scene.catalog.needs_polling() && !scene.catalog.is_refused());
    assert_eq!(lock(&scene.quiet.watched).len(), 2);
}

#[test]
fn where_not_every_folder_can_be_watched_those_are_in_which_something_happens() {
    let mut scene = Scene::new();
    for name in ["p/a.jsonl", "q/b.jsonl", "r/c.jsonl"] {
        scene.append(name, say("one"));
    }
    scene.catalog.limit_watches(3);
    scene.begin();
    let unwatched = |scene: &Scene| {
        let watched = lock(&scene.quiet.watched).clone();
        assert_eq!(watched.len(), 3, "the root and two more");
        assert!(watched.contains(&scene.path("")), "{watched:?}");
        let names = ["p", "q", "r"];
        names.into_iter().find(|name| !watched.contains(&scene.path(name))).expect("one is left")
    };
    for _ in 0..2 {
        let name = unwatched(&scene);
        let file = match name {
            "p" => "p/a.jsonl",
            "q" => "q/b.jsonl",
            _ => "r/c.jsonl",
        };
        scene.pass(SECOND);
        scene.append(file, say("two"));
        assert_eq!(scene.look(Look::Unwatched).len(), 1);
        assert_ne!(unwatched(&scene), name);
    }
}

#[test]
fn the_folders_of_the_newest_files_are_watched_first() {
    let mut scene = Scene::new();
    for number in 0..9_u32 {
        let name = format!("p{number}/a.jsonl");
        scene.append(&name, say("one"));
        scene.age(&name, (number + 1) * 3_600 * SECOND);
    }
    // To the folders themselves nothing happened for long.
    scene.pass(10 * SECOND);
    scene.catalog.limit_watches(4);
    scene.append("p7/a.jsonl", say("two"));
    scene.age("p7/a.jsonl", Duration::ZERO);
    scene.begin();
    let watched = lock(&scene.quiet.watched).clone();
    assert_eq!(watched.len(), 4);
    assert!(
        watched.contains(&scene.path("")) && watched.contains(&scene.path("p7")),
        "{watched:?}"
    );
}

#[test]
fn after_an_overflow_everything_is_looked_at() {
    let mut scene = Scene::new();
    scene.append("p/a.jsonl", say("one"));
    scene.append("p/old.jsonl", say("long ago"));
    scene.age("p/old.jsonl", 100 * 60 * 60 * SECOND);
    scene.begin();
    scene.append("p/a.jsonl", say("two"));
    scene.append("p/old.jsonl", say("again"));
    scene.append("q/r.jsonl", say("new"));
    scene.catalog.ears().miss();
    let mut told = scene.hear(&[], &[]);
    told.sort();
    assert_eq!(told, ["a/main two", "old/main again", "past old/main long ago", "r/main new"]);
    assert_eq!(scene.counts().overflows, 1);
}

#[test]
fn a_change_nobody_told_of_is_found_by_looking() {
    let mut scene = Scene::new();
    scene.append("p/a.jsonl", say("one"));
    scene.append("p/old.jsonl", say("long ago"));
    scene.age("p/old.jsonl", 100 * 60 * 60 * SECOND);
    scene.pass(5 * SECOND);
    scene.begin();
    scene.append("p/a.jsonl", say("two"));
    assert_eq!(scene.look(Look::Lively), ["a/main two"]);
    scene.append("p/old.jsonl", say("again"));
    assert_eq!(scene.look(Look::Lively), [""; 0], "nobody expects that");
    assert_eq!(scene.look(Look::All), ["past old/main long ago", "old/main again"]);
    scene.append("p/b.jsonl", say("new"));
    assert_eq!(scene.look(Look::Lively), ["b/main new"]);
}

#[test]
fn a_root_that_comes_after_the_start_is_found() {
    let mut scene = Scene::new();
    std::fs::remove_dir_all(scene.path("")).expect("removed");
    scene.begin();
    assert!(scene.catalog.needs_polling());
    scene.append("p/a.jsonl", say("one"));
    assert_eq!(scene.look(Look::Unwatched), ["a/main one"]);
    assert!(!scene.catalog.needs_polling());
}
