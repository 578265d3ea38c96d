//! Anything may lie in the spool or come over the socket: nothing of it stops the daemon or costs a good
//! neighbour.

use std::sync::Arc;

use linelamp_feeds::spool::FOLDER;
use proptest::prelude::*;

use super::ingest_support::{Daemon, Store, bad, batch, hook, names, payload, until, wrapped};
use super::ingest_wrapper::Wrapper;

/// A file of a client, or what is left of it after something happened to it.
fn files() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let header = r#"{"linelamp":1,"role":"ROLE","version":"0","agent":"test-agent","at":"2026-01-01T00:00:00Z","instance":"x"}"#;
    let good = prop_oneof![
        Just(format!("{}\n{}", header.replace("ROLE", "hook"), payload("h", "a"))),
        Just(format!("{}\n{}", header.replace("ROLE", "hook"), payload("h", "panic"))),
        Just(format!("{}\n{}{}", header.replace("ROLE", "wrap"), batch(1), batch(9))),
    ];
    let file = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..300),
        (good, any::<prop::sample::Index>(), any::<u8>(), any::<bool>()).prop_map(
            |(good, place, byte, is_cut)| {
                let mut bytes = good.into_bytes();
                let place = place.index(bytes.len());
                if is_cut {
                    bytes.truncate(place);
                } else {
                    bytes[place] = byte;
                }
                bytes
            }
        ),
    ];
    prop::collection::vec(file, 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_files_cost_no_good_neighbour(files in files()) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let state = tempfile::tempdir().expect("a folder");
            let before = hook(state.path(), -1_000_000_000, &payload("s", "a"));
            for (number, file) in files.iter().enumerate() {
                let name = format!("{number:020}-0000000001-0000000000000001");
                std::fs::write(state.path().join(FOLDER).join(name), file).expect("written");
            }
            let after = hook(state.path(), 0, &payload("s", "a"));
            wrapped(state.path(), 1, "good", &batch(1));
            let store = Arc::new(Store::default());
            let daemon = Daemon::start(state.path(), Some(&store));
            daemon.settle().await;
            let committed = store.committed();
            for position in [format!("hook/{before}"), format!("hook/{after}"), "wrap/good/1".into()] {
                assert!(committed.contains(&position), "{position} is missing");
            }
            assert!(store.twice().is_empty());
            // Nothing lies about: it is taken in, put aside, or of a format to come.
            let left = || daemon.counts().left_alone;
            until("cleaning up", || names(state.path()).len() as u64 == left()).await;
            let counts = daemon.counts();
            assert_eq!(bad(state.path()).len() as u64, counts.bad_files);
            daemon.stop().await;
        });
    }

    #[test]
    fn arbitrary_lines_end_their_own_connection_at_most(
        greets in any::<bool>(),
        lines in prop::collection::vec(
            prop_oneof![
                prop::collection::vec(any::<u8>(), 0..200),
                (1_u64..6).prop_map(|number| batch(number).into_bytes()),
                (1_u64..6, any::<prop::sample::Index>(), any::<u8>()).prop_map(
                    |(number, place, byte)| {
                        let mut line = batch(number).into_bytes();
                        let place = place.index(line.len());
                        line[place] = byte;
                        line
                    }
                ),
            ],
            0..6,
        ),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let state = tempfile::tempdir().expect("a folder");
            let store = Arc::new(Store::default());
            let daemon = Daemon::start(state.path(), Some(&store));
            let mut good = Wrapper::greet(&daemon, "good").await;
            good.say(&batch(1)).await;
            let mut hostile = if greets {
                Wrapper::greet(&daemon, "hostile").await
            } else {
                Wrapper::connect(&daemon).await
            };
            for line in &lines {
                // It may have been hung up on.
                hostile.write(line).await.ok();
            }
            drop(hostile);
            good.say(&batch(2)).await;
            good.acknowledged(2).await;
            drop(good);
            until("both ends", || daemon.counts().connected == 0).await;
            assert!(store.twice().is_empty());
            daemon.stop().await;
        });
    }
}
