//! What `record` promises, and that a replay reads what it wrote.

use std::ffi::OsString;
use std::io::{Cursor, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use linelamp_core::Timestamp;
use linelamp_core::driver::Direction;
use linelamp_core::process::ProcessExit;
use linelamp_feeds::record::{RecordEnd, RecordError, RecordOptions, record};
use linelamp_feeds::replay::{Recording, Signal};
use linelamp_feeds::spool::{self, Header, Role};

/// Somewhere to write that can be looked at.
#[derive(Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("unpoisoned").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Output {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("unpoisoned").clone()).expect("text")
    }
}

fn options(folder: &Path, script: &str) -> RecordOptions {
    RecordOptions {
        folder: folder.to_owned(),
        agent: Some("test-agent".into()),
        program: "sh".into(),
        arguments: ["-c", script].map(OsString::from).to_vec(),
        hidden_arguments: vec!["hidden".into()],
        environment: Vec::new(),
        files: None,
        hooks: None,
    }
}

fn run(options: &RecordOptions, input: &'static str) -> (RecordEnd, String, String) {
    let (output, errors) = (Output::default(), Output::default());
    let end = record(options, Cursor::new(input), output.clone(), errors.clone()).expect("run");
    (end, output.text(), errors.text())
}

#[test]
fn what_is_recorded_is_what_a_replay_reads() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join("recording");
    let state = home.path().join("state");
    let mut header = Header::new(Role::Hook, "test-agent".into(), Timestamp::now());
    header.env.insert("WHERE".into(), "here".into());
    spool::write(&state, &header, b"{\n  \"hook_event_name\": \"Stop\"\n}").expect("written");
    let script = r#"read -r line; echo "got $line"; echo "$0" >&2; printf 'last'; exit 3"#;
    let options = RecordOptions { hooks: Some(state.clone()), ..options(&folder, script) };
    let (end, output, errors) = run(&options, "one\ntwo\n");
    assert_eq!((output.as_str(), errors.as_str()), ("got one\nlast", "hidden\n"));
    assert_eq!(end.exit, ProcessExit { code: Some(3), signal: None });
    assert!(end.incomplete.is_none(), "{:?}", end.incomplete);

    let recording = Recording::open(&folder).expect("a recording");
    assert_eq!(recording.program(), Some("test-agent"));
    assert_eq!(recording.feeds().to_string(), "stream,hooks");
    let (mut lines, mut others) = (Vec::new(), Vec::new());
    for step in recording.steps() {
        match step.signal {
            Signal::Line { process: 1, direction: Direction::FromAgent, bytes } => {
                lines.push(String::from_utf8_lossy(bytes).into_owned());
            }
            Signal::Line { bytes, .. } => assert!([&b"one"[..], b"two"].contains(&bytes)),
            Signal::Start { arguments, reference, .. } => {
                assert_eq!(arguments, ["-c", script]);
                assert!(reference.is_some());
                others.push("start");
            }
            Signal::Hook { payload } => {
                assert_eq!(payload, b"{  \"hook_event_name\": \"Stop\"}");
                assert_eq!(step.context.env["WHERE"], "here");
                others.push("hook");
            }
            Signal::Exit { exit, .. } => {
                assert_eq!(exit, end.exit);
                others.push("exit");
            }
            other => panic!("not recorded: {other:?}"),
        }
    }
    assert_eq!(lines, ["got one", "last"]);
    assert_eq!((others.first(), others.last(), others.len()), (Some(&"start"), Some(&"exit"), 3));
    let left = std::fs::read_dir(state.join(spool::FOLDER)).expect("a folder").count();
    assert_eq!(left, 0);
}

#[test]
fn bytes_are_kept_as_they_were_and_death_by_signal_is_told() {
    use std::os::unix::fs::PermissionsExt as _;

    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join("recording");
    let (end, output, _) = run(&options(&folder, r"printf 'a\r\n\nb\n'; kill -9 $$"), "");
    assert_eq!(output, "a\r\n\nb\n");
    assert_eq!(std::fs::read(folder.join("stdout.ndjson")).expect("a file"), b"a\r\n\nb\n");
    assert_eq!(end.exit, ProcessExit { code: None, signal: Some(9) });
    let meta = std::fs::read_to_string(folder.join("meta.json")).expect("a file");
    let meta: serde_json::Value = serde_json::from_str(&meta).expect("json");
    assert_eq!(meta["exit_codes"], serde_json::json!([-9]));
    let mode = |path: &Path| path.metadata().expect("metadata").permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for file in std::fs::read_dir(&folder).expect("a folder") {
        let path = file.expect("a file").path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[test]
fn a_folder_with_something_in_it_is_not_touched() {
    let home = tempfile::tempdir().expect("a folder");
    std::fs::write(home.path().join("mine"), b"x").expect("written");
    let refused = record(&options(home.path(), "exit 0"), Cursor::new(""), Vec::new(), Vec::new());
    assert!(matches!(refused, Err(RecordError::NotEmpty(_))));
    assert_eq!(std::fs::read_dir(home.path()).expect("a folder").count(), 1);
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let home = tempfile::tempdir().expect("a folder");
    let options = RecordOptions {
        program: "/no/such/program".into(),
        ..options(&home.path().join("recording"), "")
    };
    let error = record(&options, Cursor::new(""), Vec::new(), Vec::new()).expect_err("no program");
    assert_eq!(error.to_string(), "cannot run /no/such/program");
}
