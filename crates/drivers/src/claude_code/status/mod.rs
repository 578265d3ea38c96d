//! Status files: what a running program says of itself.
//!
//! Each process keeps one small file, named after its pid, and rewrites it when its state changes; the file goes
//! as the process ends in order. A file may be read half-written: such bytes say nothing, the whole ones come.
//! Without a status in it a file says nothing either: what it names then may be a session that will never be.
//! Whether the process lives is the feed's to check. The key file that lies beside is never read.

use jiff::Timestamp;
use linelamp_core::draft::Draft;
use linelamp_core::driver::{Decoded, Decoder, DecoderOptions, Raw as Signal};
use linelamp_core::event::{
    EndReason, ReportedStatus, RunMode, SessionEnded, SessionUpdated, StatusReported, WaitingFor,
};
use linelamp_core::id::{AgentName, NativeId, SessionKey};
use linelamp_core::process::ProcessRef;

use crate::claude_code::private::Private;
use crate::json::{Raw, fields, is_clean};

/// Reads the status file of one process; see the module page.
#[derive(Debug)]
pub struct StatusDecoder {
    agent: AgentName,
    private: Private,
    process: Option<ProcessRef>,
    session: Option<NativeId>,
    /// What was told of the session.
    told: SessionUpdated,
}

impl StatusDecoder {
    /// A decoder for the status file of the process in the options, or of the one that the file names.
    pub fn new(agent: AgentName, options: &DecoderOptions) -> Self {
        Self {
            agent,
            private: Private::new(options.reading),
            process: options.process,
            session: None,
            told: SessionUpdated::default(),
        }
    }

    fn report(&mut self, bytes: &[u8], at: Timestamp, out: &mut Vec<Draft>) -> Decoded {
        if bytes.is_empty() {
            return self.gone(at, out);
        }
        let keys = ["pid", "sessionId", "procStart", "status", "waitingFor", "statusUpdatedAt"];
        let read = fields(bytes, &keys).filter(|walked| walked.rest.is_empty() && is_clean(bytes));
        let Some(walked) = read else { return Decoded::Malformed };
        let [pid, session, start, status, waiting_for, changed] = walked.values;
        let Some(session) = session.and_then(Raw::id) else { return Decoded::Malformed };
        let session = NativeId::new(&*session);
        let written_by = || {
            let pid = u32::try_from(pid.and_then(Raw::u64)?).ok()?;
            let start = start.and_then(Raw::str).and_then(|start| start.parse().ok());
            Some(ProcessRef { pid, start })
        };
        if let (Some(own), Some(other)) = (self.process, written_by())
            && other.start.is_some_and(|start| own.start.is_some_and(|own| own != start))
        {
            // Left behind by a process whose pid another one has now.
            return Decoded::Ignored;
        }
        let process = self.process.or_else(written_by);
        self.process = process;
        let Some(word) = status.and_then(Raw::id) else { return Decoded::Understood };
        let changed = changed.and_then(Raw::u64).and_then(|ms| i64::try_from(ms).ok());
        let changed = changed.and_then(|ms| Timestamp::from_millisecond(ms).ok());
        let at = changed.map_or(at, |changed| changed.min(at));
        if self.session.as_ref() != Some(&session) {
            self.told = SessionUpdated::default();
        }
        self.session = Some(session.clone());
        let key = SessionKey::new(self.agent.clone(), session);
        let draft = |body| Draft { process, ..Draft::new(key.clone(), at, body) };
        if let Some(update) = self.update(bytes, process) {
            out.push(draft(linelamp_core::Body::from(update)));
        }
        let status = reported(&word);
        let waiting_for = waiting_for.and_then(Raw::id);
        let mut report = draft(
            StatusReported {
                status,
                waiting_for: (status == ReportedStatus::Waiting)
                    .then(|| waits_for(waiting_for.as_deref())),
                raw: Some(match waiting_for {
                    Some(what) => format!("{word}: {what}"),
                    None => word.into_owned(),
                }),
            }
            .into(),
        );
        report.hints.stands = true;
        out.push(report);
        Decoded::Understood
    }

