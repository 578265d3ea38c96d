//! Whatever the bytes are.
