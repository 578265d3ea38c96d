//! The wrapper's lines: what it says to the daemon and what it understands of the answers.
//!
//! The form of a draft is core's; here is only the frame around it.

use std::time::Duration;

use linelamp_core::driver::Reading;
use linelamp_core::process::ProcessRef;
use linelamp_core::{AgentName, Draft};
use serde::{Deserialize, Serialize};

use crate::spool::FORMAT;

/// How often a silent wrapper says that it is alive.
pub(super) const KEEPALIVE: Duration = Duration::from_secs(30);

/// The keepalive line. It asserts no state.
pub(super) const KEEPALIVE_LINE: &[u8] = b"{\"keepalive\":true}\n";

/// A batch is closed at this size.
const FULL: usize = 256 << 10;

/// The first line.
#[derive(Debug, Serialize)]
struct Hello<'a> {
    linelamp: u64,
    role: &'static str,
    version: &'static str,
    instance: &'a str,
    agent: &'a AgentName,
    child: ProcessRef,
}

/// The first line to the daemon.
pub(super) fn hello(instance: &str, agent: &AgentName, child: ProcessRef) -> Vec<u8> {
    let hello = Hello {
        linelamp: FORMAT,
        role: "wrap",
        version: env!("CARGO_PKG_VERSION"),
        instance,
        agent,
        child,
    };
    let mut line = serde_json::to_vec(&hello).unwrap_or_default();
    line.push(b'\n');
    line
}

/// A line from the daemon: its first one, or an acknowledgement.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Reply {
    /// The format, in the first line.
    pub(super) linelamp: Option<u64>,
    /// How much it wants, in the first line.
    pub(super) want: Option<Reading>,
    /// Every batch up to this number is committed.
    pub(super) committed: Option<u64>,
}

/// What was counted since the start; told with a batch when it has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    /// Lines the decoder understood.
    pub(super) understood: u64,
    /// Lines on its list of what means nothing.
    pub(super) ignored: u64,
    /// Lines kept as they are.
    pub(super) native: u64,
    /// Lines that were none.
    pub(super) malformed: u64,
    /// Lines over the length limit.
    pub(super) too_long: u64,
    /// Lines of detail left out.
    pub(super) shed: u64,
    /// Lines that may have carried state and found no room, and batches nobody could take.
    pub(super) lost: u64,
    /// Times the decoder failed and was replaced.
    pub(super) panics: u64,
}

impl Counts {
    /// Only what went wrong or was left out: that is worth telling at once.
    fn troubles(self) -> [u64; 6] {
        [self.native, self.malformed, self.too_long, self.shed, self.lost, self.panics]
    }
}

/// Builds the line of one batch.
#[derive(Debug, Default)]
pub(super) struct Builder {
    drafts: Vec<u8>,
    told: Counts,
}

impl Builder {
    /// Adds a draft. One that cannot be written as JSON cannot exist; it would be left out.
    pub(super) fn add(&mut self, draft: &Draft) {
        let start = self.drafts.len();
        if start > 0 {
            self.drafts.push(b',');
        }
        if serde_json::to_writer(&mut self.drafts, draft).is_err() {
            self.drafts.truncate(start);
        }
    }

    /// True if the batch should be closed now.
    pub(super) fn is_full(&self) -> bool {
        self.drafts.len() >= FULL
    }

    /// The batch's line, if there is anything to say.
    pub(super) fn close(&mut self, number: u64, counts: Counts) -> Option<Vec<u8>> {
        let troubled = counts.troubles() != self.told.troubles();
        if self.drafts.is_empty() && !troubled {
            return None;
        }
        let mut line = format!("{{\"n\":{number}").into_bytes();
        if troubled {
            line.extend_from_slice(b",\"counts\":");
            serde_json::to_writer(&mut line, &counts).ok()?;
            self.told = counts;
        }
        line.extend_from_slice(b",\"drafts\":[");
        line.extend_from_slice(&self.drafts);
        line.extend_from_slice(b"]}\n");
        self.drafts.clear();
        self.drafts.shrink_to(FULL);
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_daemons_lines_are_read_and_unknown_fields_skipped() {
        let hello = r#"{"linelamp":1,"role":"daemon","version":"9","want":"full","more":[1]}"#;
        let reply: Reply = serde_json::from_str(hello).expect("a reply");
        assert_eq!((reply.linelamp, reply.want), (Some(1), Some(Reading::Full)));
        let reply: Reply = serde_json::from_str(r#"{"committed":7}"#).expect("a reply");
        assert_eq!(reply.committed, Some(7));
    }

    #[test]
    fn a_batch_tells_counts_only_when_something_went_wrong_since() {
        let mut builder = Builder::default();
        let mut counts = Counts { understood: 5, ..Counts::default() };
        assert_eq!(builder.close(1, counts), None);
        counts.shed = 2;
        let line = builder.close(1, counts).expect("a line");
        let value: serde_json::Value = serde_json::from_slice(&line).expect("json");
        assert_eq!((&value["n"], &value["counts"]["shed"]), (&1.into(), &2.into()));
        assert_eq!(value["drafts"], serde_json::json!([]));
        counts.understood = 6;
        assert_eq!(builder.close(2, counts), None);
    }
}
