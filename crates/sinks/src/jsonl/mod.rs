//! Events as lines of JSON in a file.
//!
//! One line per event, exactly the wire form, appended in order; the file is rotated by size and only
//! its owner may read it. A line is never left half: what could not be written whole is taken back and
//! tried again. It does not filter, and it does not compress or delete beyond its own numbered files.

mod factory;
mod file;
mod sink;

pub use self::factory::JsonlFactory;
