//! How much of each thing is remembered, and what is forgotten first.

pub(crate) const CALLS: usize = 64;
pub(crate) const OPEN_REQUESTS: usize = 64;
pub(crate) const CLOSED_REQUESTS: usize = 32;
pub(crate) const ANSWERS: usize = 16;
pub(crate) const TURNS: usize = 16;
pub(crate) const CHILDREN: usize = 64;
pub(crate) const TASKS: usize = 64;
pub(crate) const COMPACTIONS: usize = 4;
pub(crate) const STARTS: usize = 8;
pub(crate) const PROMPTS: usize = 16;
pub(crate) const HELD: usize = 32;
pub(crate) const RETRIES: usize = 8;
pub(crate) const ALIASES: usize = 4;

/// Makes room in a full list: what is over goes first, the oldest first.
pub(crate) fn make_room<T>(list: &mut Vec<T>, limit: usize, is_over: impl Fn(&T) -> bool) {
    if list.len() >= limit {
        let oldest = list.iter().position(is_over).unwrap_or(0);
        list.remove(oldest);
    }
}

/// Makes room and adds.
pub(crate) fn push<T>(list: &mut Vec<T>, limit: usize, item: T, is_over: impl Fn(&T) -> bool) {
    make_room(list, limit, is_over);
    list.push(item);
}
