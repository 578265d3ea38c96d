//! Files from clients to the daemon, in `STATE/spool`: transit, not storage.
//!
//! A client writes one file under a temporary name and renames it, so that a name the daemon can see is
//! a whole file; that makes what it says safe from the daemon's death, and needs no daemon at all. The
//! folder is bounded: one write in 256 sweeps what is too old or too much, and leaves a count of it.
//! Reading, taking in and deleting files is the daemon's work and is not done here. Start with [`write()`]
//! for clients and [`read_header`] for the other side.

mod error;
mod header;
mod sweep;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;
mod write;

pub use self::error::SpoolError;
pub use self::header::{FORMAT, Header, Role, read_header};
pub(crate) use self::sweep::sweep_bad;
pub use self::sweep::{Dropped, Limits, Reason, count_dropped, sweep, take_dropped};
pub(crate) use self::write::{FAILED, bad_folder};
pub use self::write::{FOLDER, is_spool_name, write};
