//! From options to a sink.

use linelamp_core::sink::{BuildError, Sink, SinkFactory};
use serde_json::Value;

use super::desk::Desk;
#[cfg(not(all(unix, not(target_os = "macos"))))]
use super::native::Desktop;
use super::note::Topic;
use super::sink::Notifier;
#[cfg(all(unix, not(target_os = "macos")))]
use super::xdg::Desktop;
use crate::option::{Key, Options, Shape, schema};

const KEYS: &[Key] = &[Key {
    name: "on",
    shape: Shape::Words(Topic::WORDS),
    required: false,
    about: "what is shown; all of it by default",
}];

/// Makes sinks of kind `desktop`.
#[derive(Clone, Copy, Debug, Default)]
pub struct DesktopFactory;

impl SinkFactory for DesktopFactory {
    fn kind(&self) -> &'static str {
        "desktop"
    }

    fn schema(&self) -> Option<Value> {
        Some(schema(KEYS))
    }

    fn build(&self, options: &Value) -> Result<Box<dyn Sink>, BuildError> {
        let words = Options::check(options, KEYS)?.words("on");
        let words = words.unwrap_or_else(|| Topic::WORDS.to_vec());
        let topics = words.into_iter().filter_map(Topic::from_word);
        // Whether there is a desktop shows with the first notification: a daemon may start before one.
        Ok(Box::new(Notifier::new(Desk::new(topics), Box::new(Desktop::default()))))
    }
}
