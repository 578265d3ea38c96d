//! `record`: runs an agent, passes everything through, and keeps what was seen and when.
//!
//! The agent gets a settings file of its own with hooks that report to a private folder, beside whatever
//! hooks it has; nothing of the user's settings is touched.

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use linelamp_drivers::claude_code::ClaudeCode;
use linelamp_drivers::claude_code::settings::{hook_command, wanted};
use linelamp_feeds::record::{AgentFiles, RecordOptions, record};
use serde_json::{Map, Value, json};

use crate::agents;
use crate::args::RecordArgs;
use crate::env::LINELAMP_HOME;
use crate::exit::{Failure, USAGE};
use crate::paths::Paths;
use crate::private::PrivateFolder;

/// Records one session.
pub(crate) fn run(args: RecordArgs) -> Result<ExitCode> {
    let mut command = args.command.into_iter();
    // The command line demands at least one word.
    let program = command.next().unwrap_or_default();
    super::wrap::refuse_option(&program)?;
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        return Err(Failure::new(USAGE, "a program at a terminal cannot be recorded")
            .hint("record one that speaks a stream, with its input or output redirected")
            .into());
    }
    let arguments: Vec<OsString> = command.collect();
    let driver = match &args.agent {
        Some(name) => Some(agents::by_name(name).ok_or_else(|| {
            Failure::new(USAGE, format!("no agent is called `{name}`"))
                .hint(format!("agents are: {}", agents::names()))
        })?),
        None => agents::by_program(Path::new(&program)),
    };
    let private = PrivateFolder::create("linelamp-record")?;
    let paths = Paths::under(private.path());
    paths.create()?;
    let hooks = driver.as_ref().filter(|driver| driver.agent().as_str() == ClaudeCode::AGENT);
    let hidden_arguments = match hooks {
        Some(_) => vec![OsString::from("--settings"), settings(private.path())?.into_os_string()],
        None => Vec::new(),
    };
    let files = driver.as_ref().zip(crate::env::home()).and_then(|(driver, home)| {
        let config = driver.config_folders(&home, &crate::env::get).into_iter().next()?;
        Some(AgentFiles { driver: Arc::clone(driver), config })
    });
    let options = RecordOptions {
        folder: args.dir,
        agent: driver.map(|driver| driver.agent()),
        program,
        arguments,
        hidden_arguments,
        environment: Vec::new(),
        hooks: Some(paths.state),
        files,
    };
    let end = record(&options, std::io::stdin(), std::io::stdout(), std::io::stderr())?;
    if let Some(error) = end.incomplete {
        writeln!(std::io::stderr(), "warning: the recording is not whole: {error}")?;
    }
    let code = end.exit.code.or(end.exit.signal.map(|signal| 128 + signal)).unwrap_or(1);
    Ok(ExitCode::from(u8::try_from(code & 0xff).unwrap_or(1)))
}

/// A settings file whose hooks report below `home`.
fn settings(home: &Path) -> Result<PathBuf> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let hook = hook_command(&program, ClaudeCode::AGENT)?;
    let command = format!("{LINELAMP_HOME}={} {hook}", quoted(&home.to_string_lossy()));
    let entry = json!([{ "hooks": [{ "type": "command", "command": command }] }]);
    let hooks: Map<String, Value> =
        wanted(None).into_iter().map(|event| (event.to_owned(), entry.clone())).collect();
    let path = home.join("settings.json");
    std::fs::write(&path, json!({ "hooks": hooks }).to_string())
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// One word for a POSIX shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
