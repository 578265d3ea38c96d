//! Decoding hook payloads, with whatever decoders do contained.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use linelamp_core::digest::Digester;
use linelamp_core::driver::{Decoded, Decoder, DecoderOptions, Driver, Raw, Reading, Source};
use linelamp_core::{AgentName, Draft, Timestamp};

use super::content::HookFile;

/// A hook decoder for each agent, made when its first payload comes.
pub(super) struct HookDecoders {
    drivers: Vec<Arc<dyn Driver>>,
    reading: Reading,
    digester: Digester,
    decoders: HashMap<AgentName, Box<dyn Decoder>>,
}

/// Why there are no drafts.
#[derive(Debug, thiserror::Error)]
pub(super) enum Undecoded {
    #[error("nobody here reads hooks of `{0}`")]
    NoDecoder(AgentName),
    #[error("payload is none of its agent's")]
    Malformed,
    #[error("decoder failed on it")]
    Panicked,
}

impl HookDecoders {
    pub(super) fn new(drivers: Vec<Arc<dyn Driver>>, reading: Reading, digester: Digester) -> Self {
        Self { drivers, reading, digester, decoders: HashMap::new() }
    }

    /// Decodes one payload that was handed over at `at`.
    pub(super) fn decode(
        &mut self,
        file: &HookFile,
        at: Timestamp,
    ) -> Result<(Decoded, Vec<Draft>), Undecoded> {
        let agent = &file.header.agent;
        let context = file.header.context();
        let mut drafts = Vec::new();
        // A decoder that panicked is thrown away, so nobody sees what it left half done.
        let decoded = catch_unwind(AssertUnwindSafe(|| {
            let decoder = self.decoder(agent)?;
            let raw = Raw::Hook { payload: &file.payload, context: &context };
            Some(decoder.push(raw, at, &mut drafts))
        }));
        match decoded {
            Ok(Some(Decoded::Malformed)) if drafts.is_empty() => Err(Undecoded::Malformed),
            Ok(Some(decoded)) => Ok((decoded, drafts)),
            Ok(None) => Err(Undecoded::NoDecoder(agent.clone())),
            Err(_) => {
                self.decoders.remove(agent);
                Err(Undecoded::Panicked)
            }
        }
    }

    fn decoder(&mut self, agent: &AgentName) -> Option<&mut Box<dyn Decoder>> {
        if !self.decoders.contains_key(agent) {
            let driver = self.drivers.iter().find(|driver| driver.agent() == *agent)?;
            let options = DecoderOptions::new(self.reading, self.digester.clone());
            let decoder = driver.decoder(Source::Hook, options)?;
            self.decoders.insert(agent.clone(), decoder);
        }
        self.decoders.get_mut(agent)
    }
}
