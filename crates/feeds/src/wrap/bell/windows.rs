//! A flag under a lock.

use std::io;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::socket::Connection;

/// See the module's words.
#[derive(Debug, Default)]
pub(in super::super) struct Bell {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Bell {
    /// A silent bell.
    pub(in super::super) fn new() -> io::Result<Self> {
        Ok(Self::default())
    }

    /// Wakes whoever waits now or next.
    pub(in super::super) fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
    }

    /// Waits for a ring or `timeout`.
    pub(in super::super) fn wait(&self, timeout: Duration, _: Option<&Connection>, _: bool) {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(rung, timeout, |rung| !*rung);
        let (mut rung, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *rung = false;
    }
}
