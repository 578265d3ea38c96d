//! What files do while they are followed.

use std::time::Duration;

use super::super::catalog::Look;
use super::super::tail::LONGEST;
use super::support::{Scene, lock, say};

#[test]
fn a_half_written_last_line_is_one_event_when_it_is_whole() {
    let mut scene = Scene::new();
    scene.begin();
    scene.append("p/a.jsonl", "{\"say\":\"on");
    assert_eq!(scene.hear(&["p/a.jsonl"], &[]), [""; 0]);
    assert_eq!(scene.look(Look::All), [""; 0]);
    scene.append("p/a.jsonl", "e\"}");
    assert_eq!(scene.hear(&["p/a.jsonl"], &[]), [""; 0]);
    scene.append("p/a.jsonl", "\n");
    assert_eq!(scene.hear(&["p/a.jsonl"], &[]), ["a/main one"]);
    assert_eq!(scene.counts().lines, 1);
    assert_eq!(scene.counts().malformed, 0);
}

#[test]
fn a_broken_line_in_the_middle_is_counted_and_stops_nothing() {
    let mut scene = Scene::new();
    scene.begin();
    scene.append("p/a.jsonl", say("good") + "garb\u{fffd}age {\n");
    scene.append("p/a.jsonl", b"\xff\xfe\x00\n\r\n\n");
    scene.append("p/a.jsonl", say("good too"));
    assert_eq!(scene.look(Look::All), ["a/main good", "a/main good too"]);
    let counts = scene.counts();
    assert_eq!((counts.lines, counts.understood, counts.malformed), (4, 2, 2));
}

#[test]
fn a_line_the_decoder_dies_of_costs_that_line_only() {
    let mut scene = Scene::new();
    scene.begin();
    scene.append("p/a.jsonl", say("before") + &say("panic") + &say("after"));
    assert_eq!(scene.look(Look::All), ["a/main before", "a/main after"]);
    assert_eq!(scene.counts().panics, 1);
}

#[test]
fn a_line_over_the_limit_is_a_gap_and_what_follows_is_read() {
    let mut scene = Scene::new();
    scene.begin();
    let half = "x".repeat(usize::try_from(LONGEST).expect("it fits") / 2 + 100);
    scene.append("p/a.jsonl", &half);
    assert_eq!(scene.look(Look::All), [""; 0]);
    scene.append("p/a.jsonl", &half);
    assert_eq!(scene.look(Look::All), [""; 0]);
    scene.append("p/a.jsonl", "\n".to_owned() + &say("after"));
    assert_eq!(scene.look(Look::All), ["gap a/main", "a/main after"]);
    assert_eq!(scene.counts().too_long, 1);
}

#[test]
fn a_file_that_appears_is_read_from_its_start_and_its_birth_is_known() {
    let mut scene = Scene::new();
    scene.begin();
    scene.append("q/new.jsonl", say("first") + &say("second"));
    assert_eq!(scene.hear(&["q"], &[]), ["new/main first", "new/main second"]);
    let born = lock(&scene.scribe.files)[0].born.expect("it is known");
    let age = scene.now.wall.as_second() - born.as_second();
    assert!(age.abs() < 60, "born {age} s ago");
}

#[test]
fn subagents_files_are_found_with_their_folders() {
    let mut scene = Scene::new();
    scene.append("p/a.jsonl", say("main"));
    scene.begin();
    scene.append("p/a/subagents/agent-7.jsonl", say("child"));
    scene.append("p/a/subagents/agent-7.meta.json", say("no record"));
    assert_eq!(scene.hear(&["p/a"], &[]), ["a/agent-7 child"]);
    assert!(scene.catalog.is_child(&scene.path("p/a/subagents/agent-7.jsonl")));
    assert!(!scene.catalog.is_child(&scene.path("p/a.jsonl")));
    assert!(lock(&scene.quiet.watched).contains(&scene.path("p/a/subagents")));
}

#[test]
fn a_file_cut_to_nothing_starts_again() {
    let mut scene = Scene::new();
    scene.append("p/a.jsonl", say("one") + &say("two"));
    scene.begin();
    std::fs::write(scene.path("p/a.jsonl"), "").expect("cut");
    assert_eq!(scene.look(Look::All), [""; 0]);
    scene.append("p/a.jsonl", say("three"));
    assert_eq!(scene.look(Look::All), ["a/main three"]);
}

