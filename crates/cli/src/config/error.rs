//! What is wrong with a configuration, told so that it can be put right.

use std::fmt;

use crate::exit::{Failure, USAGE};

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Where it stands: a file and line, a variable, a flag.
    pub(crate) place: String,
    /// The key, with dots between tables; empty where there is none.
    pub(crate) key: String,
    /// What is wrong with it.
    pub(crate) message: String,
    /// What would be right.
    pub(crate) hint: Option<String>,
}

impl Problem {
    pub(super) fn new(
        place: impl Into<String>,
        key: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self { place: place.into(), key: key.into(), message: message.into(), hint: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: ", self.place)?;
        if !self.key.is_empty() {
            write!(formatter, "`{}` ", self.key)?;
        }
        formatter.write_str(&self.message)
    }
}

/// Everything that is wrong with a configuration; at least one problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfigError {
    problems: Vec<Problem>,
}

impl ConfigError {
    /// `Ok` if there are none.
    pub(super) fn unless_empty(problems: Vec<Problem>) -> Result<(), Self> {
        if problems.is_empty() { Ok(()) } else { Err(Self { problems }) }
    }

    /// What is wrong, in the order of the layers.
    #[cfg(test)]
    pub(super) fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

/// A line for each problem, with its hint.
impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                formatter.write_str("\n")?;
            }
            write!(formatter, "{problem}")?;
            if let Some(hint) = &problem.hint {
                write!(formatter, "; {hint}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

impl From<ConfigError> for Failure {
    /// With one problem its hint is the failure's hint; with several each line ends with its own.
    fn from(error: ConfigError) -> Self {
        match error.problems.as_slice() {
            [Problem { hint: Some(hint), .. }] => {
                Self::new(USAGE, error.problems[0].to_string()).hint(hint.clone())
            }
            _ => Self::new(USAGE, error.to_string()),
        }
    }
}
