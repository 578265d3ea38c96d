//! The configuration as it came to be: each value with the layer that decided it.
//!
//! Secrets are never printed: a reference (`env:NAME`, `file:PATH`) is shown, a value is not, and of a
//! URL only scheme and host are.

use config::{Map, Value, ValueKind};
use serde_json::Value as Json;

use super::keys::{PROJECT_FILTER, PROJECT_RULES};
use super::load::{Loaded, origin};
use super::model::to_json;

/// One value with its origin.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub(crate) struct Row {
    /// The key, with dots between tables.
    pub(crate) key: String,
    /// The value, without secrets.
    pub(crate) value: Json,
    /// Which layer decided it.
    pub(crate) layer: &'static str,
    /// The file and line, the variable or the flag.
    pub(crate) place: String,
    /// True if a secret stands there by itself where a reference should.
    #[serde(skip)]
    pub(crate) exposed: bool,
}

impl Loaded {
    /// Every value, ordered by key.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        self.collect(&mut Vec::new(), &self.merged, &mut rows);
        rows.sort_by(|left, right| left.key.cmp(&right.key));
        rows
    }

    fn collect(&self, path: &mut Vec<String>, members: &Map<String, Value>, rows: &mut Vec<Row>) {
        for (name, value) in members {
            path.push(name.clone());
            match &value.kind {
                ValueKind::Table(members) => self.collect(path, members, rows),
                _ => rows.push(self.row(path, value)),
            }
            path.pop();
        }
    }

    fn row(&self, path: &[String], value: &Value) -> Row {
        let keys: Vec<&str> = path.iter().map(String::as_str).collect();
        let (layer, place) = match origin(&self.layers, &keys) {
            Some((layer, node)) => (layer.kind.word(), layer.place(node)),
            None => ("default", "built in".to_owned()),
        };
        let shown: Vec<&str> = keys
            .iter()
            .map(|key| match *key {
                PROJECT_FILTER => "filter",
                PROJECT_RULES => "rules",
                other => other,
            })
            .collect();
        let mut exposed = false;
        let value = mask(is_secret(&keys), to_json(value), &mut exposed);
        Row { key: shown.join("."), value, layer, place, exposed }
    }
}

/// True for keys whose values are secrets. The names that the user chose do not count.
fn is_secret(path: &[&str]) -> bool {
    const WORDS: [&str; 8] = [
        "secret",
        "token",
        "password",
        "passphrase",
        "credential",
        "authorization",
        "cookie",
        "headers",
    ];
    let options = match path {
        ["daemon" | "rules", ..] => return false,
        [_, _, options @ ..] => options,
        _ => return false,
    };
    options.iter().any(|key| {
        let key = key.to_lowercase();
        WORDS.iter().any(|word| key.contains(word))
            || matches!(key.as_str(), "key" | "keys")
            || key.ends_with("_key")
            || key.ends_with("_keys")
    })
}

fn mask(secret: bool, value: Json, exposed: &mut bool) -> Json {
    match value {
        Json::String(text) if text.starts_with("env:") || text.starts_with("file:") => {
            Json::String(text)
        }
        Json::String(_) | Json::Number(_) if secret => {
            *exposed = true;
            Json::from("(hidden)")
        }
        Json::String(text) => Json::String(without_path(text)),
        Json::Array(items) => items.into_iter().map(|item| mask(secret, item, exposed)).collect(),
        Json::Object(members) => members
            .into_iter()
            .map(|(key, value)| {
                let secret = secret || is_secret(&["", "", &key]);
                (key, mask(secret, value, exposed))
            })
            .collect(),
        other => other,
    }
}

/// A URL with scheme and host only; other texts as they are. Chat services put their secrets into paths.
fn without_path(text: String) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    let host = host.rsplit('@').next().unwrap_or(host);
    let path = if path.is_empty() || path == "/" { path } else { "/…" };
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_url_only_scheme_and_host_are_shown() {
        for (url, shown) in [
            ("https://hooks.example.com/services/T0/B0/secret", "https://hooks.example.com/…"),
            ("https://user:secret@example.com:8080", "https://example.com:8080"),
            ("http://localhost/", "http://localhost/"),
            ("https://example.com?key=secret", "https://example.com/…"),
            ("no url", "no url"),
        ] {
            assert_eq!(without_path(url.to_owned()), shown);
        }
    }

    #[test]
    fn keys_of_secrets_are_known_and_names_of_sinks_are_not() {
        for key in ["secret", "signing_key", "api_token", "Authorization", "password", "key"] {
            assert!(is_secret(&["sinks", "x", key]), "{key}");
        }
        assert!(is_secret(&["sinks", "x", "headers", "X-Anything"]));
        for key in ["url", "timeout_seconds", "keyboard", "path"] {
            assert!(!is_secret(&["sinks", "secret-sink", key]), "{key}");
        }
    }
}
