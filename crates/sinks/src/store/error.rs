//! What can go wrong with the store's file.

use std::path::PathBuf;

/// Why the store could not be opened or asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A newer linelamp wrote the file; an older one must not touch it.
    #[error(
        "store {path} has schema {found}, this program knows up to {known}: a newer linelamp wrote it"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The schema in the file.
        found: i64,
        /// The newest this program knows.
        known: i64,
    },
    /// An older linelamp wrote the file, and a reader does not change it.
    #[error(
        "store {path} has the older schema {found}: start the daemon once to bring it up to date"
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// The schema in the file.
        found: i64,
    },
    /// The file is a database of some other program.
    #[error("file {path} is not a linelamp store")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// There is no such file.
    #[error("store {path} does not exist")]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file or its thread could not be made.
    #[error("cannot create store {path}")]
    Create {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file could not be opened or brought up to date.
    #[error("cannot open store {path}")]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// A question to the open store failed.
    #[error("cannot read store {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// As much waits in memory as may: nothing new is taken until the file can be written.
    #[error("store {path} cannot be written and holds as much in memory as it may")]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The store was closed meanwhile.
    #[error("store is closed")]
    Closed,
}
