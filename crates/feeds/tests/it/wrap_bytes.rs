//! Bytes go through unchanged, whatever they are and however they are cut.

use std::io::{Read as _, Write as _};
use std::process::Stdio;

use proptest::prelude::*;

use crate::support::{PROBE, seen, spooled_batches, wait_for, wrap, wrap_sh};

fn through(state: &std::path::Path, chunks: &[Vec<u8>]) -> Vec<u8> {
    let mut child = wrap(state, &[], &["cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut input = child.stdin.take().expect("piped");
    let mut output = child.stdout.take().expect("piped");
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        output.read_to_end(&mut bytes).expect("bytes");
        bytes
    });
    for chunk in chunks {
        input.write_all(chunk).expect("written");
    }
    drop(input);
    let bytes = reader.join().expect("read");
    assert!(child.wait().expect("ended").success());
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_bytes_in_any_chunks_arrive_identical(
        chunks in prop::collection::vec(
            prop_oneof![
                prop::collection::vec(any::<u8>(), 0..3000),
                prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'{'), Just(0xff)], 0..200),
                (0_usize..300_000).prop_map(|length| vec![b'z'; length]),
            ],
            0..12,
        ),
    ) {
        let state = tempfile::tempdir().expect("a folder");
        prop_assert_eq!(through(state.path(), &chunks), chunks.concat());
    }
}

#[test]
fn lines_around_the_pipe_buffer_arrive_identical_and_are_read_whole() {
    for size in [65_535, 65_536, 65_537, (1 << 20) + 1, 8 << 20] {
        let state = tempfile::tempdir().expect("a folder");
        let mut line = br#"{"must":1,"padding":""#.to_vec();
        line.resize(size - 2, b'y');
        line.extend_from_slice(b"\"}\n");
        let chunks = [b"{\"must\":0}\n".to_vec(), line, b"{\"must\":2}\n".to_vec()];
        assert_eq!(through(state.path(), &chunks), chunks.concat(), "{size}");
        if size > 1 << 21 {
            // Copied into a draft it would take longer than a wrapper may hold its end.
            continue;
        }
        let batches = wait_for("the last word", || {
            let batches = spooled_batches(state.path());
            seen(&batches).last()?.get("exit")?;
            Some(batches)
        });
        let said = seen(&batches);
        // Input and output are read, each in its own order.
        let from_agent = said.iter().filter(|value| value["direction"] == "from_agent");
        let lengths: Vec<_> =
            from_agent.filter_map(|value| Some(value["line"].as_str()?.len())).collect();
        assert_eq!(lengths, [10, size, 10]);
    }
}

#[test]
fn lines_that_break_the_decoder_go_through_like_others() {
    let state = tempfile::tempdir().expect("a folder");
    let chunks: Vec<_> =
        ["panic\n", "{\"must\":1}\n", "panic\npanic\npanic\npanic\n", "{\"must\":2}\n"]
            .iter()
            .map(|text| text.as_bytes().to_vec())
            .collect();
    assert_eq!(through(state.path(), &chunks), chunks.concat());
}

#[test]
fn a_line_on_which_the_driver_fails_goes_through_and_the_end_is_still_reported() {
    let state = tempfile::tempdir().expect("a folder");
    let text = "{\"must\":1}\nfatal\n{\"must\":2}\n".to_owned() + &"z".repeat(300_000);
    let chunks = vec![b"{\"must\":0}\n".to_vec(), text.into_bytes(), b"\nfatal".to_vec()];
    assert_eq!(through(state.path(), &chunks), chunks.concat());
    let seen = seen(&spooled_batches(state.path()));
    assert_eq!(seen.last().expect("something")["exit"]["code"], 0, "{seen:?}");
}

#[test]
fn a_decoder_that_hangs_holds_nothing_up() {
    let state = tempfile::tempdir().expect("a folder");
    let mut chunks = vec![b"hang\n".to_vec()];
    chunks.extend(
        (0..100).map(|number| format!("{{\"must\":{number}}}\n").repeat(2000).into_bytes()),
    );
    assert_eq!(through(state.path(), &chunks), chunks.concat());
}

#[test]
fn nothing_is_printed_even_if_everything_fails() {
    let output =
        wrap_sh(std::path::Path::new("/proc/none"), "printf 'panic\\npanic\\nlast'; echo err >&2")
            .stdin(Stdio::null())
            .output()
            .expect("output");
    assert_eq!(output.stdout, b"panic\npanic\nlast");
    assert_eq!(output.stderr, b"err\n");
    assert!(output.status.success());
}

#[test]
fn a_socket_for_output_is_served_as_a_pipe_is() {
    let state = tempfile::tempdir().expect("a folder");
    let (mut reader, writer) = std::os::unix::net::UnixStream::pair().expect("a pair");
    let mut child = wrap(state.path(), &[], &[PROBE, "burst", "20000", "10"])
        .stdin(Stdio::null())
        .stdout(std::os::fd::OwnedFd::from(writer))
        .spawn()
        .expect("started");
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).expect("bytes");
    assert!(child.wait().expect("ended").success());
    let alone = std::process::Command::new(PROBE).args(["burst", "20000", "10"]).output();
    assert_eq!(bytes, alone.expect("output").stdout);
}
