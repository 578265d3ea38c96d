//! One table of options: what it may hold, and reading it.

use std::time::Duration;

use linelamp_core::sink::BuildError;
use serde_json::{Map, Value, json};

use super::nearest::nearest;

/// One option a sink knows.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) required: bool,
    pub(crate) about: &'static str,
}

/// What an option's value looks like.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Text,
    /// A whole number within these bounds.
    Whole(u64, u64),
    /// A positive number of seconds up to this many, with or without a fraction.
    Seconds(f64),
    Flag,
    /// A list of some of these words.
    Words(&'static [&'static str]),
    /// Texts under names of the user's own.
    Texts,
}

impl Shape {
    fn problem(self, value: &Value) -> Option<String> {
        let fits = match self {
            Self::Text => value.is_string(),
            Self::Whole(least, most) => {
                value.as_u64().is_some_and(|number| (least..=most).contains(&number))
            }
            Self::Seconds(most) => {
                value.as_f64().is_some_and(|number| number > 0.0 && number <= most)
            }
            Self::Flag => value.is_boolean(),
            Self::Words(words) => return words_problem(words, value),
            Self::Texts => {
                value.as_object().is_some_and(|table| table.values().all(Value::is_string))
            }
        };
        (!fits).then(|| format!("must be {}", self.description()))
    }

    fn description(self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::Whole(least, most) => format!("a whole number from {least} to {most}"),
            Self::Seconds(most) => format!("a number of seconds, over 0 and up to {most}"),
            Self::Flag => "true or false".to_owned(),
            Self::Words(words) => format!("a list of these words: {}", words.join(", ")),
            Self::Texts => "a table of texts".to_owned(),
        }
    }

    fn schema(self) -> Value {
        match self {
            Self::Text => json!({ "type": "string" }),
            Self::Whole(least, most) => {
                json!({ "type": "integer", "minimum": least, "maximum": most })
            }
            Self::Seconds(most) => {
                json!({ "type": "number", "exclusiveMinimum": 0, "maximum": most })
            }
            Self::Flag => json!({ "type": "boolean" }),
            Self::Words(words) => json!({ "type": "array", "items": { "enum": words } }),
            Self::Texts => {
                json!({ "type": "object", "additionalProperties": { "type": "string" } })
            }
        }
    }
}

fn words_problem(words: &'static [&'static str], value: &Value) -> Option<String> {
    let list = Shape::Words(words).description();
    let Some(given) = value.as_array() else { return Some(format!("must be {list}")) };
    for word in given {
        let Some(word) = word.as_str() else { return Some(format!("must be {list}")) };
        if !words.contains(&word) {
            return Some(match nearest(word, words.iter().copied()) {
                Some(meant) => format!("`{word}` is none of its words, did you mean `{meant}`?"),
                None => format!("`{word}` is none of its words: {}", words.join(", ")),
            });
        }
    }
    None
}

/// A table that was checked: every key is known, every value of the right shape, nothing is missing.
#[derive(Debug)]
pub(crate) struct Options<'a>(Option<&'a Map<String, Value>>);

impl<'a> Options<'a> {
    /// Checks the table. No options at all are an empty table.
    pub(crate) fn check(value: &'a Value, keys: &[Key]) -> Result<Self, BuildError> {
        let table = match value {
            Value::Null => None,
            Value::Object(table) => Some(table),
            _ => return Err(wrong("", "options must be a table")),
        };
        for (name, value) in table.into_iter().flatten() {
            match keys.iter().find(|key| key.name == name) {
                Some(key) => {
                    if let Some(problem) = key.shape.problem(value) {
                        return Err(wrong(name, problem));
                    }
                }
                None => return Err(wrong(name, unknown(name, keys))),
            }
        }
        let given = |key: &Key| table.is_some_and(|table| table.contains_key(key.name));
        match keys.iter().find(|key| key.required && !given(key)) {
            Some(key) => Err(wrong(key.name, format!("is missing: {}", key.about))),
            None => Ok(Self(table)),
        }
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        self.0?.get(name)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        self.get(name)?.as_str()
    }

    pub(crate) fn whole(&self, name: &str) -> Option<u64> {
        self.get(name)?.as_u64()
    }

    pub(crate) fn seconds(&self, name: &str) -> Option<Duration> {
        Duration::try_from_secs_f64(self.get(name)?.as_f64()?).ok()
    }

    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        self.get(name)?.as_bool()
    }

    pub(crate) fn words(&self, name: &str) -> Option<Vec<&'a str>> {
        Some(self.get(name)?.as_array()?.iter().filter_map(Value::as_str).collect())
    }

    pub(crate) fn texts(&self, name: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let table = self.get(name).and_then(Value::as_object);
        table
            .into_iter()
            .flatten()
            .filter_map(|(name, value)| value.as_str().map(|value| (name.as_str(), value)))
    }
}

