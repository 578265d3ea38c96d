//! Scripts: input lines and, behind each, the drafts it must make.
//!
//! ```text
//! # a comment
//! ! args -p --output-format stream-json      the program's arguments
//! ! reading state                            full where nothing is said
//! < {"type":…}                               a line from the agent
//! > {"type":…}                               a line from the host
//! h {"hook_event_name":…}                    a hook payload
//! t {"type":…}                               a line of a session file
//! s {"pid":…}                                the content of a status file; `\xNN` in both is that byte
//! ! env NAME VALUE                           what the hook client saw; also: ancestor PID NAME
//! ! gap 3          ! exit 0          ! exit signal 9          ! end
//! ! file SESSION @SCOPE born=TIME            another session file is read from here on; all but SESSION may miss
//! ! past           ! live                    lines that stood in it before anybody looked; lines that come
//! ! process PID START                        whose status file is read from here on
//! ! gone                                     the status file is gone
//! ! clock TIME                               what comes is seen from then on, a millisecond apart
//! = kind @scope key=value a.b=value key=-    a draft: kind, scope if not main, some of its data
//! ~ understood                               what the last line counted as
//! ```
//!
//! All drafts must be listed, in order; of their data only what is named. A value is JSON or a bare
//! word; `-` means absent, `$name` binds at its first use and must be equal at the others,
//! `hint:NAME` looks into the hints, `session`, `pid` and `at` are the draft's own. A gap is one of the surface
//! that spoke last.

use std::collections::HashMap;
use std::path::Path;

use linelamp_core::Timestamp;
use linelamp_core::digest::Digester;
use linelamp_core::draft::Draft;
use linelamp_core::driver::{
    Decoded, Decoder, DecoderOptions, Direction, Driver, HookContext, Raw, Reading, SessionFile,
    Source,
};
use linelamp_core::event::Scope;
use linelamp_core::id::{NativeId, ScopeId};
use linelamp_core::process::{Ancestor, ProcessExit, ProcessRef};
use linelamp_drivers::claude_code::ClaudeCode;
use serde_json::Value;

/// A decoder of Claude Code.
pub(crate) fn decoder(source: Source, reading: Reading, arguments: &[&str]) -> Box<dyn Decoder> {
    let arguments = arguments.iter().map(|&word| word.to_owned()).collect();
    made(source, DecoderOptions { arguments, ..options(reading) })
}

/// A decoder of the session file `session`.
pub(crate) fn of_file(session: &str, reading: Reading) -> Box<dyn Decoder> {
    let file = SessionFile { session: NativeId::new(session), scope: Scope::Main, born: None };
    made(Source::Transcript, DecoderOptions { file: Some(file), ..options(reading) })
}

fn options(reading: Reading) -> DecoderOptions {
    DecoderOptions::new(reading, Digester::new(&[7; 32]))
}

fn made(source: Source, options: DecoderOptions) -> Box<dyn Decoder> {
    ClaudeCode::new().decoder(source, options).expect("the agent has this surface")
}

