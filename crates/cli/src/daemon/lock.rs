//! One daemon per state folder: a lock held for life.
//!
//! The kernel drops the lock when the holder dies, however it dies, so a stale lock cannot exist. Only
//! the holder removes a stale socket.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::exit::{FAILED, Failure};

/// The held lock.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of this state folder and writes the holder's pid into it.
    ///
    /// # Errors
    ///
    /// A [`Failure`] naming the holder if another daemon has it.
    pub(crate) fn take(state: &Path) -> Result<Self> {
        let path = state.join("lock");
        let mut file = OpenOptions::new()
            .mode(0o600)
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .with_context(|| format!("cannot open {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let pid = match file.read_to_string(&mut holder) {
                    Ok(_) if !holder.trim().is_empty() => format!(" (pid {})", holder.trim()),
                    _ => String::new(),
                };
                return Err(Failure::new(FAILED, format!("a linelamp daemon already runs{pid}"))
                    .hint("stop it with `linelamp down`, or use another LINELAMP_HOME")
                    .into());
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", path.display()));
            }
        }
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()))
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { _file: file })
    }

    /// True while some process holds the lock of this state folder.
    pub(crate) fn is_held(state: &Path) -> bool {
        match File::open(state.join("lock")) {
            Ok(file) => matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)),
            Err(_) => false,
        }
    }
}
