//! The agents this program knows, by name and by program.

use std::path::Path;
use std::sync::Arc;

use linelamp_core::digest::Digester;
use linelamp_core::driver::Driver;
use linelamp_core::id::AgentName;

/// Every built-in driver.
pub(crate) fn all() -> Vec<Arc<dyn Driver>> {
    vec![Arc::new(linelamp_drivers::claude_code::ClaudeCode::new())]
}

/// The driver of the agent called `name`.
pub(crate) fn by_name(name: &str) -> Option<Arc<dyn Driver>> {
    all().into_iter().find(|driver| driver.agent() == AgentName::from(name))
}

/// The driver whose agent is the program at `path`.
pub(crate) fn by_program(path: &Path) -> Option<Arc<dyn Driver>> {
    let name = path.file_name()?.to_str()?;
    all().into_iter().find(|driver| driver.is_program(name))
}

/// The names of all agents, for messages.
pub(crate) fn names() -> String {
    all().iter().map(|driver| driver.agent().to_string()).collect::<Vec<_>>().join(", ")
}

/// The digester of this state folder. Its random key is made at first use; without a folder to keep it
/// in, a key of this process alone is used: digests then meet only each other.
pub(crate) fn digester(state: &Path) -> Digester {
    let path = state.join("digest.key");
    let read = || std::fs::read(&path).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    let key = read().unwrap_or_else(|| {
        let mut key = [0; 32];
        key[..16].copy_from_slice(uuid::Uuid::new_v4().as_bytes());
        key[16..].copy_from_slice(uuid::Uuid::new_v4().as_bytes());
        match keep(&path, &key) {
            // Somebody else made one at the same moment: theirs counts.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                read().unwrap_or(key)
            }
            _ => key,
        }
    });
    Digester::new(&key)
}

/// Writes a whole private file under its final name, or nothing: a reader never sees half a key.
fn keep(path: &Path, key: &[u8; 32]) -> std::io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let temporary = path.with_extension(format!("key-{}", std::process::id()));
    let result = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&temporary)
        .and_then(|mut file| file.write_all(key))
        // A link, unlike a rename, fails where somebody was faster.
        .and_then(|()| std::fs::hard_link(&temporary, path));
    std::fs::remove_file(&temporary).ok();
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_of_one_state_folder_agree_between_processes() {
        let folder = tempfile::tempdir().expect("a folder");
        let value = serde_json::json!({"command": "ls"});
        let first = digester(folder.path()).digest(&value);
        assert_eq!(first, digester(folder.path()).digest(&value));
        let elsewhere = tempfile::tempdir().expect("a folder");
        assert_ne!(first, digester(elsewhere.path()).digest(&value));
        let names: Vec<_> = std::fs::read_dir(folder.path())
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        assert_eq!(names, ["digest.key"]);
    }

    #[test]
    fn a_state_folder_that_cannot_be_written_still_gives_digests() {
        let value = serde_json::json!({"command": "ls"});
        let digester = digester(Path::new("/nonexistent/linelamp"));
        assert_eq!(digester.digest(&value), digester.digest(&value));
    }
}
