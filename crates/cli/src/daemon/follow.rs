//! The feeds that follow what agents write for themselves: which folders, and how they are doing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};
use linelamp_core::bus::{Bus, FeedSet};
use linelamp_core::digest::Digester;
use linelamp_core::driver::Reading;
use linelamp_core::event::Trust;
use linelamp_feeds::follow::{
    AgentFolders, StatusFeed, StatusOptions, StatusStats, TranscriptFeed, TranscriptOptions,
    TranscriptStats,
};
use linelamp_feeds::ingest::Ledger;
use serde_json::{Value, json};

use crate::agents;
use crate::config::Config;
use crate::config::model::{Component, Maker};
use crate::env;

/// What the feeds have in common.
#[derive(Clone)]
pub(super) struct Common {
    pub(super) reading: Reading,
    pub(super) digester: Digester,
    pub(super) ledger: Option<Arc<dyn Ledger>>,
}

/// The counters of the feeds, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Following {
    transcripts: BTreeMap<String, Arc<TranscriptStats>>,
    statuses: BTreeMap<String, Arc<StatusStats>>,
}

impl Following {
    /// Starts the feeds that are switched on.
    ///
    /// # Errors
    ///
    /// If a folder is named in a way that leads nowhere.
    pub(super) fn start(
        config: &Config,
        bus: &Bus,
        feeds: &mut FeedSet,
        common: &Common,
    ) -> Result<Self> {
        let mut following = Self::default();
        for (name, component) in &config.feeds {
            let Maker::Kind(kind) = &component.maker else { continue };
            if !component.enabled {
                continue;
            }
            let Common { reading, digester, ledger } = common.clone();
            match kind.as_str() {
                "transcript" => {
                    let stats = Arc::<TranscriptStats>::default();
                    following.transcripts.insert(name.clone(), Arc::clone(&stats));
                    let agents = agents(name, component)?;
                    let options = TranscriptOptions { agents, reading, digester, ledger, stats };
                    let publisher = bus.publisher(name.as_str(), Trust::Inferred);
                    feeds.spawn(Box::new(TranscriptFeed::new(options)), publisher);
                }
                "status" => {
                    let stats = Arc::<StatusStats>::default();
                    following.statuses.insert(name.clone(), Arc::clone(&stats));
                    let agents = agents(name, component)?;
                    let options = StatusOptions { agents, reading, digester, stats };
                    let publisher = bus.publisher(name.as_str(), Trust::Reported);
                    feeds.spawn(Box::new(StatusFeed::new(options)), publisher);
                }
                _ => {}
            }
        }
        Ok(following)
    }

    /// Every counter, by the name of its feed.
    pub(super) fn counters(&self) -> Value {
        let transcripts =
            self.transcripts.iter().map(|(name, stats)| (name.clone(), json!(stats.counts())));
        let statuses =
            self.statuses.iter().map(|(name, stats)| (name.clone(), json!(stats.counts())));
        Value::Object(transcripts.chain(statuses).collect())
    }
}

/// Every agent with the folders the configuration names, or else with those it uses itself.
fn agents(feed: &str, component: &Component) -> Result<Vec<AgentFolders>> {
    let home = env::home();
    let folders = folders(feed, component, home.as_deref())?;
    let agents = agents::all().into_iter().map(|driver| {
        let config = folders.clone().unwrap_or_else(|| {
            // Without a home only what the environment names is left.
            let home = home.as_deref().unwrap_or(Path::new("/nonexistent"));
            driver.config_folders(home, &|name| env::get(name))
        });
        AgentFolders { driver, config }
    });
    Ok(agents.collect())
}

/// The folders the configuration names, if it names any.
fn folders(feed: &str, component: &Component, home: Option<&Path>) -> Result<Option<Vec<PathBuf>>> {
    let Some(named) = component.options.get("folders").and_then(Value::as_array) else {
        return Ok(None);
    };
    let mut folders = Vec::new();
    for text in named.iter().filter_map(Value::as_str) {
        let path = Path::new(text);
        match (path.strip_prefix("~"), home) {
            (Ok(rest), Some(home)) => folders.push(home.join(rest)),
            (Err(_), _) if path.is_absolute() => folders.push(path.to_owned()),
            _ => bail!("`feeds.{feed}.folders`: \"{text}\" must begin with / or ~/"),
        }
    }
    Ok(Some(folders))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(options: Value) -> Component {
        Component { maker: Maker::Kind("transcript".into()), enabled: true, options }
    }

    #[test]
    fn folders_are_absolute_or_below_the_home() {
        let home = Path::new("/home/u");
        let read = |folders: Value| folders_of(folders, Some(home));
        assert_eq!(read(json!({})).expect("right"), None);
        assert_eq!(
            read(json!({"folders": ["~/.claude", "/srv/other", "~"]})).expect("right"),
            Some(vec!["/home/u/.claude".into(), "/srv/other".into(), home.join("")])
        );
        assert_eq!(read(json!({"folders": []})).expect("right"), Some(Vec::new()));
        let error = read(json!({"folders": ["other"]})).expect_err("wrong").to_string();
        assert!(error.contains("feeds.work.folders") && error.contains("other"), "{error}");
        assert!(folders_of(json!({"folders": ["~/x"]}), None).is_err(), "there is no home");
    }

    fn folders_of(options: Value, home: Option<&Path>) -> Result<Option<Vec<PathBuf>>> {
        folders("work", &component(options), home)
    }
}
