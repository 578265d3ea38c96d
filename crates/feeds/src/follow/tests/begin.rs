//! What is read at the start, and after a restart.

use std::time::Duration;

use super::super::catalog::Look;
use super::super::tail::LONGEST;
use super::support::{Scene, lock, say};

const HOUR: Duration = Duration::from_secs(60 * 60);

#[test]
fn what_stood_there_before_is_past_and_what_comes_is_news() {
    let mut scene = Scene::new();
    scene.append("p/a.jsonl", say("one") + &say("two"));
    assert_eq!(scene.begin(), ["past a/main one", "past a/main two"]);
    scene.append("p/a.jsonl", say("three"));
    assert_eq!(scene.hear(&["p/a.jsonl"], &[]), ["a/main three"]);
    assert_eq!(scene.look(Look::All), [""; 0], "nothing is read twice");
}

#[test]
fn a_line_that_was_half_there_at_the_start_is_news() {
    let mut scene = Scene::new();
    scene.append("p/a.jsonl", say("one") + "{\"say\":");
    assert_eq!(scene.begin(), ["past a/main one"]);
    scene.append("p/a.jsonl", "\"two\"}\n");
    assert_eq!(scene.look(Look::Lively), ["a/main two"]);
}

#[test]
fn an_old_file_is_not_opened_until_it_grows_and_only_the_growth_is_news() {
    let mut scene = Scene::new();
    scene.append("p/old.jsonl", say("long ago"));
    scene.age("p/old.jsonl", 25 * HOUR);
    assert_eq!(scene.begin(), [""; 0]);
    assert!(lock(&scene.scribe.files).is_empty(), "no decoder was made");
    scene.append("p/old.jsonl", say("again"));
    let told = scene.hear(&["p/old.jsonl"], &[]);
    assert_eq!(told, ["past old/main long ago", "old/main again"]);
}

#[test]
fn of_a_large_file_only_the_end_is_read_from_a_whole_line_on() {
    let mut scene = Scene::new();
    let mut text = String::new();
    let mut number = 0;
    while text.len() < 2 << 20 {
        text += &say(&format!("{number:06}"));
        number += 1;
    }
    scene.append("p/a.jsonl", &text);
    let told = scene.begin();
    let length = say("000000").len();
    let expected = (256 << 10) / length;
    assert!(told.len().abs_diff(expected) <= 1, "{} lines", told.len());
    assert_eq!(told.last(), Some(&format!("past a/main {:06}", number - 1)));
    assert_eq!(scene.counts().malformed, 0);
}

#[test]
fn of_very_many_new_files_the_newest_are_read() {
    let mut scene = Scene::new();
    for number in 0..1_010_u32 {
        let name = format!("p/s{number}.jsonl");
        scene.append(&name, say("hello"));
        scene.age(&name, Duration::from_secs(u64::from(2_000 - number)));
    }
    let told = scene.begin();
    assert_eq!(told.len(), 1_000);
    assert!(!told.contains(&"past s9/main hello".to_owned()));
    assert!(told.contains(&"past s10/main hello".to_owned()));
    assert_eq!(scene.counts().files, 1_010);
}

#[test]
fn many_decoders_are_not_kept_open() {
    let mut scene = Scene::new();
    for number in 0..400 {
        scene.append(&format!("p/s{number}.jsonl"), say("hello"));
    }
    scene.begin();
    assert!(scene.catalog.has_many_open());
    scene.catalog.tidy(scene.now);
    assert_eq!(scene.counts().decoders, 128);
    scene.pass(HOUR);
    scene.catalog.tidy(scene.now);
    assert_eq!(scene.counts().decoders, 0, "all are quiet");
    scene.append("p/s7.jsonl", say("more"));
    assert_eq!(scene.look(Look::All), ["s7/main more"]);
    assert_eq!(scene.counts().decoders, 1);
}

#[test]
fn a_restart_goes_on_with_the_next_line_and_the_second_one_reads_nothing() {
    let mut scene = Scene::new();
    scene.append("p/a.jsonl", say("one"));
    scene.begin();
    scene.append("p/a.jsonl", say("two"));
    assert_eq!(scene.look(Look::All), ["a/main two"]);
    scene.append("p/a.jsonl", say("three"));
    scene.append("p/b.jsonl", say("new"));
    scene.restart();
    // What was written meanwhile to a file that was known is news; of the other nobody knows.
    assert_eq!(scene.begin(), ["past b/main new", "a/main three"]);
    scene.restart();
    assert_eq!(scene.begin(), [""; 0]);
    scene.append("p/b.jsonl", say("newer"));
    assert_eq!(scene.look(Look::All), ["b/main newer"]);
}

#[test]
fn a_file_that_was_shortened_or_rewritten_while_nobody_looked_is_read_from_its_start() {
    for rewritten in
        [say("x"), say("another beginning") + &say("and more") + &say("and still more")]
    {
        let mut scene = Scene::new();
        scene.append("p/a.jsonl", say("one") + &say("two"));
        scene.begin();
        std::fs::write(scene.path("p/a.jsonl"), &rewritten).expect("written");
        scene.restart();
        let told = scene.begin();
        assert_eq!(told.len(), rewritten.lines().count(), "{told:?}");
        assert!(told.iter().all(|line| !line.starts_with("past")));
        assert_eq!(scene.counts().restarted, 1);
    }
}

#[test]
fn a_file_moved_here_is_no_news() {
    let mut scene = Scene::new();
    scene.begin();
    scene.append("p/b.jsonl", say("from a backup"));
    scene.age("p/b.jsonl", Duration::from_secs(60));
    assert_eq!(scene.hear(&["p/b.jsonl"], &[]), ["past b/main from a backup"]);
}

#[test]
fn a_last_line_longer_than_the_tail_is_read_whole_and_one_over_the_limit_is_left_out() {
    let mut scene = Scene::new();
    let long = "y".repeat(400 << 10);
    scene.append("p/a.jsonl", say("one") + &say(&long));
    let longest = usize::try_from(LONGEST).expect("it fits");
    scene.append("p/b.jsonl", say("one") + &"z".repeat(longest + 10) + "\n" + &say("after"));
    let told = scene.begin();
    assert_eq!(told[0], "past b/main after");
    assert_eq!(told[1], format!("past a/main {long}"));
    assert_eq!(told.len(), 2);
}
