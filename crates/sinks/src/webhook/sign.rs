//! The signature: what proves to the receiver that a request is ours and fresh.

use std::fmt::{self, Write as _};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::option::Secret;

/// Signs requests with one secret, or with two while the old one is being replaced.
#[derive(Clone)]
pub struct Signer(Vec<Hmac<Sha256>>);

impl Signer {
    /// Uses these secrets, the newest first.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        Self(secrets.into_iter().map(|secret| keyed(secret.reveal())).collect())
    }

    /// The value of `Linelamp-Signature`; none without a secret.
    pub fn sign(&self, timestamp: i64, body: &[u8]) -> Option<String> {
        let signatures: Vec<_> = self
            .0
            .iter()
            .map(|key| {
                let code = code(key.clone(), timestamp, body).finalize().into_bytes();
                code.iter().fold("v1=".to_owned(), |mut text, byte| {
                    write!(text, "{byte:02x}").expect("a string takes text");
                    text
                })
            })
            .collect();
        (!signatures.is_empty()).then(|| signatures.join(","))
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Signer({} secrets)", self.0.len())
    }
}

/// What a receiver does: true if one of the signatures in `header` was made with `secret`. Takes the
/// same time whether it fits or not. The receiver should also refuse timestamps that are minutes old.
pub fn verify(secret: &Secret, timestamp: i64, body: &[u8], header: &str) -> bool {
    header.split(',').filter_map(|one| one.trim().strip_prefix("v1=")).any(|hex| {
        unhex(hex).is_some_and(|given| {
            code(keyed(secret.reveal()), timestamp, body).verify_slice(&given).is_ok()
        })
    })
}

fn keyed(secret: &str) -> Hmac<Sha256> {
    Hmac::new_from_slice(secret.as_bytes()).expect("HMAC takes keys of any length")
}

fn code(mut key: Hmac<Sha256>, timestamp: i64, body: &[u8]) -> Hmac<Sha256> {
    key.update(timestamp.to_string().as_bytes());
    key.update(b".");
    key.update(body);
    key
}

fn unhex(hex: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> =
        hex.chars().map(|digit| digit.to_digit(16)?.try_into().ok()).collect::<Option<_>>()?;
    digits
        .len()
        .is_multiple_of(2)
        .then(|| digits.chunks(2).map(|two| two[0] << 4 | two[1]).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_signature_is_the_documented_one() {
        // Reference value: printf '1796000000.{"v":1}' | openssl dgst -sha256 -hmac 'whisper'
        let signer = Signer::new([&Secret::new("whisper")]);
        assert_eq!(
            signer.sign(1_796_000_000, br#"{"v":1}"#).as_deref(),
            Some("v1=0d4c88fd57d0c4f183358026a348c096323febaaeb5fa0dd54f80a7c45e37dca")
        );
        assert_eq!(Signer::new([]).sign(0, b""), None);
    }

    #[test]
    fn while_a_secret_is_replaced_both_receivers_are_satisfied() {
        let (old, new) = (Secret::new("old"), Secret::new("new"));
        let header = Signer::new([&new, &old]).sign(7, b"body").expect("signed");
        assert!(verify(&old, 7, b"body", &header));
        assert!(verify(&new, 7, b"body", &header));
        assert!(!verify(&Secret::new("other"), 7, b"body", &header));
    }

    proptest! {
        #[test]
        fn a_signature_fits_its_own_request_and_no_other(
            body in proptest::collection::vec(any::<u8>(), 0..200),
            timestamp in 0..i64::MAX,
            flip in any::<prop::sample::Index>(),
        ) {
            let secret = Secret::new("whisper");
            let header = Signer::new([&secret]).sign(timestamp, &body).expect("signed");
            prop_assert!(verify(&secret, timestamp, &body, &header));
            prop_assert!(!verify(&secret, timestamp ^ 1, &body, &header));
            let mut changed = body.clone();
            match changed.len() {
                0 => changed.push(0),
                length => changed[flip.index(length)] ^= 1,
            }
            prop_assert!(!verify(&secret, timestamp, &changed, &header));
        }

        #[test]
        fn no_header_makes_a_receiver_fail(header in ".{0,80}") {
            prop_assert!(!verify(&Secret::new("whisper"), 7, b"body", &header));
        }
    }
}
