//! Where the program keeps what it writes about its sessions, and what the names of those files say.
//!
//! The folder of a session file is made from the working directory in a way that cannot be undone; it says
//! nothing. Beside a status file lies a key file of a similar name, which is never opened.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use linelamp_core::driver::SessionFile;
use linelamp_core::event::Scope;
use linelamp_core::id::{NativeId, ScopeId};

/// The program's own folder: what `CLAUDE_CONFIG_DIR` names, else `.claude` in the user's home. A `~` that no
/// shell has replaced stands for the home.
pub(crate) fn config_folder(home: &Path, variable: Option<OsString>) -> PathBuf {
    let named = variable.map(PathBuf::from).filter(|path| !path.as_os_str().is_empty());
    let Some(named) = named else { return home.join(".claude") };
    match named.strip_prefix("~") {
        Ok(rest) => home.join(rest),
        Err(_) => named,
    }
}

/// `DIR/SESSION.jsonl`, or `DIR/SESSION/subagents/agent-ID.jsonl`.
pub(crate) fn session_file(path: &Path) -> Option<SessionFile> {
    let mut parts = Vec::with_capacity(4);
    for part in path.components() {
        let Component::Normal(name) = part else { return None };
        parts.push(name.to_str()?);
    }
    let file =
        |session: &str, scope| SessionFile { session: NativeId::new(session), scope, born: None };
    match parts[..] {
        [_, name] => {
            let session = name.strip_suffix(".jsonl").filter(|name| !name.is_empty())?;
            Some(file(session, Scope::Main))
        }
        [_, session, "subagents", name] => {
            let agent = name.strip_prefix("agent-")?.strip_suffix(".jsonl")?;
            let agent = Some(agent).filter(|agent| !agent.is_empty())?;
            Some(file(session, Scope::Child(ScopeId::new(agent))))
        }
        _ => None,
    }
}

/// `PID.json`.
pub(crate) fn status_file(name: &OsStr) -> Option<u32> {
    let pid = name.to_str()?.strip_suffix(".json")?;
    let plain = pid.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| pid.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_file_is_known_by_its_place() {
        for (path, expected) in [
            ("-tmp-proj/5f0c.jsonl", Some(("5f0c", None))),
            ("-tmp-proj/5f0c/subagents/agent-a1.jsonl", Some(("5f0c", Some("a1")))),
            ("-tmp-proj/5f0c/subagents/agent-a1.meta.json", None),
            ("-tmp-proj/memory/notes.md", None),
            ("-tmp-proj/5f0c/tool-results/x.jsonl", None),
            ("5f0c.jsonl", None),
            ("-tmp-proj/.jsonl", None),
            ("-tmp-proj/5f0c/subagents/agent-.jsonl", None),
            ("../x/5f0c.jsonl", None),
            ("/x/5f0c.jsonl", None),
            ("", None),
        ] {
            let found = session_file(Path::new(path));
            let found = found.as_ref().map(|file| {
                let scope = match &file.scope {
                    Scope::Main => None,
                    Scope::Child(scope) => Some(scope.as_str()),
                };
                (file.session.as_str(), scope)
            });
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn a_key_file_is_never_taken_for_a_status_file() {
        for (name, expected) in [
            ("4711.json", Some(4711)),
            ("4711.key", None),
            ("4711.json.key", None),
            ("4711", None),
            ("+4711.json", None),
            ("x4711.json", None),
            (".json", None),
            ("99999999999.json", None),
        ] {
            assert_eq!(status_file(OsStr::new(name)), expected, "{name}");
        }
    }

    #[test]
    fn the_config_folder_is_the_one_the_program_uses() {
        let home = Path::new("/home/u");
        for (variable, expected) in [
            (None, "/home/u/.claude"),
            (Some(""), "/home/u/.claude"),
            (Some("/srv/work"), "/srv/work"),
            (Some("~/.claude-work"), "/home/u/.claude-work"),
            (Some("other"), "other"),
        ] {
            let folder = config_folder(home, variable.map(OsString::from));
            assert_eq!(folder, Path::new(expected), "{variable:?}");
        }
    }
}
