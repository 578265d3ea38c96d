//! `wrapper install|uninstall|status`: our launcher in the settings of editors.
//!
//! What a launcher is, and how it gets into settings and out of them without a trace, is the driver's
//! business. Here stands which settings are meant, and what people are told.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use jiff::Timestamp;
use linelamp_drivers::claude_code::editor::{
    Editor, EditorError, Place, Plan, Standing, System, Wrapper, data_folder, places,
};

use super::hooks::{diff, program};
use crate::args::wrapper::{ChangeArgs, WhereArgs, WrapperCommand};
use crate::exit::{FAILED, Failure};
use crate::output::table::printable;
use crate::paths::Paths;

/// Installs, removes or shows.
pub(crate) fn run(command: WrapperCommand) -> Result<ExitCode> {
    match command {
        WrapperCommand::Install(args) => install(&args),
        WrapperCommand::Uninstall(args) => uninstall(&args),
        WrapperCommand::Status(args) => status(&args),
    }
}

fn install(args: &ChangeArgs) -> Result<ExitCode> {
    if System::HERE == System::Windows {
        // The editor starts no scripts there, and this program is no launcher by itself.
        return Err(Failure::new(FAILED, "on Windows there is no launcher yet").into());
    }
    let linelamp = program::stable()?;
    each(&args.place, |target, out| {
        let plan = target.wrapper.plan_install(&linelamp, &can_start)?;
        let title = target.title();
        if args.dry_run {
            return Ok(preview(out, &title, &plan)?);
        }
        let changed = !plan.is_empty();
        let applied = plan.apply(Timestamp::now())?;
        let word = if changed { "installed in" } else { "installed already in" };
        writeln!(out, "{word} {title}")?;
        tell_backup(out, applied.backup.as_deref())?;
        if let Some(other) = &plan.other {
            writeln!(out, "  goes on calling {}, which was set before", printable(other))?;
        }
        tell_forgotten(out, &plan)?;
        if changed {
            writeln!(out, "  sessions that run already are seen when they are started again")?;
        }
        Ok(true)
    })
}

fn uninstall(args: &ChangeArgs) -> Result<ExitCode> {
    let others: Vec<PathBuf> =
        known()?.into_iter().filter(Place::exists).map(|place| place.settings).collect();
    each(&args.place, |target, out| {
        let plan = target.wrapper.plan_uninstall(&others)?;
        let title = target.title();
        if args.dry_run {
            return Ok(preview(out, &title, &plan)?);
        }
        let applied = plan.apply(Timestamp::now())?;
        if applied.changed {
            writeln!(out, "taken out of {title}")?;
            if let Some(other) = &plan.other {
                writeln!(out, "  {} is set again", printable(other))?;
            }
        } else {
            writeln!(out, "there is nothing of ours in {title}")?;
            if let Some(other) = &plan.other {
                writeln!(out, "  it names {}, which is left as it is", printable(other))?;
            }
        }
        tell_backup(out, applied.backup.as_deref())?;
        tell_forgotten(out, &plan)?;
        for script in plan.scripts.iter().filter(|script| script.after.is_some()) {
            let path = script.path.display();
            writeln!(
                out,
                "  {path} stays for those who may still call it; it only starts the agent"
            )?;
        }
        Ok(true)
    })
}

fn status(args: &WhereArgs) -> Result<ExitCode> {
    if args.settings.is_none() {
        let mut out = std::io::stdout().lock();
        for place in wanted(args)?.iter().filter(|place| !place.exists()) {
            writeln!(out, "{}\n  not there", place.name)?;
        }
    }
    each(args, |target, out| {
        writeln!(out, "{}", target.title())?;
        let mend = "`linelamp wrapper install` mends it";
        let (fine, words) = match target.wrapper.standing()? {
            Standing::NotInstalled => (false, "not installed".to_owned()),
            Standing::Installed { linelamp, chained: None } => {
                (true, format!("installed; starts {linelamp}"))
            }
            Standing::Installed { linelamp, chained: Some(chained) } => {
                (true, format!("installed; starts {linelamp}, chained with {chained}"))
            }
            Standing::ChainedGone(chained) => {
                (false, format!("installed, but {chained}, which it should call, is gone"))
            }
            Standing::LinelampGone(linelamp) => {
                (false, format!("{linelamp} is gone: the agent runs, but is not seen; {mend}"))
            }
            Standing::Retired => {
                (false, format!("out of use: the agent runs, but is not seen; {mend}"))
            }
            Standing::LauncherMissing(launcher) => {
                (false, format!("{launcher} is missing: the agent cannot be started; {mend}"))
            }
            Standing::Other(other) => (false, format!("not installed; the setting names {other}")),
        };
        writeln!(out, "  {}", printable(&words))?;
        Ok(fine)
    })
}

/// A settings file to look at.
struct Target {
    name: &'static str,
    wrapper: Wrapper,
}

impl Target {
    fn title(&self) -> String {
        format!("{} ({})", self.name, printable(&self.wrapper.path().display().to_string()))
    }
}

