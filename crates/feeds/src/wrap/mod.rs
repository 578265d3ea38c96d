//! The stream wrapper: an agent's standard streams, passed through and looked at from the side.
//!
//! Two things live here and only one of them matters to the agent. The *pump* forwards bytes between the
//! host and the agent; it comes first and waits for nobody but them. Behind each forwarded chunk the
//! `cutter` finds lines and offers them to a bounded side channel, the `tap`; from there a thread of
//! its own, the `observer`, decodes, numbers and reports. When the observer is behind, lines that only
//! carry detail are left out and counted, lines that carry state wait; when it panics, stalls or cannot
//! reach anybody, the pump does not know.
//!
//! What is not done here: no configuration is read, no line is changed, nothing is printed, no async
//! runtime is started. Start at [`run`].

mod batch;
mod bell;
mod cutter;
mod end;
mod ledger;
mod link;
mod observer;
mod options;
mod pump;
mod run;
#[cfg(unix)]
mod signal;
mod tap;

pub use self::end::WrapEnd;
pub use self::options::{Agent, Chooser, WrapOptions};
pub use self::run::run;
