//! Signals of the wrapper, taken one by one on the main thread.
//!
//! No handler is ever installed and no disposition changed: the signals are blocked and waited for. So an
//! ignored signal stays ignored in the child, and nothing runs at a bad moment.

mod unix;

pub(super) use self::unix::{
    Received, Signals, close_from, die_of, fork_self, leave_copy, live_at_most, stop_as,
};
