//! Files that nobody but their owner may read.

#[cfg(unix)]
mod unix;
#[cfg(not(unix))]
mod windows;

#[cfg(unix)]
pub(crate) use self::unix::{create_folder, is_at, open_append};
#[cfg(not(unix))]
pub(crate) use self::windows::{create_folder, is_at, open_append};
