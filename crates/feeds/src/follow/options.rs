//! What the feeds that follow files are made from.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use linelamp_core::digest::Digester;
use linelamp_core::driver::{Driver, Reading};

use super::stats::{StatusStats, TranscriptStats};
use crate::ingest::Ledger;

/// An agent and the folders in which it keeps its settings and sessions: one for each account.
#[derive(Clone, Debug)]
pub struct AgentFolders {
    /// All knowledge about the agent.
    pub driver: Arc<dyn Driver>,
    /// Its configuration folders; they need not be there yet.
    pub config: Vec<PathBuf>,
}

/// What the transcript feed is made from.
#[derive(Clone)]
pub struct TranscriptOptions {
    /// Whose session files, and where.
    pub agents: Vec<AgentFolders>,
    /// How much is read of a line.
    pub reading: Reading,
    /// Makes digests of tool input.
    pub digester: Digester,
    /// Remembers how far files were read; without it every start is the first.
    pub ledger: Option<Arc<dyn Ledger>>,
    /// Where the feed counts.
    pub stats: Arc<TranscriptStats>,
}

impl fmt::Debug for TranscriptOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("TranscriptOptions")
            .field("agents", &self.agents)
            .field("reading", &self.reading)
            .finish_non_exhaustive()
    }
}

/// What the status feed is made from.
#[derive(Clone, Debug)]
pub struct StatusOptions {
    /// Whose status files, and where.
    pub agents: Vec<AgentFolders>,
    /// How much is read of a file.
    pub reading: Reading,
    /// Makes digests of tool input.
    pub digester: Digester,
    /// Where the feed counts.
    pub stats: Arc<StatusStats>,
}
