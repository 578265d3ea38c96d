//! The folders that are followed, and whose they are.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use linelamp_core::driver::{DecoderOptions, Driver, Source};

use super::options::AgentFolders;

/// A folder that is followed.
#[derive(Clone, Debug)]
pub(super) struct Root {
    pub(super) driver: Arc<dyn Driver>,
    pub(super) path: PathBuf,
}

/// The folders that `of` names, each once, of agents whose driver reads `source`.
pub(super) fn roots(
    agents: &[AgentFolders],
    source: Source,
    options: &DecoderOptions,
    of: impl Fn(&dyn Driver, &Path) -> Option<PathBuf>,
) -> Vec<Root> {
    let mut roots: Vec<Root> = Vec::new();
    for AgentFolders { driver, config } in agents {
        if driver.decoder(source, options.clone()).is_none() {
            continue;
        }
        for path in config.iter().filter_map(|config| of(&**driver, config)) {
            if !roots.iter().any(|root| is_same(&root.path, &path)) {
                roots.push(Root { driver: Arc::<dyn Driver>::clone(driver), path });
            }
        }
    }
    roots
}

/// True if both paths lead to one folder.
fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    one == other || real(one).is_some_and(|one| real(other) == Some(one))
}
