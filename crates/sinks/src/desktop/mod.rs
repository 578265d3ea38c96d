//! Notifications on the desktop, for what somebody has to act on.
//!
//! A session that waits for a permission or an answer, that is done, or that failed shows one
//! notification. A newer one replaces it, and it goes away by itself once it is settled: no pile of
//! them after lunch. Texts name the agent, the folder, the state and the tool, never content, whatever
//! the sink is granted.
//!
//! Where nobody listens (no session bus, no notification service) the sink says so once in the log and
//! is off; every few minutes it tries one notification again, quietly.
//!
//! It does not play sounds, offer buttons, or answer anything: no sink can.
//!
//! Start reading at `desk.rs`: which event shows or closes what.

mod desk;
mod factory;
mod note;
mod screen;
mod sink;

#[cfg(not(all(unix, not(target_os = "macos"))))]
mod native;
#[cfg(all(unix, not(target_os = "macos")))]
mod xdg;

pub use self::factory::DesktopFactory;
