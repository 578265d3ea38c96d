//! The ways events leave linelamp, and the place where they are kept.
//!
//! - [`store`]: one `SQLite` file with sessions, history, source positions and the queues of durable
//!   sinks. It is no sink: it implements core's [`Journal`](linelamp_core::journal::Journal) and
//!   [`Outbox`](linelamp_core::sink::Outbox).
//! - [`jsonl`]: lines of JSON in a rotated file.
//! - [`webhook`]: signed HTTP requests.
//! - [`desktop`]: notifications, for what somebody has to act on.
//!
//! Sinks neither buffer, retry nor filter: the lane that drives them does. Nothing here reads the
//! environment or a configuration file; what a sink may know is in its options, and secrets come
//! through a function that the host passes in. Each heavy sink is behind a cargo feature of its own.
//!
//! ```
//! use linelamp_core::sink::SinkFactory as _;
//! use linelamp_sinks::jsonl::JsonlFactory;
//!
//! let options = serde_json::json!({ "pth": "/var/log/events.jsonl" });
//! let error = JsonlFactory.build(&options).err().expect("a slip of the pen is refused");
//! assert!(error.to_string().contains("did you mean `path`?"));
//! ```

pub mod jsonl;
pub mod option;
mod private;

#[cfg(feature = "desktop")]
pub mod desktop;
#[cfg(feature = "store")]
pub mod store;
#[cfg(feature = "webhook")]
pub mod webhook;
