//! One JSON value as its bytes, decoded when asked.

use std::borrow::Cow;

use serde_json::Value;

use super::fields::fields;
use super::repair;
use super::scan::{skip_space, skip_value};

/// The bytes of one value, without surrounding space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raw<'a>(&'a [u8]);

impl<'a> Raw<'a> {
    /// A value given as its bytes, which must be exactly one value.
    pub fn whole(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The bytes as they stand in the line.
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// Whether this is `null`.
    pub fn is_null(self) -> bool {
        self.0 == b"null"
    }

    /// Whether this is a string equal to `text`, without decoding it. `text` must need no escape.
    pub fn is(self, text: &str) -> bool {
        self.quoted() == Some(text.as_bytes())
    }

    /// The bytes between the quotes, if this is a string; escapes are not resolved.
    pub fn quoted(self) -> Option<&'a [u8]> {
        self.0.strip_prefix(b"\"")?.strip_suffix(b"\"")
    }

    /// The string, if this is one. What is no text becomes U+FFFD.
    pub fn str(self) -> Option<Cow<'a, str>> {
        self.quoted().map(repair::string)
    }

    /// The string, if this is one that is not blank: a blank id is no id.
    pub fn id(self) -> Option<Cow<'a, str>> {
        self.str().filter(|text| !text.trim().is_empty())
    }

    /// The truth value, if this is one.
    pub fn bool(self) -> Option<bool> {
        match self.0 {
            b"true" => Some(true),
            b"false" => Some(false),
            _ => None,
        }
    }

    /// The whole number, if this is one that is not negative. A fraction is cut off.
    pub fn u64(self) -> Option<u64> {
        let text = std::str::from_utf8(self.0).ok()?;
        text.parse().ok().or_else(|| {
            let number: f64 = self.f64()?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked to lie in range"
            )]
            (0.0..1.8e19).contains(&number).then_some(number as u64)
        })
    }

    /// The number, if this is one.
    pub fn f64(self) -> Option<f64> {
        if !matches!(self.0.first()?, b'-' | b'0'..=b'9') {
            return None;
        }
        std::str::from_utf8(self.0).ok()?.parse().ok().filter(|n: &f64| n.is_finite())
    }

    /// The whole tree. What serde cannot take (nesting beyond its limit) is kept as text.
    pub fn value(self) -> Value {
        repair::value(self.0)
    }

    /// The values of `keys`, if this is an object.
    pub fn fields<const N: usize>(self, keys: &[&str; N]) -> Option<[Option<Raw<'a>>; N]> {
        fields(self.0, keys).map(|walked| walked.values)
    }

    /// One member, if this is an object that has it.
    pub fn get(self, key: &str) -> Option<Raw<'a>> {
        let [value] = self.fields(&[key])?;
        value
    }

    /// Whether this is an object.
    pub fn is_object(self) -> bool {
        self.0.first() == Some(&b'{')
    }

    /// Whether this is an array.
    pub fn is_array(self) -> bool {
        self.0.first() == Some(&b'[')
    }

    /// The elements, if this is an array; none otherwise. Stops at the first broken one.
    pub fn elements(self) -> Elements<'a> {
        let at = if self.is_array() { 1 } else { self.0.len() };
        Elements { bytes: self.0, at }
    }
}

/// Iterates over the elements of an array; made by [`Raw::elements`].
#[derive(Debug, Clone)]
pub struct Elements<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Raw<'a>;

    fn next(&mut self) -> Option<Raw<'a>> {
        let start = skip_space(self.bytes, self.at);
        let Some(end) = skip_value(self.bytes, start) else {
            self.at = self.bytes.len();
            return None;
        };
        let after = skip_space(self.bytes, end);
        self.at = match self.bytes.get(after) {
            Some(b',') => after + 1,
            _ => self.bytes.len(),
        };
        self.bytes.get(start..end).map(Raw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Raw<'_> {
        Raw::whole(text.as_bytes())
    }

    #[test]
    fn scalars_are_read_by_their_own_type_only() {
        assert_eq!(raw("true").bool(), Some(true));
        assert_eq!(raw("\"true\"").bool(), None);
        assert_eq!(raw("17").u64(), Some(17));
        assert_eq!(raw("17.9").u64(), Some(17));
        assert_eq!(raw("-1").u64(), None);
        assert_eq!(raw("\"17\"").u64(), None);
        assert_eq!(raw("1e3").f64(), Some(1000.0));
        assert_eq!(raw("null").str(), None);
        assert_eq!(raw("\"  \"").id(), None);
    }

    #[test]
    fn elements_are_those_of_the_array() {
        let all: Vec<_> = raw(r#"[1, "a,b" ,{"c":[2]},null]"#).elements().map(Raw::value).collect();
        assert_eq!(Value::Array(all), serde_json::json!([1, "a,b", {"c": [2]}, null]));
        assert_eq!(raw("[]").elements().count(), 0);
        assert_eq!(raw("{}").elements().count(), 0);
        assert_eq!(raw("[1,").elements().count(), 1);
    }

    #[test]
    fn a_lone_surrogate_becomes_the_replacement_character() {
        assert_eq!(raw(r#""a\ud83d b""#).str().as_deref(), Some("a\u{fffd} b"));
        assert_eq!(raw(r#""\ud83d\ude00""#).str().as_deref(), Some("😀"));
        assert_eq!(raw(r#"{"k":"\udc00"}"#).value(), serde_json::json!({"k": "\u{fffd}"}));
    }

    #[test]
    fn nesting_without_end_is_kept_as_text() {
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        assert_eq!(raw(&deep).value(), Value::String(deep.clone()));
    }
}
