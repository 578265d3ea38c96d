//! The whole program, as its users meet it: real daemon, real hook client, real wrapper.

mod architecture;
mod commands;
mod daemon;
mod docs;
mod durability;
mod explain;
mod follow;
mod hooks;
mod liveness;
mod receiver;
mod recordings;
mod sandbox;
mod wrap;
mod wrapper;
