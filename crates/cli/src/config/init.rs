//! The file that `config init` writes: every key with what it does, nothing switched on.

/// A commented file. As it stands it changes nothing; each commented line is valid once its `#` goes.
pub(crate) const STARTER: &str = include_str!("starter.toml");

/// The starter file with every commented key and table set. Those begin right behind the `#`, words with
/// a space.
#[cfg(test)]
pub(crate) fn starter_in_full() -> String {
    let is_set = |first: char| first.is_ascii_lowercase() || first == '[';
    let lines = STARTER
        .lines()
        .map(|line| line.strip_prefix('#').filter(|rest| rest.starts_with(is_set)).unwrap_or(line));
    lines.flat_map(|line| [line, "\n"]).collect()
}
