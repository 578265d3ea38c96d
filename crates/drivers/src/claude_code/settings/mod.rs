//! Merging linelamp's hooks into a Claude Code `settings.json`, and taking them out again.
//!
//! The file belongs to the user and to other tools as well, so it is edited as text: what stands in it
//! keeps its place, its order and its formatting, and only our entries come and go. Removing them right
//! after installing gives back the same bytes. [`install`], [`uninstall`] and [`status`] are pure
//! functions over text; [`SettingsFile`] reads, backs up and replaces the file; [`wanted`] says which
//! events are worth a hook and which are known to the installed version.
//!
//! Comments and commas before a closing bracket are kept byte for byte, although Claude Code itself ignores a
//! file that has them: [`Status::unread`] tells, so that nobody takes such hooks for installed ones.
//!
//! Deliberately not here: running the CLI to learn its version, choosing the file (see
//! [`settings_path`] for the rule), and asking the user.
//!
//! How an edit can be undone without a note about what was there: a container that we create (the
//! `hooks` object, the list of an event) gets white space after its opening bracket, while an empty one
//! that was there before gets our entry right behind the bracket. A removal that empties a container
//! therefore knows whether to take the container out as well. Where another program reformats the file
//! in between, the worst that remains is an empty list or object, which means nothing to the CLI.

mod command;
mod edit;
mod error;
mod event;
mod file;
pub(super) mod layout;
mod level;
mod place;
mod prune;
mod status;
pub(super) mod tree;
pub(super) mod trivia;

pub(super) use self::command::quote;
pub use self::command::{HOOK_TIMEOUT_SECONDS, hook_command, is_ours, program_of};
pub use self::edit::{install, uninstall};
pub use self::error::SettingsError;
pub use self::event::{Choice, HookEvent, KNOWN_EVENTS, is_version, wanted};
pub use self::file::{Applied, Change, SettingsFile};
pub use self::level::{Level, settings_path};
pub use self::status::{Status, status};
