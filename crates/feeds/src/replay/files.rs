//! Session files and status files of a recording: their decoders, and their clock.
//!
//! What stands in such files carries the time of the day it was made. A recording counts milliseconds since its
//! beginning, so the time of day at that moment is worked out: nothing was seen before it was made.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use linelamp_core::digest::Digester;
use linelamp_core::driver::{Decoded, Decoder, DecoderOptions, Driver, Raw, Reading, Source};
use linelamp_core::process::ProcessRef;
use linelamp_core::{Body, Draft, Timestamp};

use super::player::made_up;
use super::recording::{Recording, Signal};

/// The decoders of all files, each made when its file is first seen.
#[derive(Debug)]
pub(super) struct Files {
    driver: Arc<dyn Driver>,
    reading: Reading,
    decoders: BTreeMap<String, Box<dyn Decoder>>,
    /// Whose status file each is, where that is a process whose stream was recorded: the one that began last.
    processes: BTreeMap<String, ProcessRef>,
    /// When each status file was last there. One that is gone for a moment is being written anew.
    last_there: BTreeMap<String, u64>,
    /// The time of day when the recording began; none if nothing in it tells.
    began: Option<Timestamp>,
}

impl Files {
    pub(super) fn new(recording: &Recording, driver: Arc<dyn Driver>, reading: Reading) -> Self {
        let mut files = Self {
            driver,
            reading,
            decoders: BTreeMap::new(),
            processes: BTreeMap::new(),
            last_there: BTreeMap::new(),
            began: None,
        };
        files.began = files.beginning(recording);
        files.decoders.clear();
        files
    }

    /// The latest moment that is early enough for everything to have been made before it was seen.
    fn beginning(&mut self, recording: &Recording) -> Option<Timestamp> {
        let mut drafts = Vec::new();
        let mut began = None;
        let mut newest = None;
        for step in recording.steps() {
            self.decode(&step.signal, Timestamp::MAX, &mut drafts);
            match &step.signal {
                Signal::Start { process, reference, .. } => {
                    newest = Some(reference.unwrap_or_else(|| made_up(*process, step.ms)));
                }
                Signal::Report { file, bytes } if !bytes.is_empty() => {
                    let is_new = self.last_there.insert(file.to_string(), step.ms).is_none();
                    if let Some(process) = newest.take_if(|_| is_new) {
                        self.processes.insert(file.to_string(), process);
                    }
                }
                _ => {}
            }
            let own = drafts.drain(..).map(|draft| draft.at).filter(|at| *at < Timestamp::MAX);
            let began_by =
                own.filter_map(|at| at.checked_sub(Duration::from_millis(step.ms)).ok()).max();
            began = began.max(began_by);
        }
        began
    }

    /// Decodes a line or a status that was seen at `ms`; `zero` is the recording's beginning on the replay's
    /// clock. None for signals of other feeds and for files that are no session's.
    pub(super) fn push(
        &mut self,
        signal: &Signal<'_>,
        zero: Timestamp,
        ms: u64,
        out: &mut Vec<Draft>,
    ) -> Option<Decoded> {
        if let Signal::Report { file, bytes: [] } = signal
            && self.last_there.get(&**file).is_some_and(|last| *last > ms)
        {
            return None;
        }
        let began = self.began.unwrap_or(zero);
        let first = out.len();
        let decoded = self.decode(signal, began + Duration::from_millis(ms), out);
        for draft in out.iter_mut().skip(first) {
            draft.at = zero.checked_add(draft.at.duration_since(began)).unwrap_or(zero);
        }
        decoded
    }

    fn decode(
        &mut self,
        signal: &Signal<'_>,
        at: Timestamp,
        out: &mut Vec<Draft>,
    ) -> Option<Decoded> {
        let (name, source, raw) = match signal {
            Signal::Record { file, bytes } => {
                (*file, Source::Transcript, Raw::Record { bytes, is_past: false })
            }
            Signal::Report { file, bytes } => (&**file, Source::Status, Raw::Report { bytes }),
            _ => return None,
        };
        if !self.decoders.contains_key(name) {
            let decoder = self.decoder(name, source, at)?;
            self.decoders.insert(name.to_owned(), decoder);
        }
        let first = out.len();
        let decoded = self.decoders.get_mut(name)?.push(raw, at, out);
        if let Some(process) = self.processes.get(name) {
            out.iter_mut().skip(first).for_each(|draft| put_into(draft, *process));
        }
        Some(decoded)
    }

    fn decoder(&self, name: &str, source: Source, born: Timestamp) -> Option<Box<dyn Decoder>> {
        // The digests of a replay meet only each other: a key that anybody knows hides nothing there.
        let mut options = DecoderOptions::new(self.reading, Digester::new(&[0; 32]));
        if source == Source::Transcript {
            let mut file = self.driver.session_file(Path::new(name))?;
            file.born = Some(born).filter(|born| *born < Timestamp::MAX);
            options.file = Some(file);
        } else {
            self.driver.status_file(OsStr::new(name))?;
        }
        self.driver.decoder(source, options)
    }
}

/// The draft is of this process, whatever pid it had when it was recorded.
fn put_into(draft: &mut Draft, process: ProcessRef) {
    draft.process = Some(process);
    match &mut draft.body {
        Body::SessionUpdated(data) if data.process.is_some() => data.process = Some(process),
        Body::SessionEnded(data) => data.process = Some(process),
        _ => {}
    }
}
