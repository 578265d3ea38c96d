//! What following files promises, with an agent, a store and a system of the tests' making.

mod begin;
mod change;
mod live;
mod status;
mod support;
mod watching;
