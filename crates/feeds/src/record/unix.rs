//! What Unix has to say about folders and ends.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::ExitStatus;

use linelamp_core::process::ProcessExit;

/// Makes a folder with its parents, for its owner only.
pub(super) fn create_private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Says that files are made for their owner only.
pub(super) fn make_private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

/// How a process ended.
pub(super) fn exit(status: ExitStatus) -> ProcessExit {
    ProcessExit { code: status.code(), signal: status.signal() }
}
