//! Which settings files are meant.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use linelamp_drivers::claude_code::settings::{Level, SettingsError, SettingsFile, settings_path};

use crate::args::hooks::{FilesArgs, Level as LevelArg};
use crate::exit::{FAILED, Failure, USAGE};

/// A settings file, and why it is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// The file.
    pub(super) file: SettingsFile,
    /// Its level; none for a file that was named.
    pub(super) level: Option<Level>,
    /// The folder whose sessions read it; none for all.
    pub(super) project: Option<PathBuf>,
}

/// The files that are named, or those of these levels when none is.
///
/// # Errors
///
/// If the agent is not known, options contradict each other, or the home folder is needed and not known.
pub(super) fn targets(args: &FilesArgs, default: &[Level]) -> Result<Vec<Target>> {
    if args.agent != "claude-code" {
        return Err(Failure::new(USAGE, format!("hooks of `{}` are not known", args.agent))
            .hint("agents whose hooks can be installed: claude-code")
            .into());
    }
    if let Some(path) = &args.settings {
        let file = SettingsFile::new(absolute(path)?);
        return Ok(vec![Target { file, level: None, project: None }]);
    }
    let levels: Vec<Level> = if args.level.is_empty() {
        default.to_vec()
    } else {
        args.level.iter().copied().map(LevelArg::into).collect()
    };
    if !args.config_dir.is_empty() && !levels.contains(&Level::User) {
        return Err(Failure::new(USAGE, "--config-dir is about the user's settings")
            .hint("leave it out, or add --level user")
            .into());
    }
    let mut targets: Vec<Target> = Vec::new();
    let mut add = |target: Target| {
        // One folder named twice, or a project that is the home folder.
        if targets.iter().all(|known| known.file != target.file) {
            targets.push(target);
        }
    };
    for level in levels {
        if level == Level::User {
            for path in user_files(&args.config_dir)? {
                add(Target { file: SettingsFile::new(path), level: Some(level), project: None });
            }
        } else {
            let project = project()?;
            let file = SettingsFile::new(level.file(Path::new(""), &project));
            add(Target { file, level: Some(level), project: Some(project) });
        }
    }
    Ok(targets)
}

fn user_files(folders: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let home = || crate::env::home().context("HOME is not set; name the file with --settings");
    let file = |folder: Option<&OsStr>| {
        // Without a home only a folder that does not need one can be used.
        let home = match folder {
            Some(folder) if Path::new(folder).is_absolute() => PathBuf::new(),
            _ => home()?,
        };
        absolute(&settings_path(folder, &home))
    };
    if folders.is_empty() {
        return Ok(vec![file(crate::env::claude_config_dir().as_deref())?]);
    }
    folders.iter().map(|folder| file(Some(folder.as_os_str()))).collect()
}

/// The root of the repository that the current folder is in, else the current folder.
fn project() -> Result<PathBuf> {
    let current = std::env::current_dir().context("the current folder is gone")?;
    let root = current.ancestors().find(|folder| folder.join(".git").exists());
    Ok(root.unwrap_or(&current).to_owned())
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("cannot find `{}`", path.display()))
}

/// An error about a settings file, with what the user can do about it.
pub(super) fn explain(error: SettingsError) -> anyhow::Error {
    match error.hint() {
        Some(hint) => {
            let message = format!("{:#}", anyhow::Error::from(error));
            Failure::new(FAILED, message).hint(hint).into()
        }
        None => error.into(),
    }
}
