//! Promises of the bus as a whole.
