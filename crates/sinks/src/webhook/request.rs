//! One event, one request, and what its answer means.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use linelamp_core::Event;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url};

use super::sign::Signer;

pub(super) const DELIVERY: HeaderName = HeaderName::from_static("linelamp-delivery");
pub(super) const TIMESTAMP: HeaderName = HeaderName::from_static("linelamp-timestamp");
pub(super) const SIGNATURE: HeaderName = HeaderName::from_static("linelamp-signature");

/// Headers that no option may set.
pub(super) const OUR_HEADERS: &[&str] = &[
    "linelamp-delivery",
    "linelamp-timestamp",
    "linelamp-signature",
    "content-type",
    "content-length",
    "transfer-encoding",
    "host",
    "connection",
];

/// The longest wait that an answer may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(60 * 60);

/// How much of an answer is read, only so that its connection can be used again.
const ANSWER_BYTES: usize = 64 << 10;

/// Where requests go. Shows as scheme and host: path, query and user may be secrets.
#[derive(Clone)]
pub(super) struct Address(Url);

impl Address {
    pub(super) fn new(url: Url) -> Self {
        Self(url)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}://{}", self.0.scheme(), self.0.host_str().unwrap_or_default())?;
        match self.0.port() {
            Some(port) => write!(formatter, ":{port}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// What became of one request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Delivered,
    Later { after: Option<Duration>, why: String },
    Never { why: String },
}

/// Makes and sends requests.
pub(super) struct Requests {
    client: Client,
    address: Address,
    headers: HeaderMap,
    signer: Signer,
}

impl Requests {
    pub(super) fn new(
        client: Client,
        address: Address,
        headers: HeaderMap,
        signer: Signer,
    ) -> Self {
        Self { client, address, headers, signer }
    }

    /// Sends the event once.
    pub(super) async fn send(&self, event: &Event, now: Timestamp) -> Answer {
        // The bytes are a function of the event alone, and an event never changes.
        let body = event.to_json().into_bytes();
        let timestamp = now.as_second();
        let mut request = self
            .client
            .post(self.address.0.clone())
            .headers(self.headers.clone())
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(DELIVERY, event.id.to_string())
            .header(TIMESTAMP, timestamp);
        if let Some(signature) = self.signer.sign(timestamp, &body) {
            request = request.header(SIGNATURE, signature);
        }
        match request.body(body).send().await {
            Ok(response) => {
                let answer = self.judge(response.status(), response.headers(), now);
                drain(response).await;
                answer
            }
            Err(error) => {
                Answer::Later { after: None, why: format!("{}: {}", self.address, chain(error)) }
            }
        }
    }

    fn judge(&self, status: StatusCode, headers: &HeaderMap, now: Timestamp) -> Answer {
        if status.is_success() {
            return Answer::Delivered;
        }
        let why = format!("{} answered {}", self.address, status.as_u16());
        match status.as_u16() {
            408 | 425 | 429 | 500..=599 => {
                let after = headers.get(RETRY_AFTER).and_then(|value| wait(value, now));
                Answer::Later { after, why }
            }
            300..=399 => Answer::Never { why: format!("{why}, and redirects are not followed") },
            _ => Answer::Never { why },
        }
    }
}

impl fmt::Debug for Requests {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Requests({})", self.address)
    }
}

/// The error with its causes, without the address that it may repeat.
fn chain(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = if error.is_timeout() { "timed out".to_owned() } else { error.to_string() };
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// `Retry-After`: seconds, or a date.
fn wait(value: &HeaderValue, now: Timestamp) -> Option<Duration> {
    let text = value.to_str().ok()?.trim();
    let wait = if let Ok(seconds) = text.parse() {
        Duration::from_secs(seconds)
    } else {
        let then = DateTimeParser::new().parse_timestamp(text).ok()?;
        Duration::try_from(then.duration_since(now)).unwrap_or_default()
    };
    Some(wait.min(LONGEST_WAIT))
}

/// Reads what is left of a short answer: a connection with unread bytes cannot be used again. What
/// the answer says is not looked at.
async fn drain(mut response: Response) {
    let mut read = 0;
    while let Ok(Some(chunk)) = response.chunk().await {
        read += chunk.len();
        if read > ANSWER_BYTES {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        Address::new(Url::parse(text).expect("an address"))
    }

    #[test]
    fn an_address_shows_as_scheme_and_host() {
        let secret =
            address("https://user:hunter2@hooks.example.com:8443/T0/hunter2?key=hunter2#x");
        assert_eq!(secret.to_string(), "https://hooks.example.com:8443");
        assert_eq!(format!("{secret:?}"), "https://hooks.example.com:8443");
        assert_eq!(address("http://[::1]/x").to_string(), "http://[::1]");
    }

    #[test]
    fn an_answer_asks_to_wait_in_seconds_or_until_a_date_and_not_for_ever() {
        let now: Timestamp = "2026-11-30T10:00:00Z".parse().expect("a time");
        let wait = |text: &'static str| super::wait(&HeaderValue::from_static(text), now);
        assert_eq!(wait("7"), Some(Duration::from_secs(7)));
        assert_eq!(wait("Mon, 30 Nov 2026 10:00:42 GMT"), Some(Duration::from_secs(42)));
        assert_eq!(wait("Mon, 30 Nov 2026 09:00:00 GMT"), Some(Duration::ZERO));
        assert_eq!(wait("999999999"), Some(LONGEST_WAIT));
        assert_eq!(wait("Mon, 30 Nov 2037 09:00:00 GMT"), Some(LONGEST_WAIT));
        assert_eq!(wait("soon"), None);
        assert_eq!(wait("-3"), None);
    }
}
