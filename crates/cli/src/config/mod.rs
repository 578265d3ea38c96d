//! The configuration: what the user wrote, from all places, as one typed value.
//!
//! Layers, each over the one before: defaults, the machine's file, the user's file, the project's file
//! (which may only mute or narrow), environment variables, the command line. [`Sources`] says where the
//! layers are, [`Config::load`] reads and checks them. Every layer is checked by itself against the table
//! in [`keys`], so a mistake is told with its file, line and key even where another layer covers it.
//!
//! Options of a feed or a sink are handed on as they are: only the component knows them. Nothing here
//! opens anything that a configuration names.

mod check;
pub(crate) mod error;
mod glob;
mod init;
mod join;
mod keys;
mod layer;
mod load;
pub(crate) mod model;
mod nearest;
mod node;
mod read;
mod show;
mod source;
#[cfg(test)]
mod tests;

pub(crate) use self::init::STARTER;
#[cfg(test)]
pub(crate) use self::init::starter_in_full;
pub(crate) use self::load::Loaded;
pub(crate) use self::model::Config;
pub(crate) use self::show::Row;
pub(crate) use self::source::{Setting, Sources};