/// Runs every script of a folder.
pub(crate) fn run_folder(folder: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(folder);
    let mut paths: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("a folder entry").path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no scripts in {}", folder.display());
    let mut failures = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a readable script");
        if let Err(failure) = Run::default().play(&text) {
            failures.push(format!("{}: {failure}", path.display()));
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[derive(Default)]
struct Run {
    arguments: Vec<String>,
    reading: Option<Reading>,
    decoders: Vec<(Source, Box<dyn Decoder>)>,
    /// The surface that spoke last.
    spoke: Option<Source>,
    context: HookContext,
    file: Option<SessionFile>,
    process: Option<ProcessRef>,
    is_past: bool,
    drafts: Vec<Draft>,
    told: usize,
    counted: Option<Decoded>,
    bound: HashMap<String, Value>,
    clock: i64,
}

impl Run {
    fn play(mut self, text: &str) -> Result<(), String> {
        for (number, line) in text.lines().enumerate() {
            self.step(line).map_err(|failure| format!("line {}: {failure}", number + 1))?;
        }
        self.nothing_left()
    }

    fn step(&mut self, line: &str) -> Result<(), String> {
        let (mark, rest) = line.split_once(' ').unwrap_or((line, ""));
        match mark {
            "" | "#" => Ok(()),
            "<" => self.line(Direction::FromAgent, rest),
            ">" => self.line(Direction::ToAgent, rest),
            "h" => {
                self.nothing_left()?;
                let context = self.context.clone();
                let raw = Raw::Hook { payload: rest.as_bytes(), context: &context };
                self.push(Source::Hook, raw);
                Ok(())
            }
            "t" => {
                self.nothing_left()?;
                let raw = Raw::Record { bytes: &raw(rest)?, is_past: self.is_past };
                self.push(Source::Transcript, raw);
                Ok(())
            }
            "s" => {
                self.nothing_left()?;
                self.push(Source::Status, Raw::Report { bytes: &raw(rest)? });
                Ok(())
            }
            "!" => self.command(rest),
            "=" => self.expect(rest),
            "~" => match self.counted {
                Some(counted) if format!("{counted:?}").to_lowercase() == rest.trim() => Ok(()),
                counted => Err(format!("counted as {counted:?}, not {rest}")),
            },
            _ => Err(format!("what is {mark:?}?")),
        }
    }

    fn command(&mut self, rest: &str) -> Result<(), String> {
        let words: Vec<&str> = rest.split_whitespace().collect();
        match words.as_slice() {
            ["args", arguments @ ..] => {
                self.arguments = arguments.iter().map(|&word| word.to_owned()).collect();
            }
            ["reading", "state"] => self.reading = Some(Reading::State),
            ["env", name, value] => {
                self.context.env.insert((*name).to_owned(), (*value).to_owned());
            }
            ["ancestor", pid, program] => self.context.ancestors.push(Ancestor {
                process: ProcessRef { pid: pid.parse().map_err(|_| "no pid")?, start: Some(1) },
                program: (*program).to_owned(),
            }),
            ["file", session, about @ ..] => self.other_file(session, about)?,
            ["process", pid, start] => {
                self.process = Some(ProcessRef {
                    pid: pid.parse().map_err(|_| "no pid")?,
                    start: Some(start.parse().map_err(|_| "no start")?),
                });
                self.decoders.retain(|(source, _)| *source != Source::Status);
            }
            ["past"] => self.is_past = true,
            ["live"] => self.is_past = false,
            ["gone"] => {
                self.nothing_left()?;
                self.push(Source::Status, Raw::Report { bytes: b"" });
            }
            ["clock", time] => {
                let time: Timestamp = time.parse().map_err(|_| "no time")?;
                self.clock = time.as_millisecond();
            }
            ["gap", lines] => {
                self.nothing_left()?;
                let lines = lines.parse().map_err(|_| "no number")?;
                let source = self.spoke.unwrap_or(Source::Stream);
                self.push(source, Raw::Gap { lines, too_long: false });
            }
            ["too-long"] => {
                self.nothing_left()?;
                let source = self.spoke.unwrap_or(Source::Stream);
                self.push(source, Raw::Gap { lines: 1, too_long: true });
            }
            ["exit", "signal", signal] => self.exit(None, signal.parse().ok())?,
            ["exit", code] => self.exit(code.parse().ok(), None)?,
            ["end"] => {
                self.nothing_left()?;
                let at = self.now();
                for (_, decoder) in &mut self.decoders {
                    decoder.end(at, &mut self.drafts);
                }
            }
            _ => return Err(format!("what is {rest:?}?")),
        }
        Ok(())
    }

    fn exit(&mut self, code: Option<i32>, signal: Option<i32>) -> Result<(), String> {
        self.nothing_left()?;
        self.push(Source::Stream, Raw::Exit(ProcessExit { code, signal }));
        Ok(())
    }

    fn line(&mut self, direction: Direction, line: &str) -> Result<(), String> {
        self.nothing_left()?;
        self.push(Source::Stream, Raw::Line { direction, bytes: line.as_bytes() });
        Ok(())
    }

    fn other_file(&mut self, session: &str, about: &[&str]) -> Result<(), String> {
        self.nothing_left()?;
        let session = NativeId::new(session);
        let mut file = SessionFile { session, scope: Scope::Main, born: None };
        for word in about {
            if let Some(scope) = word.strip_prefix('@') {
                file.scope = Scope::Child(ScopeId::new(scope));
            } else if let Some(born) = word.strip_prefix("born=") {
                file.born = Some(born.parse().map_err(|_| "no time")?);
            } else {
                return Err(format!("what is {word:?}?"));
            }
        }
        self.file = Some(file);
        self.decoders.retain(|(source, _)| *source != Source::Transcript);
        Ok(())
    }

    fn push(&mut self, source: Source, raw: Raw<'_>) {
        let at = self.now();
        self.spoke = Some(source);
        let known = self.decoders.iter().position(|(known, _)| *known == source);
        let index = known.unwrap_or_else(|| {
            let options = DecoderOptions {
                arguments: self.arguments.clone(),
                file: self.file.clone(),
                process: self.process,
                ..options(self.reading.unwrap_or(Reading::Full))
            };
            self.decoders.push((source, made(source, options)));
            self.decoders.len() - 1
        });
        let (_, decoder) = &mut self.decoders[index];
        self.counted = Some(decoder.push(raw, at, &mut self.drafts));
    }

    fn now(&mut self) -> Timestamp {
        self.clock += 1;
        Timestamp::from_millisecond(self.clock).expect("a small number")
    }

    fn nothing_left(&self) -> Result<(), String> {
        match self.drafts.get(self.told) {
            None => Ok(()),
            Some(draft) => Err(format!("not expected: {}", show(draft))),
        }
    }

    fn expect(&mut self, rest: &str) -> Result<(), String> {
        let Some(draft) = self.drafts.get(self.told).cloned() else {
            return Err(format!("nothing came for: {rest}"));
        };
        self.told += 1;
        let mut words = split(rest).into_iter();
        let kind = words.next().unwrap_or_default();
        if draft.body.kind() != kind {
            return Err(format!("expected {rest}\n   got {}", show(&draft)));
        }
        let data = serde_json::to_value(&draft.body).expect("a body serializes");
        let hints = serde_json::to_value(&draft.hints).expect("hints serialize");
        let mut scope = "main".to_owned();
        for word in words {
            if let Some(named) = word.strip_prefix('@') {
                named.clone_into(&mut scope);
                continue;
            }
            let (path, wanted) =
                word.split_once('=').ok_or_else(|| format!("what is {word:?}?"))?;
            let found = match path.strip_prefix("hint:") {
                _ if path == "session" => Some(Value::from(draft.session.id.as_str())),
                _ if path == "pid" => draft.process.map(|process| Value::from(process.pid)),
                _ if path == "at" => Some(Value::from(draft.at.to_string())),
                Some(path) => dig(&hints, path),
                None => dig(&data, path),
            };
            self.compare(path, wanted, found)
                .map_err(|why| format!("{why}\n   in {}", show(&draft)))?;
        }
        if draft.scope.to_string() != scope {
            return Err(format!("expected scope {scope}\n   in {}", show(&draft)));
        }
        Ok(())
    }

    fn compare(&mut self, path: &str, wanted: &str, found: Option<Value>) -> Result<(), String> {
        if wanted == "-" {
            return match found {
                None => Ok(()),
                Some(found) => Err(format!("{path} should be absent, is {found}")),
            };
        }
        let Some(found) = found else { return Err(format!("{path} is absent")) };
        let wanted = if let Some(name) = wanted.strip_prefix('$') {
            self.bound.entry(name.to_owned()).or_insert_with(|| found.clone()).clone()
        } else {
            serde_json::from_str(wanted).unwrap_or_else(|_| Value::from(wanted))
        };
        let equal = match (wanted.as_f64(), found.as_f64()) {
            (Some(wanted), Some(found)) => (wanted - found).abs() < 1e-9,
            _ => wanted == found,
        };
        if equal { Ok(()) } else { Err(format!("{path} should be {wanted}, is {found}")) }
    }
}

/// Words separated by spaces; a space inside JSON quotes separates nothing.
fn split(text: &str) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), String::new());
    let (mut quoted, mut escaped) = (false, false);
    for c in text.chars() {
        match c {
            ' ' if !quoted => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                continue;
            }
            '"' if !escaped => quoted = !quoted,
            _ => {}
        }
        escaped = c == '\\' && !escaped;
        word.push(c);
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// The bytes that a line of a script stands for: `\xNN`, which JSON does not have, is one byte.
fn raw(text: &str) -> Result<Vec<u8>, String> {
    let mut parts = text.split("\\x");
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2).ok_or("a byte needs two digits")?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| "no byte")?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    Ok(bytes)
}

fn dig(data: &Value, path: &str) -> Option<Value> {
    let mut at = data;
    for step in path.split('.') {
        at = match step.parse::<usize>() {
            Ok(index) => at.get(index)?,
            Err(_) => at.get(step)?,
        };
    }
    Some(at.clone())
}

pub(crate) fn show(draft: &Draft) -> String {
    let data = serde_json::to_string(&draft.body).expect("a body serializes");
    format!("{} @{} {data}", draft.body.kind(), draft.scope)
}
