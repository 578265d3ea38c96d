//! The wrapper and the hook client as programs, and children that misbehave on purpose.
//!
//! Run by the integration tests only. `wrap STATE OPTIONS -- CMD…` wraps with a decoder that understands
//! lines like `{"must":7}`; the other words are children.
#![expect(clippy::print_stdout, reason = "what the children print is what the tests look at")]

mod child;
mod driver;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use linelamp_core::digest::Digester;
use linelamp_feeds::{hook, wrap};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let word = arguments.next().unwrap_or_default();
    match word.to_str() {
        Some("wrap") => run_wrap(arguments),
        Some("hook") => {
            let state = arguments.next().unwrap_or_default();
            hook::run(Path::new(&state), "claude-code");
        }
        Some("start") => return ExitCode::SUCCESS,
        Some(word) => child::run(word, arguments),
        None => return ExitCode::from(2),
    }
    ExitCode::SUCCESS
}

fn run_wrap(mut arguments: impl Iterator<Item = OsString>) {
    let state = arguments.next().unwrap_or_default().into();
    let mut side_call = false;
    let mut agent = wrap::Agent::Known(Arc::new(driver::TestDriver::default()));
    for option in arguments.by_ref().take_while(|word| word != "--") {
        match option.to_str() {
            Some("--side") => side_call = true,
            Some("--slow") => {
                agent = wrap::Agent::Known(Arc::new(driver::TestDriver { slow: true }));
            }
            Some("--choose") => agent = wrap::Agent::ByFirstLines(driver::chooser()),
            _ => {}
        }
    }
    let options = wrap::WrapOptions {
        program: arguments.next().unwrap_or_default(),
        arguments: arguments.collect(),
        state,
        agent,
        side_call,
        digester: Box::new(|| Digester::new(&[0; 32])),
    };
    wrap::run(options).leave();
}
