//! The clients as whole processes: what the agent, its host and the daemon see.
#![cfg(unix)]

mod daemon;
mod hook_client;
mod ingest_hostile;
mod ingest_spool;
mod ingest_support;
mod ingest_wrapper;
mod liveness;
mod replay;
mod replay_record;
mod support;
mod unix;
mod wrap_bytes;
mod wrap_end;
mod wrap_report;
mod wrap_signal;
