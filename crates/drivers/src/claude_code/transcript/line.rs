//! The members that most lines share.

use jiff::{SignedDuration, Timestamp};

use crate::json::{Raw, walk};

/// The shared members of one line.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Line<'a> {
    kind: Option<Raw<'a>>,
    subtype: Option<Raw<'a>>,
    pub(super) uuid: Option<Raw<'a>>,
    pub(super) parent: Option<Raw<'a>>,
    time: Option<Raw<'a>>,
    pub(super) session: Option<Raw<'a>>,
    pub(super) cwd: Option<Raw<'a>>,
    pub(super) version: Option<Raw<'a>>,
    pub(super) branch: Option<Raw<'a>>,
    pub(super) entrypoint: Option<Raw<'a>>,
    pub(super) prompt: Option<Raw<'a>>,
    pub(super) message: Option<Raw<'a>>,
    pub(super) structured: Option<Raw<'a>>,
    is_meta: Option<Raw<'a>>,
    pub(super) object: Option<Raw<'a>>,
}

impl<'a> Line<'a> {
    /// Reads one object and nothing behind it.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut line = Self { object: Some(Raw::whole(bytes.trim_ascii())), ..Self::default() };
        let rest = walk(bytes, |key, value| {
            let slot = match key {
                b"type" => &mut line.kind,
                b"subtype" => &mut line.subtype,
                b"uuid" => &mut line.uuid,
                b"parentUuid" => &mut line.parent,
                b"timestamp" => &mut line.time,
                b"sessionId" => &mut line.session,
                b"cwd" => &mut line.cwd,
                b"version" => &mut line.version,
                b"gitBranch" => &mut line.branch,
                b"entrypoint" => &mut line.entrypoint,
                b"promptId" => &mut line.prompt,
                b"message" => &mut line.message,
                b"toolUseResult" => &mut line.structured,
                b"isMeta" => &mut line.is_meta,
                _ => return,
            };
            *slot = Some(value);
        })?;
        rest.is_empty().then_some(line)
    }

    pub(super) fn kind(&self) -> &'a [u8] {
        self.kind.and_then(Raw::quoted).unwrap_or_default()
    }

    pub(super) fn subtype(&self) -> &'a [u8] {
        self.subtype.and_then(Raw::quoted).unwrap_or_default()
    }

    /// The program wrote it for the model, not a person and not the model itself.
    pub(super) fn is_meta(&self) -> bool {
        is_true(self.is_meta)
    }

    /// When the line was made, by its own word.
    pub(super) fn time(&self) -> Option<Timestamp> {
        self.time.and_then(Raw::str)?.parse().ok()
    }

    /// Members of one kind of line.
    pub(super) fn fields<const N: usize>(&self, keys: &[&str; N]) -> [Option<Raw<'a>>; N] {
        self.object.and_then(|object| object.fields(keys)).unwrap_or([None; N])
    }
}

/// A member that is there and says yes.
pub(super) fn is_true(flag: Option<Raw<'_>>) -> bool {
    flag.and_then(Raw::bool) == Some(true)
}

/// A file comes to be a little after the first thing that is written into it.
const BIRTH: SignedDuration = SignedDuration::from_millis(1500);

/// True if a line made at `time` was copied into a file that came to be at `born`.
pub(super) fn is_copied(time: Option<Timestamp>, born: Option<Timestamp>) -> bool {
    match (time, born) {
        (Some(time), Some(born)) => born.duration_since(time) > BIRTH,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_older_than_the_file_was_copied() {
        let at = |ms: i64| Timestamp::from_millisecond(1_800_000_000_000 + ms).ok();
        assert!(is_copied(at(0), at(2_000)));
        assert!(!is_copied(at(0), at(1_000)), "a line waits a little for its file");
        assert!(!is_copied(at(5_000), at(0)));
        assert!(!is_copied(None, at(0)));
        assert!(!is_copied(at(0), None));
    }
}
