//! Helpers for tests of the bus.
