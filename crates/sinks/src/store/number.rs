//! `SQLite` has signed numbers only; ours never come near the sign.

pub(super) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// A column as a number that cannot be negative.
pub(super) fn column(row: &rusqlite::Row<'_>, index: usize) -> rusqlite::Result<u64> {
    row.get(index).map(unsigned)
}
