//! What Windows has to say about folders and ends.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::process::ExitStatus;

use linelamp_core::process::ProcessExit;

/// Makes a folder with its parents; a profile's folders are private already.
pub(super) fn create_private_folder(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)
}

/// Files are as private as their folder.
pub(super) fn make_private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// How a process ended; there are no signals.
pub(super) fn exit(status: ExitStatus) -> ProcessExit {
    ProcessExit { code: Some(status.code().unwrap_or(1)), signal: None }
}
