//! `wrapper`: the launcher in an editor's settings starts the agent whatever becomes of us.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::sandbox::Sandbox;

const KEY: &str = "claudeCode.claudeProcessWrapper";

/// An agent that says what it was given, and ends with a code of its own.
const AGENT: &str = r#"#!/bin/sh
[ "$1" = "plugin" ] && echo "[\"pid\", $$]" && exit 3
echo '{"type":"system","subtype":"init","session_id":"from-the-editor","uuid":"u1","cwd":"/tmp","model":"m"}'
for word in "$@"; do printf '<%s>\n' "$word"; done
cat
env | sort | sed 's/^/env /' | grep -v '^env \(_\|SHLVL\|PWD\|OLDPWD\)='
echo 'some trouble' >&2
exit 7
"#;

/// Words a shell could misread.
const WORDS: [&str; 7] =
    ["--output-format", "stream-json", "it's", "a b", "$HOME", "`x` \"y\" \\", ""];

fn program(path: &Path, text: &str) -> PathBuf {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    let draft = path.with_extension("draft");
    fs::write(&draft, text).expect("written");
    copy(&draft, path);
    fs::remove_file(draft).expect("removed");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("ours");
    path.to_owned()
}

/// Another process writes the copy: a program cannot be run while somebody has it open for writing, and a
/// child that another test is just starting has what this process has open.
fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg(from).arg(to).status().expect("cp is there");
    assert!(status.success(), "{status}");
}

/// The settings file of an editor whose folder is there.
fn editor(sandbox: &Sandbox, folder: &str, text: Option<&str>) -> PathBuf {
    let folder = sandbox.home().join(folder);
    fs::create_dir_all(&folder).expect("a folder");
    let settings = folder.join("settings.json");
    if let Some(text) = text {
        fs::write(&settings, text).expect("written");
    }
    settings
}

const STABLE: &str = ".config/Code/User";

/// What the setting names.
fn named(settings: &Path) -> PathBuf {
    let text = fs::read_to_string(settings).expect("settings");
    let value = linelamp_drivers::claude_code::editor::current(&text).expect("valid settings");
    value.expect("the setting").into()
}

/// The agent, in a folder with a name that wants quoting.
fn agent(sandbox: &Sandbox) -> PathBuf {
    program(&sandbox.home().join("ext it's $1 \"q\"/claude"), AGENT)
}

/// Runs a program as an editor does: with pipes, and with nothing of ours in the environment.
fn start(sandbox: &Sandbox, words: &[&std::ffi::OsStr]) -> (u32, Output) {
    use std::io::Write as _;

    let mut child = Command::new(words[0])
        .args(&words[1..])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", sandbox.home())
        .env("LINELAMP_HOME", sandbox.home())
        .env("linelamp", "a variable of the user")
        .env("chained", "another one")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let written = stdin.write_all(b"{\"type\":\"user\"}\nlast line without an end");
    // One that does not read may be gone by now.
    drop((written, stdin));
    (child.id(), child.wait_with_output().expect("it ends"))
}

/// The launcher's words: itself, the agent, and what the editor wants of it.
fn call<'a>(launcher: &'a Path, agent: &'a Path, words: &'a [&'a str]) -> Vec<&'a std::ffi::OsStr> {
    let first = [launcher.as_os_str(), agent.as_os_str()];
    first.into_iter().chain(words.iter().map(std::ffi::OsStr::new)).collect()
}

#[track_caller]
fn assert_same(found: &Output, alone: &Output) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&found.stdout), text(&alone.stdout));
    assert_eq!(text(&found.stderr), text(&alone.stderr));
    assert_eq!(found.status, alone.status);
}

