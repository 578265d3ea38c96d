//! The daemon's side of what clients send: the spool folder and the wrappers' socket.
//!
//! Whatever comes in has a *position*, a name that is the same however often and over whichever way it
//! comes: `hook/FILE` for a hook call, `wrap/INSTANCE/N` for a wrapper's batch. A position is published
//! once: [`Intake`] knows what is in hand, a [`Ledger`] (the store) what is durable. A file is deleted, and
//! a batch acknowledged, when it is durable and not before; without a store, as soon as it is published.
//!
//! Both feeds wait on the publisher between inputs, so a slow store slows them, and nobody else. What
//! clients send is data: whatever is in it, the feeds count it, put it aside and go on. Binding sockets,
//! the single-daemon lock and limits of the spool are not done here. Start at [`SpoolFeed`].

mod admit;
mod batch;
mod clock;
mod content;
mod folder;
mod hook;
mod intake;
#[cfg(unix)]
mod line;
mod poke;
mod spool;
mod stats;
#[cfg(unix)]
mod wrapper;

pub use self::intake::{Intake, Ledger};
pub use self::poke::Pokes;
pub use self::spool::{SpoolFeed, SpoolHandle, SpoolOptions};
pub use self::stats::{IntakeCounts, IntakeStats};
#[cfg(unix)]
pub use self::wrapper::{WrapperFeed, WrapperOptions};
