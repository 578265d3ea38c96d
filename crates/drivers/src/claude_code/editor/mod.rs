//! Merging linelamp's launcher into an editor's `settings.json`, and taking it out again.
//!
//! The Claude Code extension of VS Code and its relatives starts the agent through the program that
//! `claudeCode.claudeProcessWrapper` names: one path, no arguments, with the agent's own program as the
//! first argument. [`Launcher`] is a shell script to stand there; [`Wrapper`] plans and makes a change of
//! one settings file and its launcher; [`set`] and [`restore`] are the edits of the text, pure functions;
//! [`places`] knows where editors keep their settings.
//!
//! Deliberately not here: asking the user, reading the environment, and the agent's own settings, which
//! are the neighbour module's.
//!
//! The launcher outlives linelamp's program and so carries all it needs in itself: what to start, which
//! other tool's launcher stood in the setting before and is still to be called, and the bytes that give
//! the settings their old form back.

mod edit;
mod error;
mod launcher;
mod place;
mod plan;
mod wrapper;

pub use self::edit::{Before, KEY, current, restore, set};
pub use self::error::EditorError;
pub use self::launcher::{Launcher, is_launcher};
pub use self::place::{Editor, Place, System, data_folder, places};
pub use self::plan::{Plan, ScriptChange};
pub use self::wrapper::{Standing, Wrapper};