#[test]
fn the_launcher_runs_the_agent_as_it_is_and_the_session_is_seen() {
    let sandbox = Sandbox::new();
    let _daemon = sandbox.daemon();
    let settings = editor(&sandbox, STABLE, Some("{\n  // mine\n  \"a\": 1,\n}\n"));
    let agent = agent(&sandbox);
    let told = sandbox.text(["wrapper", "install"]);
    assert!(told.contains("VS Code") && told.contains("settings.json"), "{told}");
    let launcher = named(&settings);
    let (_, alone) = start(&sandbox, &call(&agent, Path::new(WORDS[0]), &WORDS[1..]));
    let (_, found) = start(&sandbox, &call(&launcher, &agent, &WORDS));
    assert_eq!(alone.status.code(), Some(7));
    assert_same(&found, &alone);
    let session = sandbox.until_state("from-the-editor", "ended");
    assert_eq!(session["agent"], "claude-code");

    let told = sandbox.text(["wrapper", "install"]);
    assert!(told.contains("already"), "{told}");
    sandbox.text(["wrapper", "uninstall"]);
    assert_eq!(fs::read_to_string(&settings).expect("there"), "{\n  // mine\n  \"a\": 1,\n}\n");
    assert!(!launcher.exists());
}

#[test]
fn the_agent_runs_when_linelamp_is_gone_or_broken() {
    let sandbox = Sandbox::new();
    let settings = editor(&sandbox, STABLE, None);
    let agent = agent(&sandbox);
    let (_, alone) = start(&sandbox, &call(&agent, Path::new(WORDS[0]), &WORDS[1..]));
    let own = sandbox.home().join("it's here/linelamp");
    fs::create_dir(own.parent().expect("a folder")).expect("a folder");
    copy(Path::new(env!("CARGO_BIN_EXE_linelamp")), &own);
    let installed = Command::new(&own)
        .args(["wrapper", "install"])
        .env("HOME", sandbox.home())
        .env("LINELAMP_HOME", sandbox.home())
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .expect("it runs");
    assert!(installed.status.success(), "{installed:?}");
    let launcher = named(&settings);
    assert!(fs::read_to_string(&launcher).expect("a script").contains("it'\\''s here/linelamp"));
    let (_, found) = start(&sandbox, &call(&launcher, &agent, &WORDS));
    assert_same(&found, &alone);

    // An upgrade that was cut off, another program, a folder, nothing at all.
    for broken in [Some(""), Some("garbage \u{1}"), Some("#!/bin/sh\nexit 0\n")] {
        fs::remove_file(&own).expect("removed");
        program(&own, broken.expect("a program"));
        let (_, found) = start(&sandbox, &call(&launcher, &agent, &WORDS));
        assert_same(&found, &alone);
    }
    fs::remove_file(&own).expect("removed");
    let (_, found) = start(&sandbox, &call(&launcher, &agent, &WORDS));
    assert_same(&found, &alone);
    let status = sandbox.run(["wrapper", "status"]);
    let told = String::from_utf8(status.stdout).expect("text");
    assert!(told.contains("linelamp is gone") && told.contains("not seen"), "{told}");
    assert_eq!(status.status.code(), Some(1));
    fs::create_dir(&own).expect("a folder");
    let (_, found) = start(&sandbox, &call(&launcher, &agent, &WORDS));
    assert_same(&found, &alone);
}

