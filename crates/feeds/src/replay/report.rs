//! What a replay reports besides events.

use linelamp_core::driver::Decoded;
use linelamp_core::event::{Status, TurnOutcome, WaitingFor};
use linelamp_core::id::{AgentName, NativeId};
use serde::Serialize;

/// One change of a session's state, on the recording's clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StateChange {
    /// Milliseconds since the recording began.
    pub ms: u64,
    /// The agent.
    pub agent: AgentName,
    /// The session's id in the agent's own words.
    pub session: NativeId,
    /// The state before; null for a session not seen before.
    pub from: Option<Status>,
    /// The state now.
    pub state: Status,
    /// What a waiting session waits for.
    pub waiting_for: Option<WaitingFor>,
    /// How the last turn ended.
    pub outcome: Option<TurnOutcome>,
    /// Background shells and tasks still running.
    pub background: u32,
    /// The evidence that decided, each as `FEED:KIND@MS`.
    pub because: Vec<String>,
}

/// What became of the lines of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReplayStats {
    /// Lines of standard streams and hook payloads; the sum of the four below.
    pub lines: u64,
    /// Understood, whether or not they made an event.
    pub understood: u64,
    /// Known to mean nothing.
    pub ignored: u64,
    /// Well formed and unknown; kept as `native` events.
    pub native: u64,
    /// Not what the surface carries.
    pub malformed: u64,
    /// Events published.
    pub events: u64,
}

impl ReplayStats {
    pub(super) fn count(&mut self, decoded: Decoded) {
        self.lines += 1;
        *match decoded {
            Decoded::Understood => &mut self.understood,
            Decoded::Ignored => &mut self.ignored,
            Decoded::Native => &mut self.native,
            Decoded::Malformed => &mut self.malformed,
        } += 1;
    }
}
