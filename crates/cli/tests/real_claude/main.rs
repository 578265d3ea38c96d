//! The real Claude Code CLI, offline, with linelamp around it.
//!
//! Everything else in this repository tests linelamp against recordings. Here the agent itself
//! runs, as its users start it: over pipes, with permissions asked on stdio, and in a terminal.
//! Its model is a scripted stand-in for the Messages API on loopback ([`api`]); its home is a
//! temporary folder; nothing reaches the network (a test holds that).
//!
//! It does not test what a model says, and it judges the CLI's own behaviour only as far as
//! linelamp relies on it (`harness`).
//!
//! Needs `npm` (the CLI is installed once into a cache folder, see [`install`]) and, for the
//! interactive cases, `tmux`. Where one is missing the cases say so and pass; with `CI` set in
//! the environment they fail instead, so that a build machine cannot lose them silently.
//!
//! Start reading at `one_shot`, the smallest cases; then [`sandbox`] and [`api`].
#![cfg(unix)]

mod answer;
mod api;
mod housekeeping;
mod http;
mod install;
mod lamp;
mod message;
mod piped;
mod sandbox;
mod tmux;
mod wait;

mod harness;
mod interactive;
mod one_shot;
mod permission;
mod recorded;
mod signals;
mod soon;
