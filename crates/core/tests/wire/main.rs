//! Promises of the wire form, for every kind of event there is.

mod content;
mod round_trip;
mod sample;
mod unknown;