#[test]
fn another_tools_launcher_is_called_with_its_words_and_set_again() {
    let sandbox = Sandbox::new();
    let _daemon = sandbox.daemon();
    let agent = agent(&sandbox);
    let note = sandbox.home().join("note");
    let other = program(
        &sandbox.home().join("other 'tool'/wrap"),
        &format!(
            "#!/bin/sh\nprintf '<%s>\\n' \"$@\" > '{}'\nexec \"$@\"\n",
            note.to_str().expect("UTF-8")
        ),
    );
    let text = format!("{{\n\t\"{KEY}\": {}, // theirs\n}}\n", Value::from(other.to_str()));
    let settings = editor(&sandbox, STABLE, Some(&text));
    let told = sandbox.text(["wrapper", "install"]);
    assert!(told.contains("goes on calling"), "{told}");
    let launcher = named(&settings);
    assert_ne!(launcher, other);

    let (_, alone) = start(&sandbox, &call(&other, &agent, &WORDS));
    let expected = fs::read_to_string(&note).expect("it was called");
    fs::remove_file(&note).expect("removed");
    let (_, found) = start(&sandbox, &call(&launcher, &agent, &WORDS));
    assert_same(&found, &alone);
    assert_eq!(fs::read_to_string(&note).expect("it was called"), expected);
    sandbox.until_state("from-the-editor", "ended");
    let told = sandbox.text(["wrapper", "status"]);
    assert!(told.contains("chained with") && told.contains("other 'tool'/wrap"), "{told}");

    // A side call goes past linelamp here as well: the very process the editor started becomes the agent.
    let (pid, side) = start(&sandbox, &call(&launcher, &agent, &["plugin", "list", "--json"]));
    assert_eq!(String::from_utf8_lossy(&side.stdout), format!("[\"pid\", {pid}]\n"));

    // Their tool is taken away: the agent runs all the same.
    fs::rename(&other, other.with_file_name("away")).expect("moved");
    fs::remove_file(&note).expect("removed");
    let (_, found) = start(&sandbox, &call(&launcher, &agent, &WORDS));
    assert_same(&found, &alone);
    assert!(!note.exists());
    let status = sandbox.run(["wrapper", "status"]);
    assert!(String::from_utf8_lossy(&status.stdout).contains("which it should call, is gone"));
    let told = sandbox.text(["wrapper", "uninstall"]);
    assert!(told.contains("is set again"), "{told}");
    assert_eq!(fs::read_to_string(&settings).expect("there"), text);
}

#[test]
fn a_tool_that_sets_itself_again_in_front_of_us_makes_no_circle() {
    let sandbox = Sandbox::new();
    let agent = agent(&sandbox);
    let calls = sandbox.home().join("calls");
    let next = sandbox.home().join("next");
    // Calls what is set behind it; a circle ends at the third call.
    let other = program(
        &sandbox.home().join("other"),
        &format!(
            "#!/bin/sh\necho >> '{calls}'\n[ $(wc -l < '{calls}') -lt 3 ] || exit 99\n\
             if [ -x '{next}' ]; then exec '{next}' \"$@\"; fi\nexec \"$@\"\n",
            calls = calls.display(),
            next = next.display()
        ),
    );
    let text = format!("{{\"{KEY}\": {}}}", Value::from(other.to_str()));
    let settings = editor(&sandbox, STABLE, Some(&text));
    sandbox.text(["wrapper", "install"]);
    let launcher = named(&settings);
    fs::write(&settings, &text).expect("set again");
    std::os::unix::fs::symlink(&launcher, &next).expect("remembered");
    for again in [false, true] {
        if again {
            // By its own name as well.
            fs::remove_file(&next).expect("removed");
            let script = format!("#!/bin/sh\nexec '{}' \"$@\"\n", launcher.display());
            program(&next, &script);
        }
        fs::remove_file(&calls).ok();
        let (_, found) = start(&sandbox, &call(&other, &agent, &WORDS));
        assert_eq!(found.status.code(), Some(7), "{found:?}");
        assert_eq!(fs::read_to_string(&calls).expect("called"), "\n");
    }
}

#[test]
fn a_side_call_passes_through() {
    let sandbox = Sandbox::new();
    let _daemon = sandbox.daemon();
    let settings = editor(&sandbox, STABLE, Some("{}"));
    let agent = agent(&sandbox);
    sandbox.text(["wrapper", "install"]);
    let launcher = named(&settings);
    let (pid, found) = start(&sandbox, &call(&launcher, &agent, &["plugin", "list", "--json"]));
    assert_eq!(String::from_utf8_lossy(&found.stdout), format!("[\"pid\", {pid}]\n"));
    assert_eq!((found.status.code(), found.stderr.as_slice()), (Some(3), &b""[..]));
    assert_eq!(sandbox.lines(["ls", "--all", "--format", "ndjson"]), Vec::<Value>::new());
}