    /// What the file tells of the session, where it is new.
    fn update(&mut self, bytes: &[u8], process: Option<ProcessRef>) -> Option<SessionUpdated> {
        let keys = ["cwd", "version", "entrypoint", "kind", "name", "nameSource"];
        let [cwd, version, entrypoint, kind, name, source] = fields(bytes, &keys)?.values;
        let owned = |raw: Option<Raw<'_>>| raw.and_then(Raw::id).map(Into::into);
        let given = source.is_some_and(|source| !source.is("derived"));
        let mode = match (kind.and_then(Raw::quoted), entrypoint.and_then(Raw::quoted)) {
            (Some(b"bg"), _) => None,
            (_, Some(b"cli")) => Some(RunMode::Interactive),
            _ => None,
        };
        let now = SessionUpdated {
            cwd: owned(cwd),
            version: owned(version),
            entrypoint: owned(entrypoint),
            title: name
                .filter(|_| given && self.private.is_full())
                .and_then(|name| self.private.text(Some(name))),
            mode,
            process,
            ..SessionUpdated::default()
        };
        if now == self.told {
            return None;
        }
        self.told = now.clone();
        Some(now)
    }

    /// The file is gone: the process ended in order.
    fn gone(&mut self, at: Timestamp, out: &mut Vec<Draft>) -> Decoded {
        if let Some(session) = self.session.take() {
            let key = SessionKey::new(self.agent.clone(), session);
            let ended = SessionEnded {
                reason: EndReason::Exit,
                exit_code: None,
                signal: None,
                process: self.process,
                error: None,
            };
            out.push(Draft { process: self.process, ..Draft::new(key, at, ended) });
        }
        Decoded::Understood
    }
}

impl Decoder for StatusDecoder {
    fn push(&mut self, raw: Signal<'_>, at: Timestamp, out: &mut Vec<Draft>) -> Decoded {
        match raw {
            Signal::Report { bytes } => self.report(bytes, at, out),
            _ => Decoded::Malformed,
        }
    }

    fn session(&self) -> Option<NativeId> {
        self.session.clone()
    }
}

/// The program's word for its state.
fn reported(word: &str) -> ReportedStatus {
    match word {
        "idle" => ReportedStatus::Idle,
        "busy" => ReportedStatus::Busy,
        "waiting" => ReportedStatus::Waiting,
        "shell" => ReportedStatus::Shell,
        _ => ReportedStatus::Unknown,
    }
}

/// What it waits for. A plan is called a permission prompt there: who knows of the request knows better.
fn waits_for(word: Option<&str>) -> WaitingFor {
    match word {
        Some("input needed") => WaitingFor::Question,
        _ => WaitingFor::Permission,
    }
}

#[cfg(test)]
mod tests {
    use linelamp_core::digest::Digester;
    use linelamp_core::driver::Reading;

    use super::*;

    #[test]
    fn a_file_left_behind_by_another_process_of_the_same_pid_says_nothing() {
        let file = |start: &str| {
            format!(r#"{{"pid":7,"sessionId":"s","procStart":"{start}","status":"busy"}}"#)
        };
        for (start, expected) in [("100", Decoded::Understood), ("99", Decoded::Ignored)] {
            let options = DecoderOptions {
                process: Some(ProcessRef { pid: 7, start: Some(100) }),
                ..DecoderOptions::new(Reading::State, Digester::new(&[0; 32]))
            };
            let mut decoder = StatusDecoder::new(AgentName::from("claude-code"), &options);
            let mut drafts = Vec::new();
            let bytes = file(start);
            let raw = Signal::Report { bytes: bytes.as_bytes() };
            assert_eq!(decoder.push(raw, Timestamp::UNIX_EPOCH, &mut drafts), expected);
            assert_eq!(drafts.is_empty(), expected == Decoded::Ignored);
        }
    }
}
