//! The hook client as a process.

use std::io::Write as _;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;

use linelamp_feeds::spool::Role;

use crate::support::{PROBE, on_a_full_disk, spool_files};

fn hook(state: &Path, payload: &[u8]) -> Output {
    let mut child = Command::new(PROBE)
        .arg("hook")
        .arg(state)
        .env_clear()
        .env("TMUX_PANE", "%3")
        .env("CLAUDE_CODE_MESSAGING_TOKEN", "a secret")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    child.stdin.take().expect("piped").write_all(payload).expect("written");
    child.wait_with_output().expect("ended")
}

fn is_silent_success(output: &Output) -> bool {
    output.status.success() && output.stdout.is_empty() && output.stderr.is_empty()
}

#[test]
fn a_payload_is_kept_whole_with_what_is_around_it_and_nothing_is_printed() {
    let state = tempfile::tempdir().expect("a folder");
    let payload = b"{\"hook_event_name\":\"Stop\"}\n\xff";
    assert!(is_silent_success(&hook(state.path(), payload)));
    let (header, body) = spool_files(state.path()).remove(0);
    assert_eq!(body, payload);
    assert_eq!((header.role, header.agent.as_str()), (Role::Hook, "claude-code"));
    assert_eq!(header.env.into_iter().collect::<Vec<_>>(), [("TMUX_PANE".into(), "%3".into())]);
    let parent = header.ancestors.first().expect("a parent");
    assert_eq!(parent.process.pid, std::process::id());
    assert!(parent.process.start.is_some() && header.ancestors.len() <= 8);
    assert!(header.boot_id.is_some() && header.boottime_ns.is_some());
}

#[test]
fn a_large_input_is_kept_and_an_empty_one_leaves_no_file() {
    let state = tempfile::tempdir().expect("a folder");
    let large = vec![b'l'; 5 << 20];
    hook(state.path(), b"");
    hook(state.path(), &large);
    let bodies: Vec<_> = spool_files(state.path()).into_iter().map(|(_, body)| body).collect();
    assert_eq!(bodies, [large]);
}

#[test]
fn calls_at_the_same_time_lose_nothing() {
    let state = tempfile::tempdir().expect("a folder");
    thread::scope(|scope| {
        for worker in 0..8 {
            let state = state.path();
            scope.spawn(move || {
                for number in 0..10 {
                    hook(state, format!("{worker}/{number}").as_bytes());
                }
            });
        }
    });
    let mut bodies: Vec<_> = spool_files(state.path()).into_iter().map(|(_, body)| body).collect();
    bodies.sort();
    bodies.dedup();
    assert_eq!(bodies.len(), 80);
}

#[test]
fn the_daemon_is_poked_after_the_file_is_there() {
    let state = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(state.path().join("run")).expect("a folder");
    let socket = UnixDatagram::bind(state.path().join("run/poke.sock")).expect("a socket");
    hook(state.path(), b"{}");
    socket.set_nonblocking(true).expect("set");
    socket.recv(&mut [0; 8]).expect("a poke");
    assert_eq!(spool_files(state.path()).len(), 1);
}

#[test]
fn a_state_folder_that_cannot_be_written_is_passed_over_in_silence() {
    for state in ["/proc/none", "/dev/null/none"] {
        assert!(is_silent_success(&hook(Path::new(state), b"{}")), "{state}");
    }
}

#[test]
fn a_full_disk_leaves_nothing_half_written_and_is_passed_over_in_silence() {
    let (output, left) = on_a_full_disk(|state| hook(state, &vec![b'l'; 1 << 20]));
    assert!(is_silent_success(&output));
    assert_eq!(left, 0);
}
