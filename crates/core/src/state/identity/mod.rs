//! One thing that happened is one event, whichever feeds see it.
//!
//! Each part knows one kind of thing: it finds what a draft is about, publishes the first sighting, and
//! answers later ones with the number of the first. What the evidence means for the state is not decided
//! here.

pub(crate) mod facts;
pub(crate) mod held;
mod message;
mod occasion;
mod recognise;
pub(crate) mod request;
mod session;
mod subagent;
mod task;
mod tool;
mod turn;
