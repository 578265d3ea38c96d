//! `hooks install|uninstall|status`: our entries in an agent's settings.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result};
use jiff::Timestamp;
use linelamp_drivers::claude_code::settings::{
    Applied, SettingsError, SettingsFile, Status, hook_command, settings_path, wanted,
};

use crate::args::{HooksArgs, HooksCommand};
use crate::exit::{FAILED, Failure, USAGE};
use crate::output::table::printable;

/// Installs, removes or shows.
pub(crate) fn run(command: HooksCommand) -> Result<ExitCode> {
    match command {
        HooksCommand::Install(args) => install(&args),
        HooksCommand::Uninstall(args) => uninstall(&args),
        HooksCommand::Status(args) => status(&args),
    }
}

fn install(args: &HooksArgs) -> Result<ExitCode> {
    let file = settings(args)?;
    let (command, events) = plan(args)?;
    let change = file.plan_install(&command, &events).map_err(explain)?;
    let applied = change.apply(Timestamp::now()).map_err(explain)?;
    let mut out = std::io::stdout().lock();
    if applied.changed {
        writeln!(out, "hooks for {} events are in {}", events.len(), file.path().display())?;
    } else {
        writeln!(out, "hooks are in {} already", file.path().display())?;
    }
    tell_backup(&mut out, &applied)?;
    if file.status(&command, &events).map_err(explain)?.disabled {
        writeln!(out, "note: the settings switch all hooks off (`disableAllHooks`)")?;
    }
    if applied.changed {
        writeln!(out, "sessions that run already take them up when they are started again")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn uninstall(args: &HooksArgs) -> Result<ExitCode> {
    let file = settings(args)?;
    let applied =
        file.plan_uninstall().and_then(|change| change.apply(Timestamp::now())).map_err(explain)?;
    let mut out = std::io::stdout().lock();
    let what =
        if applied.changed { "our hooks are taken out of" } else { "there is nothing of ours in" };
    writeln!(out, "{what} {}", file.path().display())?;
    tell_backup(&mut out, &applied)?;
    Ok(ExitCode::SUCCESS)
}

fn status(args: &HooksArgs) -> Result<ExitCode> {
    let file = settings(args)?;
    let (command, events) = plan(args)?;
    let status = file.status(&command, &events).map_err(explain)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", file.path().display())?;
    let word = match &status {
        Status { disabled: true, .. } => "switched off by `disableAllHooks`",
        status if status.is_complete() => "installed",
        status if status.is_installed() => {
            "incomplete or outdated; `linelamp hooks install` mends it"
        }
        _ => "not installed",
    };
    writeln!(out, "  {word}")?;
    let list = |names: &[String]| printable(&names.join(", "));
    if !status.current.is_empty() {
        writeln!(out, "  events: {}", list(&status.current))?;
    }
    if status.is_installed() && !status.missing.is_empty() {
        writeln!(out, "  missing: {}", list(&status.missing))?;
    }
    for (event, command) in &status.outdated {
        writeln!(out, "  outdated: {}: {}", printable(event), printable(command))?;
    }
    if status.others > 0 {
        writeln!(out, "  hooks of others: {}", status.others)?;
    }
    Ok(if status.is_complete() { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

fn settings(args: &HooksArgs) -> Result<SettingsFile> {
    if args.agent != "claude-code" {
        return Err(Failure::new(USAGE, format!("hooks of `{}` are not known", args.agent))
            .hint("agents whose hooks can be installed: claude-code")
            .into());
    }
    if let Some(path) = &args.settings {
        return Ok(SettingsFile::new(path));
    }
    let home = crate::env::home().context("HOME is not set; name the file with --settings")?;
    Ok(SettingsFile::new(settings_path(crate::env::claude_config_dir().as_deref(), &home)))
}

/// The command our hooks run, and the events they are for.
fn plan(args: &HooksArgs) -> Result<(String, Vec<&'static str>)> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let command = hook_command(&program, &args.agent).map_err(explain)?;
    let version = args.agent_version.clone().or_else(installed_version);
    Ok((command, wanted(version.as_deref())))
}

/// What the installed program says of itself; none if it is not there or says nothing readable. An
/// unknown version gets only the events that every version knows.
fn installed_version() -> Option<String> {
    let output = Command::new("claude")
        .arg("--version")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let version = text.split_whitespace().next()?;
    version.starts_with(|c: char| c.is_ascii_digit()).then(|| version.to_owned())
}

fn tell_backup(out: &mut impl std::io::Write, applied: &Applied) -> Result<()> {
    if let Some(backup) = &applied.backup {
        writeln!(out, "what was there before is kept in {}", PathBuf::from(backup).display())?;
    }
    Ok(())
}

fn explain(error: SettingsError) -> anyhow::Error {
    match error.hint() {
        Some(hint) => {
            let failure = Failure::new(FAILED, chain(&error)).hint(hint);
            failure.into()
        }
        None => error.into(),
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
