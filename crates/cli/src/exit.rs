//! The exit codes of every command, in one place.
//!
//! `wrap` ends as the wrapped program did (126 and 127 as a shell would); `hook` always ends with 0.

use std::fmt;
use std::process::ExitCode;

/// Something failed.
pub(crate) const FAILED: u8 = 1;
/// The command line or the configuration is wrong.
pub(crate) const USAGE: u8 = 2;
/// No daemon runs.
pub(crate) const NO_DAEMON: u8 = 3;
/// There is no such session.
pub(crate) const NO_SESSION: u8 = 4;
/// Something took too long.
pub(crate) const TIMEOUT: u8 = 5;

/// A failure with its own exit code and, where there is one, the next step for the user.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    message: String,
    hint: Option<String>,
}

impl Failure {
    /// A failure without a hint.
    pub(crate) fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    /// The same failure, with what to do next.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// No daemon answers under this state folder.
    pub(crate) fn no_daemon() -> Self {
        Self::new(NO_DAEMON, "no linelamp daemon is running")
            .hint("start it in the background with `linelamp up`")
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// Prints an error with its causes and hint, and gives the exit code that belongs to it.
#[expect(clippy::print_stderr, reason = "the one place where errors reach the user")]
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    if is_broken_pipe(error) {
        return ExitCode::SUCCESS;
    }
    eprintln!("error: {error:#}");
    let failure = error.chain().find_map(|cause| cause.downcast_ref::<Failure>());
    if let Some(hint) = failure.and_then(|failure| failure.hint.as_deref()) {
        eprintln!("hint: {hint}");
    }
    ExitCode::from(failure.map_or(FAILED, |failure| failure.code))
}

/// The reader of our output went away (`linelamp ls | head -1`): nothing failed.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