/// Does something for each settings file that is meant. One that is refused does not keep the others from
/// being done; the exit code tells of it.
fn each(
    args: &WhereArgs,
    mut act: impl FnMut(&Target, &mut dyn Write) -> Result<bool>,
) -> Result<ExitCode> {
    let targets = targets(args)?;
    let (mut fine, mut failed) = (true, None);
    for target in &targets {
        let mut out = std::io::stdout().lock();
        match act(target, &mut out) {
            Ok(all) => fine &= all,
            Err(error) => {
                // The last one is told by the caller.
                if let Some(earlier) = failed.replace(explain(error)) {
                    crate::exit::report(&earlier);
                }
            }
        }
    }
    match failed {
        Some(error) => Err(error),
        None if fine => Ok(ExitCode::SUCCESS),
        None => Ok(ExitCode::from(FAILED)),
    }
}

/// The settings files that are meant and whose editors are there.
fn targets(args: &WhereArgs) -> Result<Vec<Target>> {
    let launchers = Paths::find_data()?.join("bin");
    let target = |name, settings: &Path| -> Result<Target> {
        Ok(Target { name, wrapper: Wrapper::new(settings, &launchers).map_err(hinted)? })
    };
    if let Some(path) = &args.settings {
        let path = std::path::absolute(path)
            .with_context(|| format!("cannot find `{}`", path.display()))?;
        if !path.parent().is_some_and(Path::is_dir) {
            let message = format!("there is no folder for `{}`", path.display());
            return Err(Failure::new(FAILED, message).into());
        }
        return Ok(vec![target("settings", &path)?]);
    }
    let wanted = wanted(args)?;
    if !wanted.iter().any(Place::exists) {
        let folders: Vec<String> = wanted
            .iter()
            .filter_map(|place| place.settings.parent())
            .map(|f| f.display().to_string())
            .collect();
        let message = format!("no such editor is there: looked for {}", folders.join(", "));
        return Err(Failure::new(FAILED, message)
            .hint("start the editor once, or name a settings file with --settings")
            .into());
    }
    let there = wanted.into_iter().filter(Place::exists);
    let files = there.flat_map(|place| [vec![place.clone()], place.profiles()].concat());
    files.map(|place| target(place.name, &place.settings)).collect()
}

/// The places of the editors that are named, or of all.
fn wanted(args: &WhereArgs) -> Result<Vec<Place>> {
    let named: Vec<Editor> = args.editor.iter().copied().map(Into::into).collect();
    let mut places = all()?;
    places.retain(|place| named.is_empty() || named.contains(&place.editor));
    Ok(places)
}

/// Every settings file that may name a launcher of ours.
fn known() -> Result<Vec<Place>> {
    Ok(all()?.into_iter().flat_map(|place| [place.profiles(), vec![place]].concat()).collect())
}

fn all() -> Result<Vec<Place>> {
    let home = crate::env::home().context("HOME is not set; name the file with --settings")?;
    let told = crate::env::editor_data().map(PathBuf::from).filter(|folder| folder.is_absolute());
    Ok(places(&home, &data_folder(System::HERE, &home, told.as_deref())))
}

/// True if the editor could start what the setting names: a program, by its path or by a name in PATH.
fn can_start(value: &str) -> bool {
    program::find(value).is_ok_and(|found| found != program::Found::Nothing)
}

/// What would change, as a patch.
fn preview(out: &mut dyn Write, title: &str, plan: &Plan) -> std::io::Result<bool> {
    if plan.is_empty() {
        writeln!(out, "nothing would change in {title}")?;
        return Ok(true);
    }
    let settings = &plan.settings;
    if !settings.is_empty() {
        write!(out, "{}", diff::unified(settings.path(), settings.before(), settings.after()))?;
    }
    for script in &plan.scripts {
        let (before, after) = (script.before.as_deref(), script.after.as_deref());
        write!(out, "{}", diff::unified(&script.path, before, after))?;
    }
    Ok(true)
}

fn tell_backup(out: &mut dyn Write, backup: Option<&Path>) -> std::io::Result<()> {
    let Some(backup) = backup else { return Ok(()) };
    writeln!(out, "  what was there before is kept in {}", backup.display())
}

fn tell_forgotten(out: &mut dyn Write, plan: &Plan) -> std::io::Result<()> {
    if !plan.forgotten {
        return Ok(());
    }
    let what = "the launcher was gone, and with it the note of what stood in the setting before";
    writeln!(out, "  {what}; copies of the settings stand beside them")
}

/// Adds what the user can do.
fn explain(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<EditorError>() {
        Ok(error) => hinted(error),
        Err(error) => error,
    }
}

fn hinted(error: EditorError) -> anyhow::Error {
    let hint = error.hint();
    let error = anyhow::Error::from(error);
    match hint {
        Some(hint) => Failure::new(FAILED, format!("{error:#}")).hint(hint).into(),
        None => error,
    }
}
