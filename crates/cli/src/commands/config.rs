//! `config init`, `config check`, `config show`.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use linelamp_core::sink::{BuildError, SinkFactory};
use linelamp_sinks::desktop::DesktopFactory;
use linelamp_sinks::jsonl::JsonlFactory;
use linelamp_sinks::store::StoreOptions;
use linelamp_sinks::webhook::WebhookFactory;
use serde_json::Value;

use crate::args::config::{CheckArgs, ConfigCommand, ConfigFormat, InitArgs, ShowArgs, SourceArgs};
use crate::config::{Loaded, Row, STARTER, Setting, Sources};
use crate::exit::{FAILED, Failure, USAGE};
use crate::paths::{Paths, create_private};

/// Runs one of them.
pub(crate) fn run(command: ConfigCommand) -> Result<ExitCode> {
    match command {
        ConfigCommand::Init(args) => init(&args),
        ConfigCommand::Check(args) => check(&args),
        ConfigCommand::Show(args) => show(&args),
    }
}

fn init(args: &InitArgs) -> Result<ExitCode> {
    let mut out = io::stdout().lock();
    if args.print {
        out.write_all(STARTER.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    // Where the configuration is read from is where it is written to.
    let paths = Paths::find()?;
    let file = Sources::find(&paths).user.unwrap_or_else(|| paths.user_file());
    write_new(&file)?;
    writeln!(out, "wrote {}", file.display())?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the starter file, readable for its owner only: secrets may come to stand in it.
fn write_new(file: &Path) -> Result<()> {
    if let Some(folder) = file.parent().filter(|folder| !folder.exists()) {
        create_private(folder)
            .with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(file) {
        Ok(mut open) => open
            .write_all(STARTER.as_bytes())
            .with_context(|| format!("cannot write `{}`", file.display())),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let message = format!("`{}` exists and stays as it is", file.display());
            Err(Failure::new(FAILED, message)
                .hint("compare with `linelamp config init --print`")
                .into())
        }
        Err(error) => Err(error).with_context(|| format!("cannot write `{}`", file.display())),
    }
}

fn check(args: &CheckArgs) -> Result<ExitCode> {
    let loaded = load(&args.sources)?;
    loaded.check_sinks(&build).map_err(Failure::from)?;
    let mut out = io::stdout().lock();
    let files: Vec<String> = loaded.files().map(|file| file.display().to_string()).collect();
    if files.is_empty() {
        writeln!(out, "the configuration is valid; there is no file, the defaults hold")?;
    } else {
        writeln!(out, "the configuration is valid: {}", files.join(", "))?;
    }
    for warning in loaded.config.without_effect() {
        writeln!(io::stderr(), "warning: {warning}")?;
    }
    for row in loaded.rows().iter().filter(|row| row.exposed) {
        writeln!(
            io::stderr(),
            "warning: {}: `{}` is a secret in plain text; write env:NAME or file:PATH instead",
            row.place,
            row.key,
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Has a built-in sink look at its options, and throws the sink away.
///
/// References stay unresolved: the variable that the daemon has need not be set here. What stands for
/// them passes as an address as well as a secret.
fn build(kind: &str, options: &Value) -> Result<(), BuildError> {
    let factory: Box<dyn SinkFactory> = match kind {
        "jsonl" => Box::new(JsonlFactory),
        "webhook" => {
            Box::new(WebhookFactory::new(Arc::new(|_| Ok("http://localhost/".to_owned()))))
        }
        "desktop" => Box::new(DesktopFactory),
        // The store is no lane and so has no factory.
        "store" => return StoreOptions::read(options).map(drop),
        _ => return Ok(()),
    };
    factory.build(options).map(drop)
}

fn show(args: &ShowArgs) -> Result<ExitCode> {
    let rows = load(&args.sources)?.rows();
    let mut out = io::stdout().lock();
    match args.format {
        ConfigFormat::Json => {
            serde_json::to_writer_pretty(&mut out, &rows)?;
            writeln!(out)?;
        }
        ConfigFormat::Table => {
            for line in lines(&rows, args.origin) {
                writeln!(out, "{line}")?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn lines(rows: &[Row], origin: bool) -> Vec<String> {
    let texts: Vec<_> = rows.iter().map(|row| format!("{} = {}", row.key, row.value)).collect();
    let width = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).min(72);
    let lines = texts.into_iter().zip(rows).map(|(text, row)| match row.place.as_str() {
        _ if !origin => text,
        "built in" => format!("{text:width$}  # {}", row.layer),
        place => format!("{text:width$}  # {}: {place}", row.layer),
    });
    lines.collect()
}

fn load(args: &SourceArgs) -> Result<Loaded> {
    let mut sources = Sources::find(&Paths::find()?);
    if let Some(file) = &args.file {
        sources.user = Some(file.clone());
        sources.user_required = true;
    }
    let folder = match &args.project {
        Some(folder) => std::path::absolute(folder)?,
        None => std::env::current_dir().context("the current folder is gone")?,
    };
    sources = sources.with_project(&folder);
    for set in &args.set {
        let Some((key, value)) = set.split_once('=') else {
            let message = format!("`--set {set}` sets nothing");
            return Err(Failure::new(USAGE, message).hint("write --set KEY=VALUE").into());
        };
        let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
        sources.flags.push(Setting { flag: "--set".to_owned(), key, value });
    }
    Ok(Loaded::load(&sources).map_err(Failure::from)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::starter_in_full;

    fn loaded(text: &str) -> Loaded {
        let folder = tempfile::tempdir().expect("a folder");
        let user = folder.path().join("linelamp.toml");
        std::fs::write(&user, text).expect("writable");
        let sources = Sources { user: Some(user), ..Sources::default() };
        Loaded::load(&sources).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn the_sinks_of_the_starter_file_accept_their_options() {
        if let Err(error) = loaded(&starter_in_full()).check_sinks(&build) {
            panic!("{error}");
        }
    }

    #[test]
    fn a_check_asks_the_sinks_and_needs_no_secret() {
        let right = "[sinks.a]\nkind = \"webhook\"\nurl = \"env:NOT_SET\"\nsecret = \"file:/none\"";
        assert!(loaded(right).check_sinks(&build).is_ok());
        let wrong = "[sinks.a]\nkind = \"webhook\"\nurl = \"https://x\"\nsecert = \"env:X\"";
        let error = loaded(wrong).check_sinks(&build).expect_err("a slip").to_string();
        assert!(error.contains(":4: `sinks.a.secert`") && error.contains("secret"), "{error}");
    }

    #[test]
    fn an_existing_file_is_never_overwritten() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a/linelamp.toml");
        write_new(&file).expect("a new file");
        assert_eq!(std::fs::read_to_string(&file).expect("there"), STARTER);
        std::fs::write(&file, "mine").expect("writable");
        assert!(write_new(&file).is_err());
        assert_eq!(std::fs::read_to_string(&file).expect("there"), "mine");
    }

    #[test]
    fn each_line_ends_with_its_origin() {
        let rows = loaded("[daemon]\nlog_files = 4").rows();
        let lines = lines(&rows, true);
        let line =
            lines.iter().find(|line| line.starts_with("daemon.log_files = 4 ")).expect("shown");
        assert!(line.contains("  # user: ") && line.ends_with("linelamp.toml:2"), "{line}");
        assert!(lines.iter().any(|line| line.ends_with("# default")));
    }
}
