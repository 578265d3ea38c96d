//! What the daemon promises about files in the spool.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use linelamp_feeds::socket;
use linelamp_feeds::spool::{self, Dropped, Header, Reason, Role};

use super::ingest_support::{
    AGENT, Daemon, Store, bad, batch, hook, names, payload, until, wrapped,
};

#[tokio::test]
async fn files_go_when_they_are_durable_and_not_before() {
    let state = tempfile::tempdir().expect("a folder");
    let store = Arc::new(Store::default());
    store.wait();
    let mut files: Vec<_> =
        (0..5).rev().map(|second| hook(state.path(), second, &payload("s", "a"))).collect();
    files.sort_unstable();
    let daemon = Daemon::start(state.path(), Some(&store));
    until("publishing", || store.waiting().len() == 5).await;
    // Oldest first, each a transaction of its own.
    let positions: Vec<_> = files.iter().map(|file| format!("hook/{file}")).collect();
    assert_eq!(store.waiting(), positions);
    assert_eq!(names(state.path()), files);
    store.commit();
    until("deletion", || names(state.path()).is_empty()).await;
    daemon.settle().await;
    assert_eq!(store.committed(), positions);
    assert_eq!(daemon.asked.load(Ordering::Relaxed), 5);
    daemon.stop().await;
}

#[tokio::test]
async fn a_poke_brings_the_daemon_to_look() {
    let state = tempfile::tempdir().expect("a folder");
    let store = Arc::new(Store::default());
    let daemon = Daemon::start(state.path(), Some(&store));
    daemon.settle().await;
    hook(state.path(), 0, &payload("s", "a"));
    socket::poke(&state.path().join("run"), "poke.sock");
    until("intake", || store.committed().len() == 1).await;
    // And without any.
    hook(state.path(), 1, &payload("s", "a"));
    until("intake", || store.committed().len() == 2).await;
    daemon.stop().await;
}

#[tokio::test]
async fn what_is_durable_already_is_deleted_and_never_published_again() {
    let state = tempfile::tempdir().expect("a folder");
    let store = Arc::new(Store::default());
    let name = hook(state.path(), 0, &payload("s", "a"));
    let kept = std::fs::read(state.path().join("spool").join(&name)).expect("a file");
    let daemon = Daemon::start(state.path(), Some(&store));
    daemon.settle().await;
    daemon.stop().await;
    // As if the first daemon had been killed between the commit and the deletion.
    std::fs::write(state.path().join("spool").join(&name), kept).expect("written");
    let daemon = Daemon::start(state.path(), Some(&store));
    daemon.settle().await;
    until("deletion", || names(state.path()).is_empty()).await;
    assert_eq!(store.committed().len(), 1);
    assert_eq!((daemon.counts().known, daemon.asked.load(Ordering::Relaxed)), (1, 0));
    daemon.stop().await;
}

#[tokio::test]
async fn a_store_that_cannot_say_what_it_has_is_asked_again() {
    let state = tempfile::tempdir().expect("a folder");
    let store = Arc::new(Store::default());
    store.set_broken(true);
    let name = hook(state.path(), 0, &payload("s", "a"));
    let daemon = Daemon::start(state.path(), Some(&store));
    let settled = tokio::spawn({
        let handle = daemon.handle();
        async move { handle.settle().await }
    });
    tokio::task::yield_now().await;
    assert_eq!(names(state.path()), [name]);
    assert_eq!(daemon.asked.load(Ordering::Relaxed), 0);
    store.set_broken(false);
    assert!(settled.await.expect("no panic"));
    assert_eq!(store.committed().len(), 1);
    daemon.stop().await;
}

