//! Why a spool file cannot be read.

/// What is wrong with a spool file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpoolError {
    /// Written by a version with another format: to be left alone.
    #[error("spool file has format {0}, which this version does not read")]
    UnknownFormat(u64),
    /// Nothing in it, or less than its header promises.
    #[error("spool file is cut: {found} of {expected} bytes after the header")]
    Cut {
        /// Bytes after the header.
        found: u64,
        /// Bytes the header promises.
        expected: u64,
    },
    /// The first line is no header.
    #[error("spool file has no header line")]
    NoHeader(#[source] Option<serde_json::Error>),
}
