//! Every environment variable linelamp reads, by name, in one place.
//!
//! An empty variable counts as one that is not set. The hook client's allow-list, which is about the
//! agent's variables and not about ours, stands with the hook client.

use std::ffi::OsString;

/// Puts configuration, state and sockets of linelamp under this one folder; an absolute path.
pub(crate) const LINELAMP_HOME: &str = "LINELAMP_HOME";

/// A configuration file to read in place of the user's; it must exist.
pub(crate) const LINELAMP_CONFIG: &str = "LINELAMP_CONFIG";

/// Begins the variables that set one configuration key each: `LINELAMP__DAEMON__LOG_LEVEL=debug` is
/// `daemon.log_level`.
pub(crate) const KEY_PREFIX: &str = "LINELAMP__";

/// The user's home folder.
pub(crate) const HOME: &str = "HOME";

/// Where configuration goes, from the XDG base directory specification.
pub(crate) const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";

/// Where state goes, from the XDG base directory specification.
pub(crate) const XDG_STATE_HOME: &str = "XDG_STATE_HOME";

/// Where programs of our own making go, from the XDG base directory specification.
pub(crate) const XDG_DATA_HOME: &str = "XDG_DATA_HOME";

/// Where sockets go, from the XDG base directory specification.
pub(crate) const XDG_RUNTIME_DIR: &str = "XDG_RUNTIME_DIR";

/// Switches colours off if it is set to anything (no-color.org).
pub(crate) const NO_COLOR: &str = "NO_COLOR";

/// The value of a variable that is set and not empty.
pub(crate) fn get(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Set if colours are unwanted everywhere.
pub(crate) fn no_color() -> Option<OsString> {
    get(NO_COLOR)
}

/// The variables that set configuration keys.
pub(crate) fn keys() -> Vec<(OsString, OsString)> {
    let prefix = KEY_PREFIX.as_bytes();
    std::env::vars_os()
        .filter(|(name, value)| name.as_encoded_bytes().starts_with(prefix) && !value.is_empty())
        .collect()
}

/// The user's home folder, if it is known.
pub(crate) fn home() -> Option<std::path::PathBuf> {
    get(HOME).map(Into::into)
}

/// Where Claude Code's settings are, if not in the home folder.
pub(crate) fn claude_config_dir() -> Option<OsString> {
    get("CLAUDE_CONFIG_DIR")
}

/// Where editors keep their data, if the environment tells.
pub(crate) fn editor_data() -> Option<OsString> {
    get(if cfg!(windows) { "APPDATA" } else { XDG_CONFIG_HOME })
}

/// True if there is a desktop session's bus to talk to.
pub(crate) fn has_session_bus() -> bool {
    get("DBUS_SESSION_BUS_ADDRESS").is_some()
}
