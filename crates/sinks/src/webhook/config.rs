//! From options to a sink.

use std::fmt;
use std::time::Duration;

use linelamp_core::sink::{BuildError, Sink, SinkFactory};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Proxy, Url, redirect};
use serde_json::Value;

use super::request::{Address, OUR_HEADERS, Requests};
use super::sign::Signer;
use super::sink::Webhook;
use crate::option::{Key, Options, Resolve, Secret, Shape, is_reference, schema, wrong};

const KEYS: &[Key] = &[
    Key {
        name: "url",
        shape: Shape::Text,
        required: true,
        about: "where to post; `env:NAME` or `file:PATH` if the address itself is a secret",
    },
    Key {
        name: "secret",
        shape: Shape::Text,
        required: false,
        about: "the shared secret that signs, as `env:NAME` or `file:PATH`",
    },
    Key {
        name: "old_secret",
        shape: Shape::Text,
        required: false,
        about: "the secret before it, while receivers change over: both signatures are sent",
    },
    Key {
        name: "headers",
        shape: Shape::Texts,
        required: false,
        about: "more headers; a value `env:NAME` or `file:PATH` is a secret",
    },
    Key {
        name: "timeout_seconds",
        shape: Shape::Seconds(300.0),
        required: false,
        about: "how long one request may take in all (10)",
    },
    Key {
        name: "proxy",
        shape: Shape::Text,
        required: false,
        about: "a proxy's address; may be a reference. Without it none is used",
    },
    Key {
        name: "deltas",
        shape: Shape::Flag,
        required: false,
        about: "also post the pieces of messages as they stream (false)",
    },
];

const TIMEOUT: Duration = Duration::from_secs(10);

/// Makes sinks of kind `webhook`.
#[derive(Clone)]
pub struct WebhookFactory {
    resolve: Resolve,
}

impl WebhookFactory {
    /// `resolve` reads what `env:` and `file:` references refer to.
    pub fn new(resolve: Resolve) -> Self {
        Self { resolve }
    }

    /// The value of an option that may be a secret: itself, or what it refers to.
    fn value(&self, key: &str, text: &str) -> Result<Secret, BuildError> {
        if is_reference(text) {
            Secret::resolve(key, text, &self.resolve)
        } else {
            Ok(Secret::new(text))
        }
    }

    fn address(&self, key: &str, text: &str) -> Result<Url, BuildError> {
        let value = self.value(key, text)?;
        // The parser's own error could repeat the address.
        let url = Url::parse(value.reveal()).map_err(|_| wrong(key, "is not an address"))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(wrong(key, "must begin with `https://` or `http://` and name a host"));
        }
        Ok(url)
    }

    fn signer(&self, options: &Options<'_>) -> Result<Signer, BuildError> {
        let secrets: Vec<Secret> = ["secret", "old_secret"]
            .into_iter()
            .filter_map(|key| Some((key, options.text(key)?)))
            .map(|(key, reference)| Secret::resolve(key, reference, &self.resolve))
            .collect::<Result<_, _>>()?;
        if options.text("secret").is_none() && !secrets.is_empty() {
            return Err(wrong("old_secret", "there is no `secret` that replaces it"));
        }
        Ok(Signer::new(&secrets))
    }

    fn headers(&self, options: &Options<'_>) -> Result<HeaderMap, BuildError> {
        let mut headers = HeaderMap::new();
        for (name, text) in options.texts("headers") {
            let key = format!("headers.{name}");
            let parsed = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| wrong(&key, "is not the name of a header"))?;
            if OUR_HEADERS.contains(&parsed.as_str()) {
                return Err(wrong(&key, "is set by the sink itself"));
            }
            let value = self.value(&key, text)?;
            let mut value = HeaderValue::from_str(value.reveal())
                .map_err(|_| wrong(&key, "has characters that no header may have"))?;
            value.set_sensitive(true);
            headers.insert(parsed, value);
        }
        Ok(headers)
    }
}

impl fmt::Debug for WebhookFactory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WebhookFactory")
    }
}

impl SinkFactory for WebhookFactory {
    fn kind(&self) -> &'static str {
        "webhook"
    }

    fn schema(&self) -> Option<Value> {
        Some(schema(KEYS))
    }

    fn build(&self, options: &Value) -> Result<Box<dyn Sink>, BuildError> {
        let options = Options::check(options, KEYS)?;
        let url = self.address("url", options.text("url").unwrap_or_default())?;
        let proxy = options.text("proxy").map(|text| self.address("proxy", text)).transpose()?;
        let timeout = options.seconds("timeout_seconds").unwrap_or(TIMEOUT);
        let signer = self.signer(&options)?;
        let headers = self.headers(&options)?;
        let client = client(&url, proxy, timeout).map_err(|error| {
            BuildError::Unavailable(format!("no HTTP client: {}", error.without_url()).into())
        })?;
        let requests = Requests::new(client, Address::new(url), headers, signer);
        Ok(Box::new(Webhook::new(requests, timeout, options.flag("deltas").unwrap_or(false))))
    }
}

fn client(url: &Url, proxy: Option<Url>, timeout: Duration) -> Result<Client, reqwest::Error> {
    // The process may have chosen a provider already; then that one counts.
    let _chosen = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(concat!("linelamp/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .timeout(timeout)
        .connect_timeout(timeout)
        .pool_max_idle_per_host(1);
    let plain = |url: &Url| url.scheme() == "http";
    if plain(url) && proxy.as_ref().is_none_or(plain) {
        // No certificates are needed, so a machine that has none is no reason to fail.
        builder = builder.tls_certs_only([]);
    }
    if let Some(proxy) = proxy {
        builder = builder.proxy(Proxy::all(proxy)?);
    }
    builder.build()
}
