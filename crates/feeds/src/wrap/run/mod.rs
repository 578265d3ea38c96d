//! One wrapped run from start to end, on the calling thread.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use self::unix::run;
#[cfg(windows)]
pub use self::windows::run;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::bell::Bell;
use super::observer::Observer;
use super::options::{Agent, WrapOptions};
use super::tap::Tap;

/// So long the agent's end may be held up, whatever happens.
const LONGEST_HOLD: Duration = Duration::from_millis(250);

/// The observer needs more than a pump: decoders recurse into JSON.
const OBSERVER_STACK: usize = 1 << 20;

/// A pump needs next to nothing.
const PUMP_STACK: usize = 128 << 10;

/// The side channel for one run, its observer not yet up; takes the driver and the digester out of `options`.
fn make_tap(options: WrapOptions) -> Option<Arc<Tap>> {
    let (driver, chooser) = match options.agent {
        Agent::Known(driver) => (Some(driver), None),
        Agent::ByFirstLines(chooser) => (None, Some(chooser)),
        Agent::None => return None,
    };
    let observer = Observer {
        state: options.state,
        chooser,
        digester: options.digester,
        arguments: options
            .arguments
            .iter()
            .map(|argument| argument.to_string_lossy().into_owned())
            .collect(),
    };
    let start = Box::new(move |tap: &Arc<Tap>| {
        let tap = Arc::clone(tap);
        thread::Builder::new()
            .name("observer".into())
            .stack_size(OBSERVER_STACK)
            .spawn(move || observer.run(&tap))
            .is_ok()
    });
    let tap = Tap::new(Bell::new().ok()?, start);
    if driver.is_some() {
        tap.set_driver(driver);
    }
    Some(Arc::new(tap))
}
