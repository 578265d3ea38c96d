//! `hooks install` and `hooks uninstall`.
//!
//! All files are planned before the first one is written, so a file that is refused keeps the others as
//! they were as well.

use std::io::{StdoutLock, Write as _};
use std::process::ExitCode;

use anyhow::Result;
use jiff::Timestamp;
use linelamp_drivers::claude_code::settings::{Applied, Change, Level, hook_command};

use super::files::{Target, explain, targets};
use super::{agent, diff, installed, program};
use crate::args::hooks::{FilesArgs, InstallArgs, UninstallArgs};

/// Installs.
pub(super) fn install(args: &InstallArgs) -> Result<ExitCode> {
    let targets = targets(&args.files, &[Level::User])?;
    let events = agent::events(args.agent_version.as_deref())?;
    let command = hook_command(&program::stable()?, &args.files.agent).map_err(explain)?;
    let plan = |target: &Target| target.file.plan_install(&command, &events).map_err(explain);
    let changes = targets.iter().map(plan).collect::<Result<Vec<_>>>()?;
    let mut out = std::io::stdout().lock();
    if args.dry_run {
        return show(&mut out, &changes);
    }
    let mut any = false;
    for (target, change) in targets.iter().zip(&changes) {
        let path = target.file.path();
        let was_there = target.file.status("", &[]).is_ok_and(|status| status.is_installed());
        let now = Timestamp::now();
        let applied = change.apply(now).map_err(explain)?;
        if applied.changed {
            writeln!(out, "hooks for {} events are in {}", events.len(), path.display())?;
        } else {
            writeln!(out, "hooks are in {} already", path.display())?;
        }
        tell_backup(&mut out, &applied)?;
        if !was_there {
            installed::note(path, Some(now));
        }
        let status = target.file.status(&command, &events).map_err(explain)?;
        if status.disabled {
            writeln!(out, "note: the settings switch all hooks off (`disableAllHooks`)")?;
        }
        if let Some((line, column)) = status.unread {
            writeln!(
                out,
                "note: line {line}, column {column}: the agent reads JSON without comments and without \
                 a comma before a bracket, and ignores this file until that is gone"
            )?;
        }
        any |= applied.changed;
    }
    if any {
        writeln!(out, "sessions that run already take them up when they are started again")?;
    }
    if crate::env::get(crate::env::LINELAMP_HOME).is_some() {
        let name = crate::env::LINELAMP_HOME;
        writeln!(out, "note: {name} is set here; hooks report there only if the agent has it too")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Uninstalls.
pub(super) fn uninstall(args: &UninstallArgs) -> Result<ExitCode> {
    let chosen = targets(&args.files, &[Level::User])?;
    let plan = |target: &Target| target.file.plan_uninstall().map_err(explain);
    let changes = chosen.iter().map(plan).collect::<Result<Vec<_>>>()?;
    let mut out = std::io::stdout().lock();
    if args.dry_run {
        return show(&mut out, &changes);
    }
    for change in &changes {
        let applied = change.apply(Timestamp::now()).map_err(explain)?;
        let what = if applied.changed {
            "our hooks are taken out of"
        } else {
            "there is nothing of ours in"
        };
        writeln!(out, "{what} {}", change.path().display())?;
        tell_backup(&mut out, &applied)?;
        installed::note(change.path(), None);
    }
    tell_rest(&mut out, &args.files, &chosen)
}

/// Other settings in which hooks of ours still are.
fn tell_rest(out: &mut StdoutLock<'_>, args: &FilesArgs, chosen: &[Target]) -> Result<ExitCode> {
    if args.settings.is_none() {
        let everything = FilesArgs {
            agent: args.agent.clone(),
            level: Vec::new(),
            config_dir: Vec::new(),
            settings: None,
        };
        // Whatever cannot be looked at is no reason to fail: it was not asked for.
        for other in targets(&everything, &Level::ALL).unwrap_or_default() {
            let ours = other.file.status("", &[]).is_ok_and(|status| status.is_installed());
            let is_chosen = chosen.iter().any(|target| target.file == other.file);
            if ours
                && !is_chosen
                && let Some(level) = other.level
            {
                let (path, level) = (other.file.path().display(), level.as_str());
                writeln!(out, "note: {path} has hooks of ours as well (--level {level})")?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A dry run.
fn show(out: &mut StdoutLock<'_>, changes: &[Change]) -> Result<ExitCode> {
    for change in changes {
        if change.is_empty() {
            writeln!(out, "{} would stay as it is", change.path().display())?;
        } else {
            write!(out, "{}", diff::unified(change.path(), change.before(), change.after()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn tell_backup(out: &mut StdoutLock<'_>, applied: &Applied) -> Result<()> {
    if let Some(backup) = &applied.backup {
        writeln!(out, "what was there before is kept in {}", backup.display())?;
    }
    Ok(())
}