#[tokio::test]
async fn what_a_full_store_refuses_is_read_again_and_stored_once_there_is_room() {
    let state = tempfile::tempdir().expect("a folder");
    let store = Arc::new(Store::default());
    store.set_full(true);
    hook(state.path(), 0, &payload("s", "a"));
    wrapped(state.path(), 1, "w", &format!("{}{}", batch(1), batch(2)));
    let daemon = Daemon::start(state.path(), Some(&store));
    let settled = tokio::spawn({
        let handle = daemon.handle();
        async move { handle.settle().await }
    });
    until("refusal", || daemon.counts().given_back >= 3).await;
    assert_eq!(names(state.path()).len(), 2);
    assert!(!settled.is_finished());
    store.set_full(false);
    until("settling", || settled.is_finished()).await;
    assert!(settled.await.expect("no panic"));
    until("deletion", || names(state.path()).is_empty()).await;
    assert_eq!(store.committed().len(), 3);
    assert_eq!(store.twice(), [] as [&str; 0]);
    daemon.stop().await;
}

#[tokio::test]
async fn a_format_to_come_is_left_alone_and_what_is_broken_is_put_aside() {
    let state = tempfile::tempdir().expect("a folder");
    let store = Arc::new(Store::default());
    let first = hook(state.path(), 0, &payload("s", "a"));
    let write = |file: &str, bytes: &[u8]| {
        let name = format!("{file:0>20}-0000000001-0000000000000001");
        std::fs::write(state.path().join("spool").join(&name), bytes).expect("written");
        name
    };
    let newer = write("1", b"{\"linelamp\":2,\"what\":\"ever\"}\nmore");
    let header = serde_json::to_string(&Header::new(
        Role::Hook,
        AGENT.into(),
        "2026-01-01T00:00:00Z".parse().expect("a time"),
    ))
    .expect("json");
    let cut = header.replace("\"version\"", "\"bytes\":9,\"version\"");
    let broken = [
        write("2", b""),
        write("3", b"no header"),
        write("4", b"{\"linelamp\":1}\n{}"),
        write("5", format!("{header}\n").as_bytes()),
        write("6", format!("{cut}\nshort").as_bytes()),
        write("7", format!("{header}\nno json").as_bytes()),
        write("8", format!("{}\n{{}}", header.replace("\"hook\"", "\"wrap\"")).as_bytes()),
    ];
    write("9", format!("{}\n{{}}", header.replace(AGENT, "nobodys-agent")).as_bytes());
    let last = hook(state.path(), 1, &payload("s", "a"));
    let daemon = Daemon::start(state.path(), Some(&store));
    daemon.settle().await;
    until("deletion", || names(state.path()) == [newer.as_str()]).await;
    assert_eq!(bad(state.path()), broken);
    assert_eq!(store.committed(), [format!("hook/{first}"), format!("hook/{last}")]);
    let counts = daemon.counts();
    assert_eq!((counts.left_alone, counts.bad_files, counts.malformed), (1, 7, 1));
    assert_eq!(counts.unread, 1, "a payload for nobody is deleted, not kept aside");
    daemon.stop().await;
}

#[tokio::test]
async fn a_decoder_that_fails_twice_loses_that_file_and_no_other_also_across_restarts() {
    let state = tempfile::tempdir().expect("a folder");
    let store = Arc::new(Store::default());
    store.wait();
    let fatal = hook(state.path(), 0, &payload("s", "panic"));
    let good = hook(state.path(), 1, &payload("s", "a"));
    let daemon = Daemon::start(state.path(), Some(&store));
    // The second try comes a second later; this daemon is gone before.
    until("the first try", || store.waiting().len() == 1 && daemon.counts().panics == 1).await;
    assert_eq!(store.waiting(), [format!("hook/{good}")]);
    daemon.stop().await;
    assert_eq!(names(state.path()), [format!("{fatal}~1"), good.clone()]);

    let store = Arc::new(Store::default());
    let daemon = Daemon::start(state.path(), Some(&store));
    daemon.settle().await;
    assert_eq!((bad(state.path()), daemon.counts().panics), (vec![format!("{fatal}~1")], 1));
    assert_eq!(store.committed(), [format!("hook/{good}")]);
    daemon.stop().await;
}

