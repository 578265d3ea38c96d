//! Keyed digests of tool input, to recognise the same call in two payloads without keeping it.
//!
//! A digest is stored with the evidence and never sent, shown or logged. The key is random and
//! lives in the state folder; whoever builds decoders reads it and passes it in.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// HMAC-SHA-256 of a value's canonical JSON, cut to 128 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InputDigest([u8; 16]);

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
    fn the_order_of_keys_is_no_matter_and_the_key_is() {
        let one = serde_json::from_str(r#"{"a":1,"b":[2]}"#).expect("json");
        let two = serde_json::from_str(r#"{"b":[2],"a":1}"#).expect("json");
        let digester = Digester::new(&[7; 32]);
        assert_eq!(digester.digest(&one), digester.digest(&two));
        assert_ne!(digester.digest(&one), Digester::new(&[8; 32]).digest(&one));
    }
}
