//! The recordings the demo plays, shipped inside the program.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// One recorded session: its files by name.
type Files = &'static [(&'static str, &'static str)];

macro_rules! recording {
    ($name:literal: $($file:literal),*) => {
        ($name, &[$((
            $file,
            include_str!(concat!("../../../demo/", $name, "/", $file)),
        )),*] as Files)
    };
}

/// A host program speaks to the agent over its standard streams; it asks twice, and is denied once.
const HOSTED: (&str, Files) = recording!("hosted": "timeline.ndjson", "stdout.ndjson", "stdin.ndjson", "hooks.ndjson", "meta.json");

/// An agent in a terminal, seen through its hooks only.
const TERMINAL: (&str, Files) =
    recording!("terminal": "timeline.ndjson", "hooks.ndjson", "meta.json");

/// Writes both recordings below `folder`: the hosted session, then the one in a terminal.
pub(super) fn unpack(folder: &Path) -> Result<[PathBuf; 2]> {
    let write = |(name, files): (&str, Files)| -> Result<PathBuf> {
        let folder = folder.join(name);
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        for (file, text) in files {
            let path = folder.join(file);
            std::fs::write(&path, text)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(folder)
    };
    Ok([write(HOSTED)?, write(TERMINAL)?])
}
