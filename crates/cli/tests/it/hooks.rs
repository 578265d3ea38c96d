//! `hooks`: what a user meets who installs, looks, upgrades and takes out again.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use linelamp_drivers::claude_code::settings::wanted;
use serde_json::Value;

use crate::sandbox::{Sandbox, payload, signal};

/// A sandbox with a home, a PATH of its own and an agent that says its version.
struct Desk {
    sandbox: Sandbox,
    root: PathBuf,
}

impl Desk {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let root = sandbox.home().canonicalize().expect("a folder");
        for folder in ["bin", "user", "project/.git", "project/deep/er"] {
            fs::create_dir_all(root.join(folder)).expect("a folder");
        }
        let desk = Self { sandbox, root };
        desk.agent("echo '2.1.332 (Claude Code)'");
        desk
    }

    /// Makes `claude` a script.
    fn agent(&self, script: &str) {
        let path = self.root.join("bin/claude");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
    }

    /// This program under another path.
    fn program(&self, path: &str) -> PathBuf {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        let own = env!("CARGO_BIN_EXE_linelamp");
        fs::remove_file(&path).ok();
        if fs::hard_link(own, &path).is_err() {
            fs::copy(own, &path).expect("a copy");
        }
        path
    }

    fn path_variable(&self) -> String {
        format!("{}:/usr/bin:/bin", self.root.join("bin").display())
    }

    /// A program in the folder of a project.
    fn here(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.root.join("project/deep/er"))
            .env_clear()
            .env("PATH", self.path_variable())
            .env("HOME", self.root.join("user"))
            .env("LINELAMP_HOME", &self.root)
            .stdin(Stdio::null());
        command
    }

    /// `PROGRAM hooks …`
    fn with(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = self.here(program);
        command.arg("hooks").args(arguments);
        command
    }

    fn hooks(&self, arguments: &[&str]) -> Command {
        self.with(Path::new(env!("CARGO_BIN_EXE_linelamp")), arguments)
    }

    fn ok(&self, arguments: &[&str]) -> String {
        success(&self.hooks(arguments).output().expect("the program runs"))
    }

    /// What `status` prints, and whether it is content.
    fn status(&self, arguments: &[&str]) -> (bool, String) {
        let output = self.hooks(&[&["status"], arguments].concat()).output().expect("it runs");
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        (output.status.success(), text)
    }

    fn user_file(&self) -> PathBuf {
        self.root.join("user/.claude/settings.json")
    }

    fn write_user_file(&self, text: &str) {
        fs::create_dir_all(self.root.join("user/.claude")).expect("a folder");
        fs::write(self.user_file(), text).expect("a file");
    }

    /// Every file and what is in it.
    fn everything(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let bytes = fs::read(&path).unwrap_or_default();
                    found.insert(path, bytes);
                }
            }
            found.insert(folder, Vec::new());
        }
        found
    }

    /// Runs a stored command as the agent does.
    fn run_stored(&self, command: &str, payload: &str) {
        let mut child = Command::new("/bin/sh")
            .args(["-c", command])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("LINELAMP_HOME", &self.root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a shell");
        child.stdin.take().expect("a pipe").write_all(payload.as_bytes()).expect("written");
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{output:?}");
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    }

    /// The system tells the start of a process to a hundredth of a second; within that nothing is claimed.
    fn let_the_clock_tick(&self) {
        let before = Instant::now();
        self.sandbox.eventually("another tick of the clock", |_| {
            (before.elapsed() > Duration::from_millis(50)).then_some(())
        });
    }

    /// An agent that starts, reports one payload and stays. It ends when its input does.
    fn session(&self, id: &str) -> Child {
        let report = payload(id, "SessionStart", r#","source":"startup""#);
        let program = env!("CARGO_BIN_EXE_linelamp");
        let script = format!(
            "if [ \"$1\" = --version ]; then echo 2.1.332; exit; fi\n\
             printf '%s' '{report}' | '{program}' hook --agent claude-code\nread line"
        );
        self.agent(&script);
        Command::new(self.root.join("bin/claude"))
            .env_clear()
            .env("PATH", self.path_variable())
            .env("LINELAMP_HOME", &self.root)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("the agent starts")
    }
}

fn success(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON")
}

/// The command that `Stop` runs, which must be the only one.
fn command(path: &Path) -> String {
    let list = &json(path)["hooks"]["Stop"];
    assert_eq!(list.as_array().map(Vec::len), Some(1), "{list}");
    list[0]["hooks"][0]["command"].as_str().expect("a command").to_owned()
}

fn events(path: &Path) -> Vec<String> {
    json(path)["hooks"].as_object().expect("hooks").keys().cloned().collect()
}

fn sorted(events: Vec<&'static str>) -> Vec<String> {
    let mut events: Vec<String> = events.into_iter().map(str::to_owned).collect();
    events.sort();
    events
}

#[test]
fn each_level_has_its_file_and_is_left_as_it_was() {
    let desk = Desk::new();
    let text = "{\n  // ours\n  \"model\": \"opus\", // theirs\n}\n";
    let files = [
        ("user", desk.user_file()),
        ("project", desk.root.join("project/.claude/settings.json")),
        ("local", desk.root.join("project/.claude/settings.local.json")),
    ];
    for (_, path) in &files[..2] {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    for (level, path) in &files {
        let told = desk.ok(&["install", "--level", level]);
        assert!(told.contains(path.to_str().expect("text")), "{told}");
        assert!(fs::read_to_string(path).expect("a file").contains("hook --agent claude-code"));
    }
    assert!(desk.ok(&["install", "--level", "user,project,local"]).contains("already"));
    let told = desk.ok(&["uninstall"]);
    assert!(told.contains("--level project") && told.contains("--level local"), "{told}");
    desk.ok(&["uninstall", "--level", "project", "--level", "local"]);
    for (_, path) in &files[..2] {
        assert_eq!(fs::read_to_string(path).expect("a file"), text);
    }
    assert!(!files[2].1.exists(), "we made it");
}

#[test]
fn a_dry_run_shows_the_difference_and_writes_nothing() {
    let desk = Desk::new();
    desk.write_user_file("{\n  \"model\": \"opus\"\n}\n");
    let before = desk.everything();
    let told = desk.ok(&["install", "--dry-run"]);
    let path = desk.user_file();
    for line in [
        &format!("--- {}", path.display()),
        &format!("+++ {}", path.display()),
        "-  \"model\": \"opus\"",
        "+  \"model\": \"opus\",",
        "+    \"SessionStart\": [",
    ] {
        assert!(told.lines().any(|found| found == line), "{line}: {told}");
    }
    let told = desk.ok(&["install", "--dry-run", "--level", "local"]);
    assert!(told.starts_with("--- /dev/null\n"), "{told}");
    assert!(desk.ok(&["uninstall", "--dry-run"]).contains("would stay as it is"));
    assert_eq!(desk.everything(), before);
    desk.ok(&["install"]);
    let before = desk.everything();
    assert!(desk.ok(&["uninstall", "--dry-run"]).contains("\n-    \"SessionStart\": ["));
    assert!(desk.ok(&["install", "--dry-run"]).contains("would stay as it is"));
    assert_eq!(desk.everything(), before);
}

#[test]
fn questions_and_mistakes_write_nothing() {
    let desk = Desk::new();
    desk.write_user_file("{}\n");
    let before = desk.everything();
    for (arguments, code) in [
        (&["install", "--help"][..], 0),
        (&["uninstall", "--help"], 0),
        (&["--help"], 0),
        (&["help", "install"], 0),
        (&["install", "--nonsense"], 2),
        (&["instal"], 2),
        (&[], 2),
        (&["install", "--level", "nobody"], 2),
        (&["install", "--agent", "nobody"], 2),
        (&["install", "--agent-version", "zzz"], 2),
        (&["install", "--agent-version", "2.1"], 2),
        (&["status", "--agent-version", "zzz"], 2),
        (&["install", "--level", "project", "--config-dir", "/x"], 2),
        (&["install", "--settings", "x.json", "--level", "user"], 2),
        (&["uninstall", "extra"], 2),
        (&["status"], 1),
    ] {
        let output = desk.hooks(arguments).output().expect("it runs");
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
        assert_eq!(desk.everything(), before, "{arguments:?}");
    }
}

#[test]
fn an_uninstall_is_remembered_when_the_daemon_starts_again() {
    let desk = Desk::new();
    desk.ok(&["install"]);
    desk.ok(&["uninstall"]);
    for _ in 0..2 {
        let daemon = desk.sandbox.daemon();
        desk.run_stored(
            &format!("'{}' hook", env!("CARGO_BIN_EXE_linelamp")),
            &payload("one", "SessionStart", r#","source":"startup""#),
        );
        desk.sandbox.eventually("the session", |sandbox| sandbox.session("one"));
        daemon.stop();
        assert!(!desk.user_file().exists());
    }
    let (content, told) = desk.status(&[]);
    assert!(!content && told.contains("not installed"), "{told}");
}

#[test]
fn only_event_names_that_the_installed_version_knows_are_written() {
    let desk = Desk::new();
    for (script, version) in [
        ("echo '2.1.332 (Claude Code)'", Some("2.1.332")),
        ("echo '2.1.197 (Claude Code)'", Some("2.1.197")),
        ("echo 1.0.90", Some("1.0.90")),
        ("echo 'Claude Code, the newest'", None),
        ("printf '\\377\\376'", None),
        ("echo 2.1.332; exit 1", None),
        ("exec 1>&-", None),
        ("sleep 600 & echo $! >> \"$HOME/asleep\"", None),
        ("sleep 600 & echo $! >> \"$HOME/asleep\"; echo 2.1.332", Some("2.1.332")),
    ] {
        desk.agent(script);
        desk.ok(&["install"]);
        assert_eq!(events(&desk.user_file()), sorted(wanted(version)), "{script}");
    }
    // What such an agent has left running.
    for pid in fs::read_to_string(desk.root.join("user/asleep")).expect("pids").lines() {
        signal(pid.parse().expect("a pid"), "KILL");
    }
    fs::remove_file(desk.root.join("bin/claude")).expect("ours");
    desk.ok(&["install"]);
    assert_eq!(events(&desk.user_file()), sorted(wanted(None)));
    desk.ok(&["install", "--agent-version", "2.1.332"]);
    assert_eq!(events(&desk.user_file()), sorted(wanted(Some("2.1.332"))));
}

#[test]
fn a_stored_command_works_whatever_the_folder_is_called() {
    let desk = Desk::new();
    for name in ["it's $HOME", "a b", "`id`", "\"q\" ; exit 3", r"back\slash", "ünï *"] {
        let program = desk.program(&format!("tools/{name}/linelamp"));
        success(&desk.with(&program, &["install"]).output().expect("it runs"));
        let stored = command(&desk.user_file());
        let spool = desk.root.join("state/spool");
        let before = fs::read_dir(&spool).map_or(0, Iterator::count);
        desk.run_stored(&stored, &payload("one", "SessionStart", r#","source":"startup""#));
        assert_eq!(fs::read_dir(&spool).map_or(0, Iterator::count), before + 1, "{stored}");
    }
}

#[test]
fn both_home_and_project_registered_is_one_event() {
    let desk = Desk::new();
    desk.ok(&["install", "--level", "user,project"]);
    let files = [desk.user_file(), desk.root.join("project/.claude/settings.json")];
    let _daemon = desk.sandbox.daemon();
    let report = payload("both", "UserPromptSubmit", r#","prompt":"x","prompt_id":"p""#);
    for path in &files {
        desk.run_stored(&command(path), &report);
    }
    desk.sandbox.until_state("both", "working");
    desk.run_stored(
        &command(&files[0]),
        &payload("both", "Stop", r#","prompt_id":"p","stop_hook_active":false"#),
    );
    desk.sandbox.until_state("both", "idle");
    let history = desk.sandbox.lines(["history", "both", "--format", "ndjson"]);
    let turns = history.iter().filter(|event| event["kind"] == "turn.started").count();
    assert_eq!(turns, 1, "{history:?}");
}

#[test]
fn the_command_is_the_same_before_and_after_an_upgrade() {
    let desk = Desk::new();
    let link = desk.root.join("bin/linelamp");
    let mut stored = Vec::new();
    for version in ["0.1.0", "0.2.0"] {
        let program = desk.program(&format!("opt/linelamp-{version}/bin/linelamp"));
        fs::remove_file(&link).ok();
        symlink(&program, &link).expect("a link");
        // By the link, and by the path of the version itself.
        for called in [&link, &program] {
            success(&desk.with(called, &["install"]).output().expect("it runs"));
            stored.push(command(&desk.user_file()));
        }
    }
    assert!(stored.iter().all(|command| command.contains("/bin/linelamp'")), "{stored:?}");
    stored.dedup();
    assert_eq!(stored.len(), 1, "{stored:?}");
    assert!(stored[0].starts_with(&format!("'{}'", link.display())), "{stored:?}");
}

#[test]
fn installing_from_another_path_replaces_and_never_doubles() {
    let desk = Desk::new();
    let text = "{ \"hooks\": { \"Stop\": [] } }\n";
    desk.write_user_file(text);
    for name in ["one/linelamp", "two/linelamp", "three/lamp"] {
        let program = desk.program(name);
        success(&desk.with(&program, &["install"]).output().expect("it runs"));
        let stored = command(&desk.user_file());
        assert!(stored.contains(&*program.to_string_lossy()), "{stored}");
    }
    desk.ok(&["uninstall"]);
    assert_eq!(fs::read_to_string(desk.user_file()).expect("a file"), text);
}

#[test]
fn a_refused_file_is_named_with_its_place_and_nothing_at_all_is_written() {
    let desk = Desk::new();
    let local = desk.root.join("project/.claude/settings.local.json");
    fs::create_dir_all(local.parent().expect("a folder")).expect("a folder");
    for text in ["{\n  \"hooks\": []\n}\n", "{\n  \"model\": \"op", "{\n  \"a\": 1\n  \"b\": 2\n}"]
    {
        fs::write(&local, text).expect("a file");
        desk.write_user_file("{}\n");
        let before = desk.everything();
        // The user's file comes first and could be written; it waits for the others.
        let output = desk.hooks(&["install", "--level", "user,local"]).output().expect("it runs");
        assert_eq!(output.status.code(), Some(1));
        let told = String::from_utf8(output.stderr).expect("text");
        assert!(told.contains("settings.local.json") && told.contains("line "), "{told}");
        assert!(told.contains("column ") && told.contains("hint: "), "{told}");
        assert_eq!(desk.everything(), before);
    }
    fs::write(&local, "{}").expect("a file");
    fs::set_permissions(&local, fs::Permissions::from_mode(0o444)).expect("ours");
    let output = desk.hooks(&["install", "--level", "local"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(fs::read_to_string(&local).expect("a file"), "{}");
    let mode = fs::metadata(&local).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o444);
}

#[test]
fn the_agents_own_folder_is_the_one_its_variable_names() {
    let desk = Desk::new();
    let work = desk.root.join("project/deep/er");
    for (variable, want) in [
        ("", desk.user_file()),
        ("accounts/one", work.join("accounts/one/settings.json")),
        ("~/.claude-work", desk.root.join("user/.claude-work/settings.json")),
        (&*desk.root.join("x y").display().to_string(), desk.root.join("x y/settings.json")),
    ] {
        let output = desk.hooks(&["install"]).env("CLAUDE_CONFIG_DIR", variable).output();
        let told = success(&output.expect("it runs"));
        assert!(told.contains(&*want.to_string_lossy()), "{variable}: {told}");
        assert!(want.exists(), "{variable}");
    }
    // Two accounts at once, one of them named twice.
    let folders = ["--config-dir", "a", "--config-dir", "~/b", "--config-dir", "./a/"];
    let told = desk.ok(&[&["install"], &folders[..]].concat());
    assert_eq!(told.matches("hooks for").count(), 2, "{told}");
    let files = [work.join("a/settings.json"), desk.root.join("user/b/settings.json")];
    assert!(files.iter().all(|path| path.exists()), "{told}");
    let (content, told) = desk.status(&folders);
    assert!(content && told.matches("  installed\n").count() == 2, "{told}");
    desk.ok(&[&["uninstall"], &folders[..]].concat());
    assert!(files.iter().all(|path| !path.exists()));
}

#[test]
fn sessions_that_were_started_before_are_told_and_later_ones_are_not() {
    let desk = Desk::new();
    let _daemon = desk.sandbox.daemon();
    let mut early = desk.session("early-one");
    desk.sandbox.eventually("the first session", |sandbox| sandbox.session("early-one"));
    desk.let_the_clock_tick();
    desk.ok(&["install"]);
    let (_, told) = desk.status(&[]);
    assert!(told.contains("  installed\n"), "{told}");
    assert!(told.contains("early-on: started before install, will not report"), "{told}");
    assert!(told.contains("no hook event since install"), "{told}");
    let mut later = desk.session("later-one");
    desk.sandbox.eventually("the second session", |sandbox| sandbox.session("later-one"));
    let (content, told) = desk.status(&[]);
    assert!(content, "{told}");
    assert!(told.contains("early-on: started before install"), "{told}");
    assert!(!told.contains("later-on: started"), "{told}");
    assert!(told.contains("last hook event: ") && told.contains(" ago)"), "{told}");
    for child in [&mut early, &mut later] {
        drop(child.stdin.take());
        child.wait().expect("it ends");
    }
}

#[test]
fn a_session_that_should_report_and_does_not_is_told() {
    let desk = Desk::new();
    let _daemon = desk.sandbox.daemon();
    desk.ok(&["install"]);
    desk.let_the_clock_tick();
    // The wrapper sees it; no hook of it ever comes.
    desk.agent(
        "if [ \"$1\" = --version ]; then echo 2.1.332; exit; fi\n\
         echo '{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"silent\",\"cwd\":\"/tmp\",\"model\":\"m\"}'\nread line",
    );
    let mut wrapped = Command::new(env!("CARGO_BIN_EXE_linelamp"))
        .args(["wrap", "--agent", "claude-code", "--"])
        .arg(desk.root.join("bin/claude"))
        .args(["-p", "--output-format", "stream-json"])
        .env_clear()
        .env("PATH", desk.path_variable())
        .env("LINELAMP_HOME", &desk.root)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the wrapper starts");
    desk.sandbox.eventually("the session", |sandbox| {
        sandbox.session("silent").filter(|session| !session["pid"].is_null())
    });
    let (content, told) = desk.status(&[]);
    assert!(!content && told.contains("not firing: no hook event since install"), "{told}");
    // As soon as one is heard, it fires.
    desk.run_stored(&command(&desk.user_file()), &payload("silent", "PreCompact", ""));
    let (_, told) = desk.sandbox.eventually("a hook event", |_| {
        let (content, told) = desk.status(&[]);
        content.then_some((content, told))
    });
    assert!(!told.contains("not firing"), "{told}");
    drop(wrapped.stdin.take());
    wrapped.wait().expect("it ends");
}

#[test]
fn a_program_that_is_gone_or_another_one_is_a_stale_path() {
    let desk = Desk::new();
    let program = desk.program("old/linelamp");
    success(&desk.with(&program, &["install"]).output().expect("it runs"));
    fs::remove_file(&program).expect("ours");
    let (content, told) = desk.status(&[]);
    assert!(!content && told.contains("stale path"), "{told}");
    assert_eq!(told.matches("no such program").count(), 1, "{told}");
    fs::write(&program, "#!/bin/sh\n").expect("a script");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("ours");
    let (content, told) = desk.status(&[]);
    assert!(!content && told.contains("another program than this one"), "{told}");
    desk.ok(&["install"]);
    let (content, told) = desk.status(&[]);
    assert!(content && told.contains("  installed\n") && !told.contains("stale"), "{told}");
    // Another path to the same program is not stale.
    let own = env!("CARGO_BIN_EXE_linelamp");
    symlink(own, desk.root.join("bin/linelamp")).expect("a link");
    let (content, told) = desk.status(&[]);
    assert!(content && told.contains("  installed\n"), "{told}");
}

#[test]
fn status_names_each_event_once_and_says_what_is_wrong() {
    let desk = Desk::new();
    let entry = |command: &str| format!("{{\"hooks\":[{{\"command\":\"{command}\"}}]}}");
    let (a, b) = (entry("/a/linelamp hook"), entry("/b/linelamp hook"));
    desk.write_user_file(&format!("{{\"hooks\":{{\"Stop\":[{a},{a},{b},{a}],\"Setup\":[{a}]}}}}"));
    let (content, told) = desk.status(&[]);
    assert!(!content, "{told}");
    assert!(told.contains("  outdated: /a/linelamp hook: Stop, Setup\n"), "{told}");
    assert!(told.contains("  outdated: /b/linelamp hook: Stop\n"), "{told}");

    desk.write_user_file("{}");
    desk.ok(&["install"]);
    desk.ok(&["install", "--level", "local"]);
    let (content, told) = desk.status(&[]);
    assert!(content && told.contains("(user)") && told.contains("(local)"), "{told}");
    assert!(!told.contains("(project)"), "there is no such file: {told}");
    let project = desk.root.join("project/.claude/settings.json");
    fs::write(&project, "{\"disableAllHooks\": true}").expect("a file");
    let (content, told) = desk.status(&[]);
    assert!(!content && told.contains("installed, but switched off"), "{told}");
    assert!(told.contains(&format!("`disableAllHooks` in {}", project.display())), "{told}");
    fs::remove_file(&project).expect("ours");

    desk.write_user_file("{ // mine\n}\n");
    let told = desk.ok(&["install"]);
    assert!(told.contains("note: line "), "{told}");
    let (content, told) = desk.status(&["--level", "user"]);
    assert!(!content && told.contains("installed, but the agent ignores this file"), "{told}");
    fs::write(&project, "{").expect("a file");
    let output = desk.hooks(&["status"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("(user)"), "the others are told");
    assert!(String::from_utf8_lossy(&output.stderr).contains("line 1, column 2"));
}

#[test]
fn what_nobody_can_know_is_called_unknown() {
    let desk = Desk::new();
    desk.ok(&["install"]);
    let (content, told) = desk.status(&[]);
    assert!(content && told.contains("last hook event: unknown"), "{told}");
    fs::remove_file(desk.root.join("state/hooks.json")).expect("the note");
    let (_, told) = desk.status(&[]);
    assert!(told.contains("or earlier, when the file was last changed"), "{told}");
    desk.run_stored(&command(&desk.user_file()), &payload("one", "Stop", ""));
    let (_, told) = desk.status(&[]);
    assert!(told.contains("reports that wait for the daemon: 1"), "{told}");
}

#[test]
fn every_command_of_the_guide_works_as_it_is_written() {
    let desk = Desk::new();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/hooks.md");
    let page = fs::read_to_string(page).expect("the page");
    let blocks = page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut commands: Vec<&str> = blocks.flat_map(str::lines).collect();
    assert!(commands.len() > 8, "{commands:?}");
    symlink(env!("CARGO_BIN_EXE_linelamp"), desk.root.join("bin/linelamp")).expect("a link");
    desk.write_user_file("{\n  \"model\": \"opus\"\n}\n");
    // The last word on each file is its removal.
    commands.push("linelamp hooks uninstall --settings ~/somewhere/settings.json");
    commands.push("linelamp hooks uninstall");
    for command in commands {
        let output =
            desk.here(Path::new("/bin/sh")).args(["-c", command]).output().expect("a shell");
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(
        fs::read_to_string(desk.user_file()).expect("a file"),
        "{\n  \"model\": \"opus\"\n}\n"
    );
    let left = desk.everything();
    let written = left.keys().filter(|path| {
        path.file_name()
            .is_some_and(|name| name == "settings.json" || name == "settings.local.json")
    });
    assert_eq!(written.collect::<Vec<_>>(), [&desk.user_file()]);
}
