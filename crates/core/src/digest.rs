//! Keyed digests of tool input, to recognise the same call in two payloads without keeping it.
//!
//! A digest is stored with the evidence and never sent, shown or logged. The key is random and
//! lives in the state folder; whoever builds decoders reads it and passes it in.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// HMAC-SHA-256 of a value's canonical JSON, cut to 128 bits. Stored as hexadecimal text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct InputDigest([u8; 16]);

impl InputDigest {
    /// The digest itself, to compare and to derive keys from.
    pub(crate) fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl Serialize for InputDigest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:032x}", u128::from_be_bytes(self.0)))
    }
}

impl<'de> Deserialize<'de> for InputDigest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let number = u128::from_str_radix(&text, 16).map_err(serde::de::Error::custom)?;
        Ok(Self(number.to_be_bytes()))
    }
}

impl fmt::Debug for InputDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("InputDigest(…)")
    }
}

/// Makes [`InputDigest`]s with one key.
#[derive(Clone)]
pub struct Digester(Hmac<Sha256>);

impl fmt::Debug for Digester {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Digester(…)")
    }
}

impl Digester {
    /// Uses `key`, which should be 32 random bytes.
    ///
    /// # Panics
    ///
    /// Never: HMAC takes keys of any length.
    pub fn new(key: &[u8; 32]) -> Self {
        Self(Hmac::new_from_slice(key).expect("HMAC takes keys of any length"))
    }

    /// The digest of `value`. Object keys are in sorted order, so the writer's order is no matter.
    pub fn digest(&self, value: &serde_json::Value) -> InputDigest {
        let mut mac = self.0.clone();
        mac.update(value.to_string().as_bytes());
        let full = mac.finalize().into_bytes();
        let mut cut = [0; 16];
        cut.copy_from_slice(&full[..16]);
        InputDigest(cut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_stored_as_text_and_read_again() {
        let digest = Digester::new(&[7; 32]).digest(&serde_json::json!({ "a": 1 }));
        let text = serde_json::to_string(&digest).expect("json");
        assert_eq!(text.len(), 34);
        assert_eq!(serde_json::from_str::<InputDigest>(&text).expect("a digest"), digest);
    }

    #[test]
    fn the_order_of_keys_is_no_matter_and_the_key_is() {
        let one = serde_json::from_str(r#"{"a":1,"b":[2]}"#).expect("json");
        let two = serde_json::from_str(r#"{"b":[2],"a":1}"#).expect("json");
        let digester = Digester::new(&[7; 32]);
        assert_eq!(digester.digest(&one), digester.digest(&two));
        assert_ne!(digester.digest(&one), Digester::new(&[8; 32]).digest(&one));
    }
}
