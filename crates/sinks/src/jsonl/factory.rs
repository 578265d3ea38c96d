//! From options to a sink.

use std::path::PathBuf;

use linelamp_core::sink::{BuildError, Sink, SinkFactory};
use serde_json::Value;

use super::file::Rotated;
use super::sink::Jsonl;
use crate::option::{Key, Options, Shape, schema, wrong};

const KEYS: &[Key] = &[
    Key {
        name: "path",
        shape: Shape::Text,
        required: true,
        about: "the file, as an absolute path; its folder is made if need be",
    },
    Key {
        name: "max_bytes",
        shape: Shape::Whole(1_024, 1 << 40),
        required: false,
        about: "the file is rotated before it grows over this size (64 MiB)",
    },
    Key {
        name: "keep",
        shape: Shape::Whole(0, 1_000),
        required: false,
        about: "how many rotated files are kept beside it: path.1 is the newest (3)",
    },
    Key {
        name: "deltas",
        shape: Shape::Flag,
        required: false,
        about: "also write the pieces of messages as they stream (false)",
    },
];

/// Makes sinks of kind `jsonl`.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonlFactory;

impl SinkFactory for JsonlFactory {
    fn kind(&self) -> &'static str {
        "jsonl"
    }

    fn schema(&self) -> Option<Value> {
        Some(schema(KEYS))
    }

    fn build(&self, options: &Value) -> Result<Box<dyn Sink>, BuildError> {
        let options = Options::check(options, KEYS)?;
        let path = PathBuf::from(options.text("path").unwrap_or_default());
        if !path.is_absolute() {
            return Err(wrong("path", "must be absolute: the daemon has no folder of its own"));
        }
        let file = Rotated::new(
            path,
            options.whole("max_bytes").unwrap_or(64 << 20),
            options.whole("keep").unwrap_or(3),
        );
        Ok(Box::new(Jsonl::new(file, options.flag("deltas").unwrap_or(false))))
    }
}
