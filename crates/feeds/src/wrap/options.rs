//! What a caller decides about one wrapped run.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use linelamp_core::digest::Digester;
use linelamp_core::driver::{Direction, Driver};

/// Looks at one of the first lines and names the agent that wrote it, if it can.
pub type Chooser = Box<dyn FnMut(Direction, &[u8]) -> Option<Arc<dyn Driver>> + Send>;

/// Whose stream it is.
pub enum Agent {
    /// Known before the start.
    Known(Arc<dyn Driver>),
    /// To be told by its first lines. The chooser runs off the path of the bytes.
    ByFirstLines(Chooser),
    /// Nobody's: the program is run in our place.
    None,
}

impl fmt::Debug for Agent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(driver) => formatter.debug_tuple("Known").field(driver).finish(),
            Self::ByFirstLines(_) => formatter.write_str("ByFirstLines(…)"),
            Self::None => formatter.write_str("None"),
        }
    }
}

/// One program to run and what to make of its stream.
pub struct WrapOptions {
    /// The program, looked up as a shell would.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The state folder: the spool and, in `run`, the daemon's sockets.
    pub state: PathBuf,
    /// Whose stream it is.
    pub agent: Agent,
    /// The call is no session (the driver knows); the program is run in our place.
    pub side_call: bool,
    /// Gives the maker of input digests; called once, off the path of the bytes, when lines come.
    pub digester: Box<dyn FnOnce() -> Digester + Send>,
}

impl fmt::Debug for WrapOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Arguments may hold a prompt.
        formatter
            .debug_struct("WrapOptions")
            .field("program", &self.program)
            .field("state", &self.state)
            .field("agent", &self.agent)
            .field("side_call", &self.side_call)
            .finish_non_exhaustive()
    }
}
