//! Events as signed HTTP requests.
//!
//! Each event is one `POST` with the event's JSON as its body, the same bytes however often it is
//! repeated. Three headers let the receiver trust it and know a repeat:
//!
//! - `Linelamp-Delivery`: the event's id, the same at every repeat;
//! - `Linelamp-Timestamp`: seconds since 1970 when this request was made;
//! - `Linelamp-Signature`: `v1=` and the hex HMAC-SHA256, with the shared secret, of the timestamp, a
//!   dot, and the body. While a secret is being replaced there are two, with a comma between.
//!
//! A 2xx answer means delivered. 408, 425, 429, 5xx and whatever fails on the way mean later, not
//! before the answer's `Retry-After`; every other answer means never, a redirect too, which is not
//! followed. No proxy is used unless the options name one. An address shows as scheme and host only,
//! since the rest of it may be a secret.
//!
//! The sink does not queue and does not wait between attempts: its lane does.

mod config;
mod request;
mod sign;
mod sink;

pub use self::config::WebhookFactory;
pub use self::sign::{Signer, verify};
