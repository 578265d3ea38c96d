//! Secrets, which stand in the configuration as references only.

use std::fmt;
use std::sync::Arc;

use linelamp_core::sink::{BoxError, BuildError};

use super::table::wrong;

/// Turns a reference, `env:NAME` or `file:PATH`, into its value. Given by whoever may read the
/// environment and files; its errors name the reference, never a value.
pub type Resolve = Arc<dyn Fn(&str) -> Result<String, BoxError> + Send + Sync>;

/// A value that is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes the value, without the line end that a file has after it.
    pub fn new(value: &str) -> Self {
        Self(value.trim_end_matches(['\r', '\n']).to_owned())
    }

    /// The value itself.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Reads the secret that option `key` refers to.
    pub(crate) fn resolve(
        key: &str,
        reference: &str,
        resolve: &Resolve,
    ) -> Result<Self, BuildError> {
        if !is_reference(reference) {
            return Err(wrong(
                key,
                "a secret must not stand in the configuration: write `env:NAME` or `file:PATH`",
            ));
        }
        let value = resolve(reference).map_err(|error| wrong(key, error.to_string()))?;
        let secret = Self::new(&value);
        if secret.0.is_empty() {
            return Err(wrong(key, "the secret it refers to is empty"));
        }
        Ok(secret)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

/// True if the text refers to a value elsewhere.
pub(crate) fn is_reference(text: &str) -> bool {
    ["env:", "file:"].iter().any(|scheme| {
        text.strip_prefix(scheme).is_some_and(|name| !name.is_empty() && !name.starts_with("//"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolver(answer: &'static str) -> Resolve {
        Arc::new(move |reference| match reference {
            "env:GONE" => Err(format!("{reference} is not set").into()),
            _ => Ok(answer.to_owned()),
        })
    }

    #[test]
    fn a_secret_is_a_reference_and_never_shown() {
        let secret = Secret::resolve("secret", "file:/run/key", &resolver("abc\n")).expect("a key");
        assert_eq!(secret.reveal(), "abc");
        assert_eq!(format!("{secret:?}"), "Secret(…)");
        for (reference, answer, says) in [
            ("hunter2", "abc", "`env:NAME`"),
            ("env:", "abc", "`env:NAME`"),
            ("env:GONE", "abc", "env:GONE is not set"),
            ("env:EMPTY", "\n", "is empty"),
        ] {
            let error = Secret::resolve("secret", reference, &resolver(answer)).expect_err("wrong");
            let text = error.to_string();
            assert!(text.contains(says), "{text}");
            assert!(!text.contains("hunter2"), "{text}");
        }
    }
}