fn unknown(name: &str, keys: &[Key]) -> String {
    let known: Vec<_> = keys.iter().map(|key| key.name).collect();
    nearest(name, known.iter().copied()).map_or_else(
        || format!("there is no such option; there are: {}", known.join(", ")),
        |meant| format!("there is no such option, did you mean `{meant}`?"),
    )
}

/// An error about one option.
pub(crate) fn wrong(key: &str, problem: impl Into<String>) -> BuildError {
    BuildError::Option { key: key.to_owned(), problem: problem.into() }
}

/// The JSON Schema of a table of options.
pub(crate) fn schema(keys: &[Key]) -> Value {
    let properties: Map<String, Value> = keys
        .iter()
        .map(|key| {
            let mut schema = key.shape.schema();
            schema["description"] = key.about.into();
            (key.name.to_owned(), schema)
        })
        .collect();
    let required: Vec<_> = keys.iter().filter(|key| key.required).map(|key| key.name).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: &[Key] = &[
        Key { name: "path", shape: Shape::Text, required: true, about: "where to write" },
        Key { name: "keep", shape: Shape::Whole(0, 9), required: false, about: "how many" },
        Key { name: "timeout", shape: Shape::Seconds(60.0), required: false, about: "how long" },
        Key { name: "deltas", shape: Shape::Flag, required: false, about: "pieces" },
        Key {
            name: "on",
            shape: Shape::Words(&["done", "failed"]),
            required: false,
            about: "when",
        },
        Key { name: "headers", shape: Shape::Texts, required: false, about: "more headers" },
    ];

    #[test]
    fn a_wrong_option_is_named_with_what_would_be_right_and_without_its_value() {
        let cases = [
            (json!({ "pth": "/hunter2" }), "pth", "did you mean `path`?"),
            (json!({ "colour": "hunter2" }), "colour", "there are: path, keep"),
            (json!({}), "path", "is missing: where to write"),
            (json!(null), "path", "is missing"),
            (json!({ "path": ["hunter2"] }), "path", "must be a text"),
            (json!({ "path": "a", "keep": 10 }), "keep", "from 0 to 9"),
            (json!({ "path": "a", "keep": -1 }), "keep", "from 0 to 9"),
            (json!({ "path": "a", "timeout": 0 }), "timeout", "over 0 and up to 60"),
            (json!({ "path": "a", "deltas": "yes" }), "deltas", "true or false"),
            (json!({ "path": "a", "on": ["dne"] }), "on", "did you mean `done`?"),
            (json!({ "path": "a", "on": "done" }), "on", "must be a list"),
            (json!({ "path": "a", "headers": { "X": 1 } }), "headers", "a table of texts"),
            (json!("hunter2"), "", "must be a table"),
        ];
        for (options, key, says) in cases {
            let error = Options::check(&options, KEYS).expect_err("wrong").to_string();
            assert!(error.contains(&format!("`{key}`")), "{options}: {error}");
            assert!(error.contains(says), "{options}: {error}");
            assert!(!error.contains("hunter2"), "{options}: {error}");
        }
    }

    #[test]
    fn right_options_are_read_as_they_are_meant() {
        let value = json!({
            "path": "a", "keep": 2, "timeout": 1.5, "deltas": true, "on": ["done"],
            "headers": { "X": "y" }
        });
        let options = Options::check(&value, KEYS).expect("right");
        assert_eq!(options.text("path"), Some("a"));
        assert_eq!(options.whole("keep"), Some(2));
        assert_eq!(options.seconds("timeout"), Some(Duration::from_millis(1_500)));
        assert_eq!(options.flag("deltas"), Some(true));
        assert_eq!(options.words("on"), Some(vec!["done"]));
        assert_eq!(options.texts("headers").collect::<Vec<_>>(), [("X", "y")]);
        let least = json!({ "path": "a" });
        let options = Options::check(&least, KEYS).expect("right");
        assert_eq!(options.whole("keep"), None);
        assert_eq!(options.texts("headers").count(), 0);
    }

    #[test]
    fn the_schema_names_every_option() {
        let schema = schema(KEYS);
        assert_eq!(schema["required"], json!(["path"]));
        assert_eq!(schema["properties"].as_object().map(Map::len), Some(KEYS.len()));
        assert_eq!(schema["properties"]["keep"]["maximum"], 9);
    }
}
