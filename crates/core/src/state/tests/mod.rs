//! Promises of identity and state, on drafts made by hand.

mod bench;
mod explain;
mod field_cases;
mod held;
mod identity;
mod lineage;
mod many_orders;
mod restore;
mod tracker;
