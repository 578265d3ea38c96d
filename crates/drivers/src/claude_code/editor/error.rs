//! Why an editor's settings were left as they are.

use std::io;
use std::path::PathBuf;

use super::super::settings::SettingsError;

/// Why a launcher could not be set or taken out. Whatever it is, the settings are as they were.
#[derive(Debug, thiserror::Error)]
pub enum EditorError {
    /// The settings file cannot be read or written.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// What the setting names is no program, so that a launcher could not call it.
    #[error("`{}` names `{value}`, which is no program that can be started", path.display())]
    Other {
        /// The settings file.
        path: PathBuf,
        /// What the setting names.
        value: String,
    },
    /// The launcher cannot be written or taken away.
    #[error("cannot {action} `{}`", path.display())]
    Launcher {
        /// What was tried, as a verb.
        action: &'static str,
        /// The launcher, or its folder.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

impl EditorError {
    /// What the user can do about it, if there is something short to say.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Settings(error) => hint(error),
            Self::Other { .. } => {
                Some("correct the setting or take it out, then run the command again")
            }
            Self::Launcher { .. } => None,
        }
    }
}

/// As [`SettingsError::hint`], in words that fit an editor.
fn hint(error: &SettingsError) -> Option<&'static str> {
    match error {
        SettingsError::In { source, .. } => hint(source),
        SettingsError::Type { .. } => Some("correct it or take it out"),
        SettingsError::ReadOnly(_) => {
            Some("make it writable, or set the key where it is generated")
        }
        other => other.hint(),
    }
}
