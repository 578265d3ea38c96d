//! The file that `config init` writes: every key with what it does, nothing switched on.

/// A commented file. As it stands it changes nothing; each commented line is valid once its `#` goes.
pub(crate) const STARTER: &str = include_str!("starter.toml");
