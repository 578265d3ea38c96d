//! Counters of the feeds that follow files, readable while they run.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

macro_rules! counters {
    (
        $(#[$about:meta])* $stats:ident => $(#[$counts_about:meta])* $counts:ident:
        $($(#[$meta:meta])* $name:ident,)*
    ) => {
        $(#[$about])*
        #[derive(Debug, Default)]
        pub struct $stats {
            $(pub(super) $name: Number,)*
        }

        $(#[$counts_about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
        pub struct $counts {
            $($(#[$meta])* pub $name: u64,)*
        }

        impl $stats {
            /// The numbers at this moment.
            pub fn counts(&self) -> $counts {
                $counts { $($name: self.$name.get(),)* }
            }
        }
    };
}

counters! {
    /// What the transcript feed counts. Everything starts at zero with the feed.
    TranscriptStats =>
    /// The transcript feed's numbers at one moment.
    TranscriptCounts:
    /// Session files known now.
    files,
    /// Folders known now.
    folders,
    /// Folders the system tells about now.
    watched,
    /// 1 while some folder is looked at again and again because the system does not tell about it.
    polling,
    /// Decoders open now.
    decoders,
    /// Whole lines read.
    lines,
    /// Of these, lines that stood there before anybody looked.
    past,
    /// Lines a decoder understood.
    understood,
    /// Lines that mean nothing.
    ignored,
    /// Lines kept as they are.
    native,
    /// Lines that are no records.
    malformed,
    /// Lines over the length limit, left out.
    too_long,
    /// Drafts published or given as evidence.
    drafts,
    /// Times a file had been shortened, rewritten or replaced, and was read from its start.
    restarted,
    /// Times the system said that it had told less than everything.
    overflows,
    /// Batches the store refused for want of room: they are read again.
    given_back,
    /// Files that could not be read.
    unreadable,
    /// Times a decoder panicked.
    panics,
}

counters! {
    /// What the status feed counts. Everything starts at zero with the feed.
    StatusStats =>
    /// The status feed's numbers at one moment.
    StatusCounts:
    /// Status files of running processes known now.
    files,
    /// 1 while some folder is looked at again and again because the system does not tell about it.
    polling,
    /// Contents handed to a decoder.
    reports,
    /// Contents a decoder understood.
    understood,
    /// Contents that mean nothing.
    ignored,
    /// Contents kept as they are.
    native,
    /// Contents that were not whole, or no status.
    malformed,
    /// Files of processes that are gone, left aside.
    leftovers,
    /// Drafts published or given as evidence.
    drafts,
    /// Times a decoder panicked.
    panics,
}

/// One number.
#[derive(Debug, Default)]
pub(super) struct Number(AtomicU64);

impl Number {
    pub(super) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(super) fn set(&self, value: usize) {
        self.0.store(value as u64, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
