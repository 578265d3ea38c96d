//! The first line of a spool file, the same type for who writes it and who reads it.

use std::collections::BTreeMap;

use linelamp_core::driver::HookContext;
use linelamp_core::process::{Ancestor, ProcessRef};
use linelamp_core::{AgentName, Timestamp};
use serde::{Deserialize, Serialize};

use super::SpoolError;

/// The number every file and every socket line of this generation begins with.
pub const FORMAT: u64 = 1;

/// Who wrote a spool file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The hook client: one raw payload follows.
    Hook,
    /// The wrapper: lines of batches follow.
    Wrap,
}

/// The header line. Unknown fields are ignored; what is absent was not known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The format; see [`FORMAT`].
    pub linelamp: u64,
    /// Who wrote the file.
    pub role: Role,
    /// The writer's version.
    pub version: String,
    /// The agent it is about.
    pub agent: AgentName,
    /// When the client started.
    pub at: Timestamp,
    /// The boot during which it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// The boot's clock at `at`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boottime_ns: Option<u64>,
    /// Bytes that follow the header line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Hook: the processes above the client, nearest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ancestors: Vec<Ancestor>,
    /// Hook: values from the allow-list of the environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Wrapper: its random name; with a batch's number it is one source position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// Wrapper: the process it wraps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<ProcessRef>,
}

impl Header {
    /// A header of this version that says nothing but who and when.
    pub fn new(role: Role, agent: AgentName, at: Timestamp) -> Self {
        Self {
            linelamp: FORMAT,
            role,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            agent,
            at,
            boot_id: None,
            boottime_ns: None,
            bytes: None,
            ancestors: Vec::new(),
            env: BTreeMap::new(),
            instance: None,
            child: None,
        }
    }

    /// What a driver may know about the surroundings of a hook payload.
    pub fn context(&self) -> HookContext {
        HookContext { ancestors: self.ancestors.clone(), env: self.env.clone() }
    }
}

/// Splits a spool file into its header and what follows.
pub fn read_header(file: &[u8]) -> Result<(Header, &[u8]), SpoolError> {
    let end = memchr::memchr(b'\n', file).ok_or(SpoolError::NoHeader(None))?;
    let (line, rest) = (&file[..end], &file[end + 1..]);
    let probe: Probe =
        serde_json::from_slice(line).map_err(|error| SpoolError::NoHeader(Some(error)))?;
    if probe.linelamp != FORMAT {
        return Err(SpoolError::UnknownFormat(probe.linelamp));
    }
    let header: Header =
        serde_json::from_slice(line).map_err(|error| SpoolError::NoHeader(Some(error)))?;
    match header.bytes {
        Some(expected) if expected != rest.len() as u64 => {
            Err(SpoolError::Cut { found: rest.len() as u64, expected })
        }
        _ => Ok((header, rest)),
    }
}

/// The one field that every format has.
#[derive(Deserialize)]
struct Probe {
    linelamp: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &Header, payload: &[u8]) -> Vec<u8> {
        let mut file = serde_json::to_vec(header).expect("a header");
        file.push(b'\n');
        file.extend_from_slice(payload);
        file
    }

    #[test]
    fn a_header_comes_back_as_it_was_written() {
        let mut header = Header::new(Role::Hook, "claude-code".into(), Timestamp::UNIX_EPOCH);
        header.env.insert("TMUX_PANE".into(), "%1".into());
        header.bytes = Some(3);
        let written = file(&header, b"{\n}");
        let (read, payload) = read_header(&written).expect("a header");
        assert_eq!((read, payload), (header, &b"{\n}"[..]));
    }

    #[test]
    fn a_cut_file_an_empty_one_and_a_newer_format_are_told_apart() {
        let mut header = Header::new(Role::Wrap, "codex".into(), Timestamp::UNIX_EPOCH);
        header.bytes = Some(9);
        assert!(matches!(
            read_header(&file(&header, b"short")),
            Err(SpoolError::Cut { found: 5, expected: 9 })
        ));
        assert!(matches!(read_header(b""), Err(SpoolError::NoHeader(None))));
        assert!(matches!(
            read_header(b"{\"linelamp\":2,\"role\":[]}\n"),
            Err(SpoolError::UnknownFormat(2))
        ));
    }
}
