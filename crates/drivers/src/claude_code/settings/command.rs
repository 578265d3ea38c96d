//! The command of a hook entry: writing one that any shell takes as meant, and telling ours from
//! everybody else's.
//!
//! Ours is a simple command whose program is linelamp and whose first argument is `hook`, with nothing
//! but `--agent NAME` behind it. A mark in a shell comment makes that certain where the program file has
//! another name. A command that merely mentions linelamp is somebody else's and is left alone.

use std::path::Path;

use super::error::SettingsError;

/// The time limit written into a hook entry. The client needs milliseconds; the limit only bounds what
/// a broken disk can cost the agent.
pub const HOOK_TIMEOUT_SECONDS: u32 = 5;

/// The comment behind a command of ours.
const MARK: &str = "# linelamp";

/// The command of a hook entry: `program` reports a payload of `agent`.
///
/// # Errors
///
/// [`SettingsError::Program`] if the path is not UTF-8.
pub fn hook_command(program: &Path, agent: &str) -> Result<String, SettingsError> {
    let path = program.to_str().ok_or_else(|| SettingsError::Program(program.to_owned()))?;
    // Hooks run in a POSIX shell on Windows as well, where a backslash is no separator.
    let path = if cfg!(windows) { path.replace('\\', "/") } else { path.to_owned() };
    let agent = if agent.bytes().all(is_plain) && !agent.is_empty() {
        agent.to_owned()
    } else {
        quote(agent)
    };
    let command = format!("{} hook --agent {agent}", quote(&path));
    // A program of another name is recognised by the mark alone.
    Ok(if is_ours(&command) { command } else { format!("{command} {MARK}") })
}

/// True if a hook's command is a call of linelamp's hook client and nothing else.
pub fn is_ours(command: &str) -> bool {
    program_of(command).is_some()
}

/// The program that a command of ours runs, as the shell takes it; none if the command is not ours.
pub fn program_of(command: &str) -> Option<String> {
    let command = command.trim();
    let (command, marked) = match command.strip_suffix(MARK) {
        Some(rest) if rest.ends_with([' ', '\t']) => (rest, true),
        _ => (command, false),
    };
    let mut words = words(command)?.into_iter();
    let program = words.next().filter(|program| marked || is_linelamp(program))?;
    if words.next()? != "hook" {
        return None;
    }
    while let Some(word) = words.next() {
        match word.as_str() {
            "--agent" => drop(words.next()?),
            word if word.starts_with("--agent=") => {}
            _ => return None,
        }
    }
    Some(program)
}

fn is_linelamp(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    name == "linelamp" || name.eq_ignore_ascii_case("linelamp.exe")
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/')
}

/// The text as one word of a POSIX shell, whatever is in it.
pub(in crate::claude_code) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The words of a simple command; none if it is more than that (a pipe, an expansion, a comment, …).
fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = command.chars();
    while let Some(character) = rest.next() {
        match character {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        '\'' => break,
                        inner => word.push(inner),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        '"' => break,
                        '$' | '`' => return None,
                        '\\' => match rest.next()? {
                            escaped @ ('"' | '\\' | '$' | '`') => word.push(escaped),
                            other => word.extend(['\\', other]),
                        },
                        inner => word.push(inner),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(rest.next()?),
            '|' | '&' | ';' | '<' | '>' | '(' | ')' | '$' | '`' | '\n' | '\r' | '*' | '?' | '#'
            | '!' | '{' | '}' => return None,
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_call_of_the_hook_client_is_ours_and_nothing_else_is() {
        let ours = [
            "linelamp hook",
            "linelamp hook --agent claude-code",
            "'/usr/local/bin/linelamp' hook --agent claude-code",
            "\"/home/a b/linelamp\" hook --agent claude-code",
            "/opt/my\\ tools/linelamp hook --agent=qwen-code",
            r"'C:\Program Files\linelamp\linelamp.exe' hook --agent claude-code",
            "'/opt/lamp-0.1' hook --agent claude-code # linelamp",
            "  linelamp   hook\t--agent claude-code  ",
        ];
        for command in ours {
            assert!(is_ours(command), "{command}");
        }
        let others = [
            "",
            "linelamp",
            "linelamp history",
            "linelamp hooks install",
            "linelamp hookx",
            "echo linelamp hook --agent claude-code",
            "my-linelamp hook --agent claude-code",
            "/opt/linelamp/bin/notify hook --agent claude-code",
            "linelamp hook --agent",
            "linelamp hook --agent claude-code extra",
            "linelamp hook --agent claude-code | tee log",
            "linelamp hook && rm -rf x",
            "linelamp hook # my own note",
            "notify 'linelamp hook' # linelamp",
            "'unclosed hook",
            "$LINELAMP hook",
        ];
        for command in others {
            assert!(!is_ours(command), "{command}");
        }
    }

    #[test]
    fn a_program_of_another_name_is_marked() {
        let plain = hook_command(Path::new("/usr/bin/linelamp"), "claude-code");
        assert_eq!(plain.expect("UTF-8"), "'/usr/bin/linelamp' hook --agent claude-code");
        let renamed = hook_command(Path::new("/usr/bin/lamp"), "claude-code");
        assert_eq!(renamed.expect("UTF-8"), "'/usr/bin/lamp' hook --agent claude-code # linelamp");
    }

    proptest! {
        #[test]
        fn every_command_we_write_is_recognised(path in "\\PC{1,40}", agent in "\\PC{1,12}") {
            let command = hook_command(Path::new(&path), &agent).expect("UTF-8");
            prop_assert!(is_ours(&command), "{}", command);
            prop_assert_eq!(program_of(&command), Some(path));
        }

        #[test]
        fn any_command_can_be_looked_at(command in "\\PC{0,60}") {
            is_ours(&command);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_real_shell_runs_the_program_that_is_meant() {
        use std::os::unix::fs::PermissionsExt as _;

        for name in ["it's $HOME", "a b", "`x`", "\"q\" ; exit 3", "\\", "ünï", "*?[x]", "# x"] {
            let folder = tempfile::tempdir().expect("a folder");
            let inner = folder.path().join(name);
            std::fs::create_dir(&inner).expect("a folder");
            let program = inner.join("linelamp");
            std::fs::write(&program, "#!/bin/sh\nprintf '%s|' \"$@\"\n").expect("a script");
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700))
                .expect("a script");
            let command = hook_command(&program, "claude-code").expect("UTF-8");
            let output = std::process::Command::new("sh").args(["-c", &command]).output();
            let output = output.expect("a shell");
            assert_eq!(output.stdout, b"hook|--agent|claude-code|", "{name}: {output:?}");
        }
    }
}
