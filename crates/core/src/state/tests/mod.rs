//! Promises of identity and state, on drafts made by hand.

mod bench;
mod ending;
mod explain;
mod field_cases;
mod files;
mod ghost;
mod held;
mod history;
mod identity;
mod lineage;
mod many_orders;
mod restore;
mod tracker;
mod word;
