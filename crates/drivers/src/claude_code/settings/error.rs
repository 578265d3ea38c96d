//! Why settings were left as they are.

use std::io;
use std::path::PathBuf;

/// Why settings could not be read or changed. Whatever it is, the file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The text is no JSON.
    #[error("line {line}, column {column}: {problem}")]
    Syntax {
        /// Line of the problem, from 1.
        line: usize,
        /// Column of the problem in characters, from 1.
        column: usize,
        /// What is wrong.
        problem: &'static str,
        /// What would be right.
        hint: &'static str,
    },
    /// A value of the settings has a type that no hook can be added to.
    #[error("line {line}, column {column}: `{key}` is {found}, not {expected}")]
    Type {
        /// Line of the value, from 1.
        line: usize,
        /// Column of the value in characters, from 1.
        column: usize,
        /// The value's place, with dots between keys.
        key: String,
        /// What stands there.
        found: &'static str,
        /// What should stand there.
        expected: &'static str,
    },
    /// The command would not be recognised as ours afterwards.
    #[error("`{0}` is no call of the hook client")]
    Command(String),
    /// A program's path that cannot be written into JSON.
    #[error("the path `{}` is not UTF-8 and cannot stand in a settings file", .0.display())]
    Program(PathBuf),
    /// An event that must not be hooked.
    #[error("`{event}` must not be hooked: {reason}")]
    Forbidden {
        /// The event.
        event: String,
        /// Why not.
        reason: &'static str,
    },
    /// A problem with the file named.
    #[error("`{}` cannot be used as it is", path.display())]
    In {
        /// The settings file.
        path: PathBuf,
        /// What is wrong in it.
        source: Box<SettingsError>,
    },
    /// The operating system refused.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The file is not UTF-8.
    #[error("`{}` is not UTF-8 (byte {offset})", path.display())]
    NotText {
        /// The settings file.
        path: PathBuf,
        /// Where the first wrong byte is.
        offset: usize,
    },
    /// The file is marked as not to be written.
    #[error("`{}` is read-only", .0.display())]
    ReadOnly(PathBuf),
    /// Somebody else wrote the file in the meantime.
    #[error("`{}` was changed by another program in the meantime", .0.display())]
    Changed(PathBuf),
}

impl SettingsError {
    /// What the user can do about it, if there is something short to say.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Syntax { hint, .. } => Some(hint),
            Self::In { source, .. } => source.hint(),
            Self::Type { .. } => Some("correct it or take it out; Claude Code ignores it as well"),
            Self::Command(_) => Some("a hook command is `linelamp hook --agent NAME`"),
            Self::Program(_) => Some("install linelamp in a folder with a UTF-8 name"),
            Self::ReadOnly(_) => Some("make it writable, or add the hooks where it is generated"),
            Self::Changed(_) => Some("run the command again"),
            Self::NotText { .. } => Some("save it as UTF-8"),
            Self::Forbidden { .. } | Self::Io { .. } => None,
        }
    }

    /// Adds the file's name.
    pub(in crate::claude_code) fn in_file(self, path: &std::path::Path) -> Self {
        Self::In { path: path.to_owned(), source: Box::new(self) }
    }
}
