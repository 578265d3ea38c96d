//! The ways raw signals reach linelamp: transports only.
//!
//! A feed moves bytes and remembers where it was; what the bytes mean is the business of a decoder,
//! which a driver makes and the binary passes in. Nothing here knows an agent, reads configuration or
//! decides a state. The two client sides, [`wrap`] and [`hook`], run inside somebody else's work: they
//! use no async runtime, print nothing, and whatever goes wrong in them the agent never notices.
//!
//! The daemon's side of both is [`ingest`]; [`follow`] reads what agents write for themselves, without anybody's
//! help, and [`liveness`] looks at its processes; [`replay`] plays recorded signals once more.
//!
//! Start at [`wrap::run`] (the stream), [`hook::run`] (one hook call) and [`spool`] (how both leave
//! something for a daemon that is not there).

pub mod follow;
pub mod hook;
pub mod ingest;
pub mod liveness;
pub mod process;
pub mod record;
pub mod replay;
pub mod socket;
pub mod spool;
pub mod wrap;