/// Needs `script` of util-linux for a terminal; without it the test says so and ends.
#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_the_agent_takes_the_place_of_the_launcher() {
    let sandbox = Sandbox::new();
    let settings = editor(&sandbox, STABLE, None);
    let words = "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo \"pid $$\"";
    let agent = program(&sandbox.home().join("claude"), &format!("#!/bin/sh\n{words}\nexit 5\n"));
    sandbox.text(["wrapper", "install"]);
    let stream = "--output-format stream-json --input-format stream-json";
    let line = format!(
        "echo \"pid $$\"; exec {} {} {stream}",
        named(&settings).display(),
        agent.display()
    );
    let mut script = Command::new("script");
    script
        .args(["-qec", &line, "/dev/null"])
        .env("SHELL", "/bin/sh")
        .env("LINELAMP_HOME", sandbox.home());
    let output = match script.stdin(Stdio::null()).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return println!("skipped: `script` is not installed");
        }
        output => output.expect("it runs"),
    };
    assert_eq!(output.status.code(), Some(5));
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<_> =
        told.lines().map(str::trim).filter(|line| line.starts_with("pid")).collect();
    assert!(lines.len() == 2 && lines[0] == lines[1], "{told}");
}

#[test]
fn with_nothing_to_start_the_launcher_says_why() {
    let sandbox = Sandbox::new();
    let settings = editor(&sandbox, STABLE, None);
    sandbox.text(["wrapper", "install"]);
    let launcher = named(&settings);
    for words in [&[][..], &[""], &["--output-format", "stream-json"]] {
        let words: Vec<_> = std::iter::once(launcher.as_os_str())
            .chain(words.iter().map(std::ffi::OsStr::new))
            .collect();
        let (_, found) = start(&sandbox, &words);
        assert_eq!(found.status.code(), Some(127), "{words:?}");
        assert!(found.stdout.is_empty());
        let told = String::from_utf8_lossy(&found.stderr).into_owned();
        assert!(told.starts_with("linelamp: nothing to start: "), "{told}");
    }
    let missing = Path::new("/nonexistent/claude");
    let (_, found) =
        start(&sandbox, &call(&launcher, missing, &["--output-format", "stream-json"]));
    assert_eq!(found.status.code(), Some(127));
    assert!(String::from_utf8_lossy(&found.stderr).contains("/nonexistent/claude"));
    // The file was made for this one key and goes with it.
    sandbox.text(["wrapper", "uninstall"]);
    assert!(!settings.exists() && settings.parent().expect("a folder").is_dir());
}

#[test]
fn only_editors_that_are_there_are_touched() {
    let sandbox = Sandbox::new();
    let none = sandbox.run(["wrapper", "install"]);
    assert_eq!(none.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&none.stderr).contains("no such editor"));
    assert!(!sandbox.home().join(".config").exists());

    let folders = [
        STABLE,
        ".config/Code/User/profiles/-1a2b",
        ".config/Code - Insiders/User",
        ".config/Cursor/User",
        ".config/VSCodium/User",
        ".vscode-server/data/Machine",
        ".cursor-server/data/Machine",
    ];
    let files = folders.map(|folder| editor(&sandbox, folder, Some("{\r\n}")));
    sandbox.text(["wrapper", "install", "--editor", "insiders,remote"]);
    let is_set = |file: &PathBuf| fs::read_to_string(file).expect("there").contains(KEY);
    assert_eq!(files.each_ref().map(is_set), [false, false, true, false, false, true, true]);
    sandbox.text(["wrapper", "install"]);
    assert_eq!(files.each_ref().map(is_set), [true; 7]);
    let told = sandbox.text(["wrapper", "status"]);
    assert!(told.contains("VS Code Insiders server\n  not there"), "{told}");
    assert_eq!(told.matches("installed; starts").count(), 7, "{told}");
    sandbox.text(["wrapper", "uninstall"]);
    for file in &files {
        assert_eq!(fs::read_to_string(file).expect("there"), "{\r\n}");
    }
    assert!(!sandbox.home().join(".vscode-server-insiders").exists());
    assert!(!sandbox.home().join("data/bin").exists());
}

