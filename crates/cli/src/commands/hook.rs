//! `hook`: one hook payload from standard input to the spool.
//!
//! Started by the agent, which waits for it. Dispatched before the command line is parsed; prints
//! nothing and exits 0, whatever happens. A mistake in the arguments is no reason to lose a payload.

use std::process::ExitCode;

use crate::paths::Paths;

/// The agent whose hooks carry no `--agent`.
const DEFAULT_AGENT: &str = "claude-code";

/// True if somebody asks what this is instead of handing over a payload.
pub(crate) fn is_question() -> bool {
    std::env::args_os().nth(2).is_some_and(|word| word == "--help" || word == "-h")
}

/// Takes one payload.
pub(crate) fn run() -> ExitCode {
    // A panic must not print either: standard error of a hook is shown to people and models.
    std::panic::set_hook(Box::new(|_| {}));
    let taken = std::panic::catch_unwind(|| {
        if let Some(state) = Paths::find_state() {
            linelamp_feeds::hook::run(&state, &agent());
        }
    });
    // Nothing to do about it: the agent must not notice.
    drop(taken);
    ExitCode::SUCCESS
}

/// The value of `--agent NAME` or `--agent=NAME`.
fn agent() -> String {
    let mut words = std::env::args().skip(2);
    while let Some(word) = words.next() {
        let value = match word.strip_prefix("--agent") {
            Some("") => words.next(),
            Some(glued) => glued.strip_prefix('=').map(str::to_owned),
            None => None,
        };
        if let Some(name) = value.filter(|name| !name.is_empty()) {
            return name;
        }
    }
    DEFAULT_AGENT.to_owned()
}