#[tokio::test]
async fn a_payload_that_means_nothing_is_gone_without_a_transaction() {
    let state = tempfile::tempdir().expect("a folder");
    let store = Arc::new(Store::default());
    hook(state.path(), 0, &payload("s", "nothing"));
    let daemon = Daemon::start(state.path(), Some(&store));
    daemon.settle().await;
    until("deletion", || names(state.path()).is_empty()).await;
    assert_eq!((store.committed().len(), daemon.counts().ignored), (0, 1));
    daemon.stop().await;
}

#[tokio::test]
async fn each_batch_of_a_wrappers_file_counts_for_itself() {
    let state = tempfile::tempdir().expect("a folder");
    let store = Arc::new(Store::default());
    let daemon = Daemon::start(state.path(), Some(&store));
    wrapped(state.path(), 0, "w", &format!("{}{}", batch(1), batch(2)));
    daemon.settle().await;
    // The wrapper did not hear of it and spooled them again, with more.
    wrapped(state.path(), 1, "w", &format!("{}{{\"keepalive\":true}}\n{}", batch(2), batch(3)));
    daemon.settle().await;
    until("deletion", || names(state.path()).is_empty()).await;
    assert_eq!(store.committed(), ["wrap/w/1", "wrap/w/2", "wrap/w/3"]);
    assert_eq!((daemon.counts().batches, daemon.counts().known), (3, 1));
    daemon.stop().await;
}

#[tokio::test]
async fn a_broken_batch_takes_nothing_with_it() {
    let state = tempfile::tempdir().expect("a folder");
    let store = Arc::new(Store::default());
    let daemon = Daemon::start(state.path(), Some(&store));
    let body = format!("{}{{\"n\":2,\"drafts\":[{{}}]}}\nno json\n{}", batch(1), batch(3));
    let name = wrapped(state.path(), 0, "w", &body);
    daemon.settle().await;
    assert_eq!(store.committed(), ["wrap/w/1", "wrap/w/3"]);
    assert_eq!(bad(state.path()), [name]);
    daemon.stop().await;
}

#[tokio::test]
async fn what_clients_dropped_is_counted_once() {
    let state = tempfile::tempdir().expect("a folder");
    hook(state.path(), 0, &payload("s", "a"));
    let dropped = Dropped { reason: Reason::Bytes, files: 7, bytes: 70 };
    spool::count_dropped(state.path(), dropped);
    let daemon = Daemon::start(state.path(), None);
    daemon.settle().await;
    daemon.settle().await;
    assert_eq!(daemon.counts().dropped_files, 7);
    daemon.stop().await;
}

#[tokio::test]
async fn without_a_store_a_file_goes_when_it_is_published() {
    let state = tempfile::tempdir().expect("a folder");
    let daemon = Daemon::start(state.path(), None);
    hook(state.path(), 0, &payload("s", "a"));
    for second in 1..3 {
        wrapped(state.path(), second, "w", &batch(1));
    }
    daemon.settle().await;
    until("deletion", || names(state.path()).is_empty()).await;
    assert_eq!((daemon.counts().drafts, daemon.counts().batches), (2, 1));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_files_are_taken_each_once() {
    const FILES: usize = 10_000;
    let state = tempfile::tempdir().expect("a folder");
    let store = Arc::new(Store::default());
    for number in 0..FILES {
        let second = i64::try_from(number).expect("small");
        hook(state.path(), second, &payload(&format!("s{number}"), "a"));
    }
    let start = std::time::Instant::now();
    let daemon = Daemon::start(state.path(), Some(&store));
    daemon.settle().await;
    println!("{FILES} files in {:?}", start.elapsed());
    assert_eq!(store.committed().len(), FILES);
    assert_eq!(store.twice(), [] as [&str; 0]);
    until("deletion", || names(state.path()).is_empty()).await;
    daemon.stop().await;
}