#[test]
fn a_dry_run_shows_the_change_and_makes_none() {
    let sandbox = Sandbox::new();
    let text = "{\n    \"a\": 1\n}\n";
    let settings = editor(&sandbox, STABLE, Some(text));
    let told = sandbox.text(["wrapper", "install", "--dry-run"]);
    assert!(told.contains("\n+    \"claudeCode.claudeProcessWrapper\": \""), "{told}");
    assert!(told.contains("+#!/bin/sh"), "{told}");
    assert_eq!(fs::read_to_string(&settings).expect("there"), text);
    assert!(!sandbox.home().join("data").exists());
    sandbox.text(["wrapper", "install"]);
    let installed = fs::read_to_string(&settings).expect("there");
    let told = sandbox.text(["wrapper", "uninstall", "--dry-run"]);
    assert!(told.contains("\n-    \"claudeCode.claudeProcessWrapper\": \""), "{told}");
    assert_eq!(fs::read_to_string(&settings).expect("there"), installed);
    let told = sandbox.text(["wrapper", "install", "--dry-run"]);
    assert!(told.contains("nothing would change"), "{told}");
}

#[test]
fn one_file_that_is_refused_does_not_keep_the_others_from_being_done() {
    let sandbox = Sandbox::new();
    let cut = "{\n  \"a\": [1,\n";
    let broken = editor(&sandbox, STABLE, Some(cut));
    let fine = editor(&sandbox, ".config/Cursor/User", None);
    let output = sandbox.run(["wrapper", "install"]);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stderr).expect("text");
    assert!(told.contains("Code/User/settings.json") && told.contains("line 3"), "{told}");
    assert!(told.contains("hint: "), "{told}");
    assert_eq!(fs::read_to_string(&broken).expect("there"), cut);
    assert!(named(&fine).exists());

    // A value that names no program cannot be called by ours.
    let text = format!("{{\"{KEY}\": \"${{workspaceFolder}}/claudew\"}}");
    fs::write(&broken, &text).expect("written");
    let output = sandbox.run(["wrapper", "install", "--settings", broken.to_str().expect("UTF-8")]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("${workspaceFolder}/claudew"));
    assert_eq!(fs::read_to_string(&broken).expect("there"), text);
}

#[test]
fn every_command_of_the_guide_works_as_it_is_written() {
    let sandbox = Sandbox::new();
    let folders = [STABLE, ".config/Cursor/User", ".vscode-server/data/Machine", "somewhere"];
    let files = folders.map(|folder| editor(&sandbox, folder, Some("{ }\n")));
    let bin = sandbox.home().join("bin");
    fs::create_dir(&bin).expect("a folder");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_linelamp"), bin.join("linelamp"))
        .expect("a link");
    let path = std::env::var("PATH").expect("a PATH");

    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/vscode.md");
    let page = fs::read_to_string(page).expect("the page");
    let blocks = page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut commands: Vec<&str> = blocks.flat_map(str::lines).collect();
    assert!(commands.len() > 5, "{commands:?}");
    commands.push("linelamp wrapper uninstall --settings ~/somewhere/settings.json");
    for command in commands {
        let output = Command::new("/bin/sh")
            .args(["-c", command])
            .env_clear()
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("HOME", sandbox.home())
            .output()
            .expect("a shell");
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        let set = fs::read_to_string(&files[0]).expect("there").contains(KEY);
        assert_eq!(set, !command.contains("uninstall"), "{command}");
    }
    assert_eq!(files.map(|file| fs::read_to_string(file).expect("there")), ["{ }\n"; 4]);
    assert!(!sandbox.home().join(".local/share/linelamp/bin").exists());
}