#[test]
fn a_file_cut_and_grown_beyond_its_old_length_between_two_looks_starts_again() {
    let mut scene = Scene::new();
    scene.append("p/a.jsonl", say("one"));
    scene.pass(Duration::from_secs(5));
    scene.begin();
    let text = say("a first line of another kind") + &say("two");
    std::fs::write(scene.path("p/a.jsonl"), text).expect("rewritten");
    assert_eq!(scene.look(Look::All), ["a/main a first line of another kind", "a/main two"]);
    let files = lock(&scene.scribe.files).clone();
    assert!(files[1].born > files[0].born, "what is older than the last look is no news");
}

#[test]
fn a_file_renamed_over_with_the_same_beginning_goes_on_and_with_another_starts_again() {
    for (text, expected) in [
        (say("one") + &say("two") + &say("three"), vec!["a/main three"]),
        (
            say("ONE") + &say("two") + &say("three"),
            vec!["a/main ONE", "a/main two", "a/main three"],
        ),
    ] {
        let mut scene = Scene::new();
        scene.append("p/a.jsonl", say("one") + &say("two"));
        scene.begin();
        scene.append("p/.a.swp", &text);
        std::fs::rename(scene.path("p/.a.swp"), scene.path("p/a.jsonl")).expect("renamed");
        let told = scene.hear(&["p/a.jsonl"], &["p/.a.swp"]);
        assert_eq!(told, expected);
    }
}

#[test]
fn reading_again_gives_the_same_ids() {
    let mut scene = Scene::new();
    scene.begin();
    scene.append("p/a.jsonl", say("one") + "{\"say\":\"two\",\"at\":1700000000}\n");
    let ids = |scene: &mut Scene| {
        let path = scene.path("p/a.jsonl");
        scene.catalog.look(Look::All, scene.now);
        let batch = scene.catalog.read(&path, scene.now);
        let ids: Vec<_> = batch.drafts.iter().map(|draft| draft.id.expect("an id")).collect();
        scene.catalog.go_back(&path, batch.before.expect("a place"));
        ids
    };
    let first = ids(&mut scene);
    scene.pass(Duration::from_secs(5));
    assert_eq!(first.len(), 2);
    assert_eq!(ids(&mut scene), first);
    assert_eq!(scene.counts().given_back, 2);
}

#[test]
fn a_file_that_goes_away_is_forgotten_and_one_of_its_name_is_new() {
    let mut scene = Scene::new();
    scene.append("p/a.jsonl", say("one"));
    scene.begin();
    std::fs::remove_file(scene.path("p/a.jsonl")).expect("removed");
    assert_eq!(scene.hear(&[], &["p/a.jsonl"]), [""; 0]);
    scene.look(Look::All);
    assert_eq!(scene.counts().files, 0);
    scene.append("p/a.jsonl", say("two"));
    assert_eq!(scene.look(Look::All), ["a/main two"]);
}

#[test]
fn a_folder_that_is_removed_and_made_again_is_watched_again() {
    let mut scene = Scene::new();
    scene.append("p/a.jsonl", say("one"));
    scene.begin();
    std::fs::remove_dir_all(scene.path("p")).expect("removed");
    scene.append("p/b.jsonl", say("two"));
    assert_eq!(scene.hear(&["p"], &["p", "p/a.jsonl"]), ["b/main two"]);
    let watched = lock(&scene.quiet.watched).clone();
    assert_eq!(watched.iter().filter(|folder| **folder == scene.path("p")).count(), 1);
}

#[test]
fn only_session_files_are_opened() {
    let mut scene = Scene::new();
    scene.append("p/memory/notes.md", say("no"));
    scene.append("p/a/tool-results/x.jsonl", say("no"));
    scene.append("loose.jsonl", say("no"));
    std::fs::create_dir_all(scene.path("p/folder.jsonl")).expect("a folder");
    assert_eq!(scene.begin(), [""; 0]);
    assert_eq!(scene.counts().files, 0);
    assert_eq!(scene.hear(&["p/memory/notes.md", "loose.jsonl", "p/folder.jsonl"], &[]), [""; 0]);
}
