//! One daemon at a time, a start that says what is wrong, and an end that leaves nothing.

use std::process::Stdio;

use crate::sandbox::{Sandbox, payload};

#[test]
fn there_is_only_one_daemon_and_the_second_says_so() {
    let sandbox = Sandbox::new();
    let daemon = sandbox.daemon();
    let output = sandbox.run(["serve"]);
    assert_eq!(output.status.code(), Some(1));
    let words = String::from_utf8(output.stderr).expect("text");
    assert!(words.contains("already runs"), "{words}");
    assert!(words.contains(&daemon.child.id().to_string()), "{words}");
    // The first one is unharmed.
    sandbox.text(["ls"]);
}

#[test]
fn a_stale_socket_of_a_killed_daemon_is_taken_over() {
    let sandbox = Sandbox::new();
    sandbox.daemon().kill();
    assert!(sandbox.state().join("run/control.sock").exists(), "the kill left nothing behind");
    let _daemon = sandbox.daemon();
    sandbox.text(["ls"]);
}

#[test]
fn commands_without_a_daemon_say_what_to_do() {
    let sandbox = Sandbox::new();
    for command in ["ls", "watch", "down"] {
        let output = sandbox.run([command]);
        assert_eq!(output.status.code(), Some(3), "{command}");
        let words = String::from_utf8(output.stderr).expect("text");
        assert!(words.contains("linelamp up"), "{words}");
    }
}

#[test]
fn up_starts_it_down_stops_it_and_both_can_be_said_twice() {
    let sandbox = Sandbox::new();
    let up = sandbox.text(["up"]);
    assert!(up.contains("is up"), "{up}");
    let again = sandbox.text(["up"]);
    assert!(again.contains("already runs"), "{again}");
    sandbox.hook(&payload("s", "SessionStart", r#","source":"startup""#));
    sandbox.eventually("the session", |sandbox| sandbox.session("s"));
    assert!(sandbox.text(["logs"]).contains("linelamp is up"));
    let down = sandbox.text(["down"]);
    assert!(down.contains("is down"), "{down}");
    let run = sandbox.state().join("run");
    let left: Vec<_> = std::fs::read_dir(run).expect("a folder").collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(sandbox.run(["down"]).status.code(), Some(3));
}

#[test]
fn a_start_that_fails_says_why_also_in_the_background() {
    let sandbox = Sandbox::new();
    sandbox.configure("[sinks.file]\nkind = \"jsonl\"\n");
    for command in ["serve", "up"] {
        let output = sandbox.run([command]);
        assert!(!output.status.success(), "{command}");
        let words = String::from_utf8(output.stderr).expect("text");
        assert!(words.contains("path") && words.contains("sinks.file"), "{command}: {words}");
    }
}

#[test]
fn files_and_sockets_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new();
    let _daemon = sandbox.daemon();
    sandbox.hook(&payload("s", "SessionStart", r#","source":"startup""#));
    sandbox.eventually("the session", |sandbox| sandbox.session("s"));
    let mut folders = vec![sandbox.state()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let data = std::fs::symlink_metadata(&path).expect("an entry");
            if data.is_symlink() {
                continue;
            }
            seen += 1;
            // The lock and the like are in a private folder; the folders themselves must be private.
            if data.is_dir() {
                assert_eq!(data.permissions().mode() & 0o077, 0, "{}", path.display());
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|e| e == "sock" || e == "db" || e == "key" || e == "log")
            {
                assert_eq!(data.permissions().mode() & 0o077, 0, "{}", path.display());
            }
        }
    }
    assert!(seen > 5, "only {seen} files were looked at");
}

#[test]
fn watch_prints_every_event_as_it_comes() {
    use std::io::{BufRead as _, BufReader};
    let sandbox = Sandbox::new();
    let _daemon = sandbox.daemon();
    let mut watch = sandbox
        .command(["watch", "--format", "ndjson"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("watch starts");
    let mut lines = BufReader::new(watch.stdout.take().expect("a pipe")).lines();
    // The watcher may connect after the first hook: it sees the session either way.
    sandbox.hook(&payload("w", "SessionStart", r#","source":"startup""#));
    sandbox.hook(&payload("w", "UserPromptSubmit", r#","prompt":"x","prompt_id":"p""#));
    let found = lines
        .by_ref()
        .map_while(Result::ok)
        .take(100)
        .any(|line| line.contains("\"id\":\"w\"") && line.contains("working"));
    assert!(found);
    watch.kill().expect("killed");
    watch.wait().expect("waited");
}

#[test]
fn a_runtime_folder_elsewhere_is_found_by_clients_that_do_not_know_it() {
    let sandbox = Sandbox::new();
    let home = sandbox.home();
    let runtime = home.join("runtime");
    std::fs::create_dir(&runtime).expect("a folder");
    let command = |arguments: &[&str]| {
        let mut command = sandbox.command(arguments);
        command.env_remove("LINELAMP_HOME").env("XDG_RUNTIME_DIR", &runtime);
        command
    };
    let up = command(&["up"]).output().expect("runs");
    assert!(up.status.success(), "{}", String::from_utf8_lossy(&up.stderr));
    assert!(runtime.join("linelamp/control.sock").exists());
    // A hook's environment may lack what the daemon's has.
    let mut hook = sandbox
        .command(["hook"])
        .env_remove("LINELAMP_HOME")
        .stdin(Stdio::piped())
        .spawn()
        .expect("the hook client starts");
    let text = payload("elsewhere", "SessionStart", r#","source":"startup""#);
    std::io::Write::write_all(&mut hook.stdin.take().expect("a pipe"), text.as_bytes())
        .expect("written");
    assert!(hook.wait().expect("waited").success());
    sandbox.eventually("the session", |_| {
        let listed = command(&["ls", "--all", "--format", "ndjson"]).output().expect("runs");
        String::from_utf8(listed.stdout).expect("text").contains("elsewhere").then_some(())
    });
    assert!(command(&["down"]).status().expect("runs").success());
}

#[test]
fn a_feed_that_is_switched_off_takes_in_nothing() {
    let sandbox = Sandbox::new();
    sandbox.configure("[feeds.hooks]\nenabled = false\n");
    let _daemon = sandbox.daemon();
    sandbox.hook(&payload("unwanted", "SessionStart", r#","source":"startup""#));
    let wrapped = sandbox
        .command(["wrap", "--agent", "claude-code", "--", "sh", "-c"])
        .arg(r#"echo '{"type":"system","subtype":"init","session_id":"wanted","uuid":"u","cwd":"/tmp","model":"m"}'"#)
        .stdin(Stdio::null())
        .output()
        .expect("the wrapper runs");
    assert!(wrapped.status.success());
    sandbox.until_state("wanted", "ended");
    // The spool is read in order of time: the hook's file came first.
    sandbox.eventually("an empty spool", |sandbox| {
        let left = std::fs::read_dir(sandbox.state().join("spool")).ok()?;
        left.flatten().all(|entry| entry.path().is_dir()).then_some(())
    });
    assert_eq!(sandbox.session("unwanted"), None);
}
