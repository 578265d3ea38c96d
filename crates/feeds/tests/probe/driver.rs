//! A driver of no agent: enough to see what reaches a decoder.

use std::time::Duration;

use linelamp_core::driver::{
    Decoded, Decoder, DecoderOptions, Direction, Driver, Keep, Raw, Reading, Source,
};
use linelamp_core::event::Native;
use linelamp_core::{AgentName, Draft, SessionKey, Timestamp};
use linelamp_feeds::wrap::Chooser;
use serde_json::json;

/// Detail begins like this; everything else may carry state.
const DETAIL: &[u8] = b"{\"delta\"";

#[derive(Debug, Default)]
pub(crate) struct TestDriver {
    /// Decoding a line takes a while.
    pub(crate) slow: bool,
}

impl Driver for TestDriver {
    fn agent(&self) -> AgentName {
        "test".into()
    }

    fn is_program(&self, name: &str) -> bool {
        name == "test"
    }

    fn decoder(&self, _: Source, options: DecoderOptions) -> Option<Box<dyn Decoder>> {
        Some(Box::new(TestDecoder { slow: self.slow, reading: options.reading }))
    }

    fn keep(&self, _: Direction, line: &[u8]) -> Keep {
        assert!(!line.starts_with(b"fatal"), "as the line asked for");
        if line.starts_with(DETAIL) { Keep::May } else { Keep::Must }
    }
}

/// Knows the agent by a line that says so.
pub(crate) fn chooser() -> Chooser {
    Box::new(|_, line| {
        let known = line.starts_with(b"{\"hello\"");
        known.then(|| std::sync::Arc::new(TestDriver::default()) as _)
    })
}

#[derive(Debug)]
struct TestDecoder {
    slow: bool,
    reading: Reading,
}

impl Decoder for TestDecoder {
    fn push(&mut self, raw: Raw<'_>, at: Timestamp, out: &mut Vec<Draft>) -> Decoded {
        let payload = match raw {
            Raw::Line { bytes: b"panic", .. } => panic!("asked to"),
            Raw::Line { bytes: b"hang", .. } => loop {
                std::thread::park();
            },
            Raw::Line { bytes, .. }
                if bytes.starts_with(DETAIL) && self.reading == Reading::State =>
            {
                return Decoded::Understood;
            }
            Raw::Line { bytes, direction } => {
                if self.slow {
                    std::thread::sleep(Duration::from_micros(20));
                }
                json!({ "line": String::from_utf8_lossy(bytes), "direction": direction })
            }
            Raw::Gap { lines, too_long } => json!({ "gap": lines, "too_long": too_long }),
            Raw::Exit(exit) => json!({ "exit": exit }),
            _ => return Decoded::Ignored,
        };
        let native = Native { source: "test".into(), name: payload.to_string(), payload: None };
        out.push(Draft::new(SessionKey::new("test", "one"), at, native));
        Decoded::Understood
    }
}
