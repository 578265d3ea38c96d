//! What a spool file holds, before anybody decodes it.

use linelamp_core::journal::Position;

use super::batch::{Batch, Message, is_instance, position};
use crate::spool::{Header, Role, SpoolError, read_header};

/// A spool file, read.
#[derive(Debug)]
pub(super) enum Content {
    /// One hook payload.
    Hook(HookFile),
    /// Batches that a wrapper could not send.
    Wrap(WrapFile),
}

/// One hook payload and what was around it.
#[derive(Debug)]
pub(super) struct HookFile {
    pub(super) header: Header,
    pub(super) position: Position,
    pub(super) payload: Vec<u8>,
}

/// Batches of one wrapper.
#[derive(Debug)]
pub(super) struct WrapFile {
    pub(super) header: Header,
    pub(super) batches: Vec<(Position, Batch)>,
    /// Why some of it is missing in `batches`, if some is.
    pub(super) problem: Option<String>,
}

/// Why nothing of a file can be taken in.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// It is in a format to come: not ours to judge.
    NotOurs(u64),
    /// It is broken.
    Bad(String),
}

impl Content {
    /// Reads the file `name`.
    pub(super) fn read(name: &str, mut file: Vec<u8>) -> Result<Self, Problem> {
        let (header, body) = read_header(&file).map_err(|error| match error {
            SpoolError::UnknownFormat(format) => Problem::NotOurs(format),
            other => Problem::Bad(other.to_string()),
        })?;
        if body.is_empty() {
            return Err(Problem::Bad("nothing follows the header".to_owned()));
        }
        match header.role {
            Role::Hook => {
                let start = file.len() - body.len();
                // Moved within its buffer: a payload may be large.
                file.drain(..start);
                let position = Position::new(format!("hook/{name}"));
                Ok(Self::Hook(HookFile { header, position, payload: file }))
            }
            Role::Wrap => WrapFile::read(header, body).map(Self::Wrap),
        }
    }

    /// The positions of its inputs.
    pub(super) fn positions(&self) -> impl Iterator<Item = &Position> {
        let (hook, batches) = match self {
            Self::Hook(file) => (Some(&file.position), None),
            Self::Wrap(file) => (None, Some(&file.batches)),
        };
        hook.into_iter().chain(batches.into_iter().flatten().map(|(position, _)| position))
    }
}

impl WrapFile {
    fn read(header: Header, body: &[u8]) -> Result<Self, Problem> {
        let instance = header.instance.as_deref().filter(|instance| is_instance(instance));
        let Some(instance) = instance else {
            return Err(Problem::Bad("wrapper does not name itself".to_owned()));
        };
        let mut batches = Vec::new();
        let mut problem = None;
        for line in body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match Message::read(line) {
                Ok(Message::Batch(batch)) => {
                    batches.push((position(instance, batch.number), batch));
                }
                Ok(Message::Keepalive) => {}
                // The other batches are none the worse for it.
                Err(error) => problem = Some(error.to_string()),
            }
        }
        Ok(Self { header, batches, problem })
    }
}
