//! How a wrapped run ended, and ending ourselves in the same way.

use std::io;

use linelamp_core::process::ProcessExit;

/// How the wrapped program ended.
#[derive(Debug)]
pub enum WrapEnd {
    /// It exited with this code.
    Exited(i32),
    /// This signal ended it.
    Signalled(i32),
    /// It could not be started. The caller says so in one sentence.
    NotStarted(io::Error),
}

impl WrapEnd {
    /// The exit code a shell would report: 126 and 127 for a program that is not runnable or not there.
    pub fn code(&self) -> i32 {
        match self {
            Self::Exited(code) => *code,
            Self::Signalled(signal) => 128 + signal,
            Self::NotStarted(error) if error.kind() == io::ErrorKind::NotFound => 127,
            Self::NotStarted(_) => 126,
        }
    }

    /// Ends this process as the wrapped one ended: the same code, or the same signal.
    pub fn leave(self) -> ! {
        #[cfg(unix)]
        if let Self::Signalled(signal) = self {
            super::signal::die_of(signal);
        }
        std::process::exit(self.code())
    }

    /// The same as the decoder is told it; none if there was no process.
    pub(super) fn process_exit(&self) -> Option<ProcessExit> {
        match self {
            Self::Exited(code) => Some(ProcessExit { code: Some(*code), signal: None }),
            Self::Signalled(signal) => Some(ProcessExit { code: None, signal: Some(*signal) }),
            Self::NotStarted(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_a_shell() {
        let not_started = |kind: io::ErrorKind| WrapEnd::NotStarted(kind.into()).code();
        assert_eq!(not_started(io::ErrorKind::NotFound), 127);
        assert_eq!(not_started(io::ErrorKind::PermissionDenied), 126);
        assert_eq!(WrapEnd::Exited(7).code(), 7);
        assert_eq!(WrapEnd::Signalled(9).code(), 137);
    }
}
