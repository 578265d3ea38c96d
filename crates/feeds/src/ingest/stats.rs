//! Counters of intake, readable while it runs.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

macro_rules! counters {
    ($($(#[$meta:meta])* $name:ident,)*) => {
        /// What intake counts. All counters start at zero with the daemon.
        #[derive(Debug, Default)]
        pub struct IntakeStats {
            $(pub(super) $name: Counter,)*
        }

        /// The counters at one moment.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
        pub struct IntakeCounts {
            $($(#[$meta])* pub $name: u64,)*
        }

        impl IntakeStats {
            /// The counters now.
            pub fn counts(&self) -> IntakeCounts {
                IntakeCounts { $($name: self.$name.get(),)* }
            }
        }
    };
}

counters! {
    /// Spool files taken in.
    files,
    /// Batches of wrappers taken in, over the socket or out of the spool.
    batches,
    /// Inputs that were durable already: only their acknowledgement or deletion had been lost.
    known,
    /// Drafts published or given as evidence.
    drafts,
    /// Inputs published that the store then refused for want of room: they are read again later.
    given_back,
    /// Hook payloads deleted unread because nobody here reads that agent's hooks.
    unread,
    /// Drafts of kinds that a client may not send.
    refused,
    /// Files put aside as unreadable.
    bad_files,
    /// Files of a format this version does not read, left where they are.
    left_alone,
    /// Files that clients dropped because of the spool's limits.
    dropped_files,
    /// Times a decoder panicked.
    panics,
    /// Hook payloads the decoder understood.
    understood,
    /// Hook payloads that mean nothing.
    ignored,
    /// Hook payloads kept as they are.
    native,
    /// Hook payloads that were none.
    malformed,
    /// Wrappers that ever connected.
    connections,
    /// Wrappers connected now.
    connected,
    /// Connections ended because of what came over them.
    bad_connections,
    /// Connections that ended before the session did.
    lost_connections,
    /// Lines of detail that wrappers left out.
    lines_shed,
    /// Lines that wrappers had no room for although they may have carried state.
    lines_lost,
}

/// One counter.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    #[cfg(unix)]
    pub(super) fn subtract(&self, count: u64) {
        self.0.fetch_sub(count, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
