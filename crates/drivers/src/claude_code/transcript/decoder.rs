//! The decoder of one session file: from a line to the part that reads it.

use std::collections::VecDeque;

use jiff::Timestamp;
use linelamp_core::Ending;
use linelamp_core::digest::Digester;
use linelamp_core::draft::Draft;
use linelamp_core::driver::{Decoded, Decoder, DecoderOptions, Raw as Signal, SessionFile};
use linelamp_core::event::{Body, Native, Notice, NoticeLevel, Scope, SessionUpdated};
use linelamp_core::id::{AgentName, MessageId, NativeId, PromptId, SessionKey, ToolName, TurnId};

use super::line::{Line, is_copied};
use crate::claude_code::ignored;
use crate::claude_code::private::Private;
use crate::json::{Raw, is_clean};

/// The first version that was seen to write down the end of each turn.
const THOROUGH: [u32; 3] = [2, 1, 332];

/// Calls and messages that are remembered.
const REMEMBERED: usize = 256;

/// Reads one session file; see the module page.
#[derive(Debug)]
pub struct TranscriptDecoder {
    agent: AgentName,
    pub(super) file: SessionFile,
    pub(super) private: Private,
    pub(super) digester: Digester,
    /// The prompt whose turn the lines belong to.
    pub(super) prompt: Option<PromptId>,
    /// Tools of calls that have no result yet.
    calls: VecDeque<(String, ToolName)>,
    /// Blocks seen of each message.
    blocks: VecDeque<(MessageId, u32)>,
    /// What was told of the session.
    told: SessionUpdated,
    /// Whether the program is sure to write down that a turn is over, once it is: it does so where a person
    /// sits at it, and where hooks are asked.
    pub(super) seals: Ending,
    /// What is known of a compaction that a person asked for.
    pub(super) compact: Compact,
    /// A hook has objected to the end of the turn.
    pub(super) objected: bool,
    /// A call was called off because nobody saw it end.
    pub(super) called_off: bool,
    /// The subagent whose file it is was told.
    pub(super) introduced: bool,
}

/// A compaction that a person asked for. The request is written down once it is over, behind what came of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Compact {
    /// Nothing.
    #[default]
    Unknown,
    /// The conversation was shortened.
    Done,
    /// It was asked for, and nothing came of it so far.
    Asked,
}

/// Takes the drafts of one line and gives each what the line says about all of them.
pub(super) struct Outbox<'a> {
    template: Draft,
    out: &'a mut Vec<Draft>,
    is_copied: bool,
}

impl Outbox<'_> {
    /// Adds a draft in the file's own scope. A copied line makes none.
    pub(super) fn emit(&mut self, body: impl Into<Body>) -> &mut Draft {
        let draft = Draft { body: body.into(), ..self.template.clone() };
        if self.is_copied {
            self.template.hints = draft.hints;
            return &mut self.template;
        }
        self.out.push(draft);
        self.out.last_mut().expect("a draft was just pushed")
    }

    /// Adds what a line tells of the session. It is told by lines that were copied or stood there before as well: it
    /// still holds.
    fn tell(&mut self, body: SessionUpdated) {
        let mut draft = Draft { body: body.into(), scope: Scope::Main, ..self.template.clone() };
        draft.hints.evidence_only = false;
        self.out.push(draft);
    }

    pub(super) fn is_main(&self) -> bool {
        self.template.scope.is_main()
    }
}

impl TranscriptDecoder {
    /// A decoder for a session file of `agent`. Without a file in the options every line speaks for the
    /// session it names.
    pub fn new(agent: AgentName, options: DecoderOptions) -> Self {
        let nameless = SessionFile { session: NativeId::default(), scope: Scope::Main, born: None };
        Self {
            agent,
            file: options.file.unwrap_or(nameless),
            private: Private::new(options.reading),
            digester: options.digester,
            prompt: None,
            calls: VecDeque::new(),
            blocks: VecDeque::new(),
            told: SessionUpdated::default(),
            seals: Ending::Announced,
            compact: Compact::default(),
            objected: false,
            called_off: false,
            introduced: false,
        }
    }

    fn record(
        &mut self,
        bytes: &[u8],
        is_past: bool,
        at: Timestamp,
        out: &mut Vec<Draft>,
    ) -> Decoded {
        let Some(line) = Line::read(bytes).filter(|_| is_clean(bytes)) else {
            return Decoded::Malformed;
        };
        let Some(session) = self.session_of(&line) else { return Decoded::Malformed };
        let time = line.time();
        let notice =
            Notice { level: NoticeLevel::Info, code: String::new(), count: None, text: None };
        let mut template = Draft::new(SessionKey::new(self.agent.clone(), &*session), at, notice);
        template.at = time.map_or(at, |time| time.min(at));
        template.scope = self.file.scope.clone();
        template.hints.evidence_only = is_past;
        if let Some(version) = line.version.and_then(Raw::quoted) {
            let at_terminal = line.entrypoint.is_some_and(|entrypoint| entrypoint.is("cli"));
            self.seals = match is_thorough(version) {
                true if at_terminal => Ending::Sealed,
                true => Ending::SealedIfAsked,
                false => Ending::Announced,
            };
        }
        if let Some(prompt) = line.prompt.and_then(Raw::id) {
            self.prompt = Some(PromptId::new(&*prompt));
        }
        template.hints.prompt.clone_from(&self.prompt);
        let mut outbox = Outbox { template, out, is_copied: is_copied(time, self.file.born) };
        self.session_told(&line, &mut outbox);
        let decoded = match line.kind() {
            b"user" => self.user(&line, &mut outbox),
            b"assistant" => self.assistant(&line, &mut outbox),
            b"system" => self.system(&line, &mut outbox),
            b"attachment" => self.attachment(&line, &mut outbox),
            b"permission-mode" => Self::permission_mode(&line, &mut outbox),
            b"custom-title" | b"ai-title" | b"agent-name" => self.title(&line, &mut outbox),
            b"cost-state" => Self::cost(&line, &mut outbox),
            _ => self.unknown(&line, &mut outbox),
        };
        // Bytes that are no text may stand in any string: what could be read was read.
        if std::str::from_utf8(bytes).is_ok() { decoded } else { Decoded::Malformed }
    }

    /// A line of a kind that no part knows: listed as meaningless, or kept whole.
    pub(super) fn unknown(&self, line: &Line<'_>, out: &mut Outbox<'_>) -> Decoded {
        let mut name = String::from_utf8_lossy(line.kind()).into_owned();
        if !line.subtype().is_empty() {
            name.push('/');
            name.push_str(&String::from_utf8_lossy(line.subtype()));
        }
        if ignored::find(ignored::TRANSCRIPT, &name).is_some() {
            return Decoded::Ignored;
        }
        if name.is_empty() {
            "untyped".clone_into(&mut name);
        }
        let payload = self.private.json(line.object);
        out.emit(Native { source: "transcript".to_owned(), name, payload });
        Decoded::Native
    }

    /// The file's name tells the session; lines that were copied name another one or the same.
    fn session_of(&self, line: &Line<'_>) -> Option<String> {
        if !self.file.session.is_empty() {
            return Some(self.file.session.as_str().to_owned());
        }
        line.session.and_then(Raw::id).map(Into::into)
    }

    /// What a line tells of the session is told when it is new in the file.
    fn session_told(&mut self, line: &Line<'_>, out: &mut Outbox<'_>) {
        let model = || {
            let model = line.message?.get("model").and_then(Raw::id)?;
            (!model.starts_with('<')).then(|| model.into_owned())
        };
        let is_main = out.is_main();
        let now = [
            (&mut self.told.cwd, line.cwd.and_then(Raw::id).map(Into::into)),
            (&mut self.told.version, line.version.and_then(Raw::id).map(Into::into)),
            (&mut self.told.branch, line.branch.and_then(Raw::id).map(Into::into)),
            (&mut self.told.entrypoint, line.entrypoint.and_then(Raw::id).map(Into::into)),
            (&mut self.told.model, (line.kind() == b"assistant").then(model).flatten()),
        ];
        let mut is_news = false;
        for (known, value) in now {
            if value.is_some() && *known != value {
                *known = value;
                is_news = true;
            }
        }
        if is_news && is_main {
            out.tell(SessionUpdated { title: None, ..self.told.clone() });
        }
    }

    /// The tool of a call, remembered until its result comes.
    pub(super) fn call_began(&mut self, call: &str, tool: ToolName) {
        remember(&mut self.calls, (call.to_owned(), tool));
    }

    pub(super) fn take_call(&mut self, call: &str) -> Option<ToolName> {
        let at = self.calls.iter().position(|(known, _)| known == call)?;
        self.calls.remove(at).map(|(_, tool)| tool)
    }

    /// The number of the next block of a message: each line holds one.
    pub(super) fn next_block(&mut self, message: &MessageId) -> u32 {
        if let Some((_, blocks)) = self.blocks.iter_mut().rfind(|(known, _)| known == message) {
            *blocks += 1;
            return *blocks - 1;
        }
        remember(&mut self.blocks, (message.clone(), 1));
        0
    }

    /// The turn the lines belong to, by the prompt that began it.
    pub(super) fn turn(&self) -> TurnId {
        self.prompt.as_ref().map_or_else(TurnId::default, |prompt| TurnId::new(prompt.as_str()))
    }
}

impl Decoder for TranscriptDecoder {
    fn push(&mut self, raw: Signal<'_>, at: Timestamp, out: &mut Vec<Draft>) -> Decoded {
        match raw {
            Signal::Record { bytes, is_past } => self.record(bytes, is_past, at, out),
            Signal::Line { bytes, .. } => self.record(bytes, false, at, out),
            Signal::Value { value, .. } => match serde_json::to_vec(value) {
                Ok(bytes) => self.record(&bytes, false, at, out),
                Err(_) => Decoded::Malformed,
            },
            Signal::Gap { too_long: true, .. } | Signal::Hook { .. } | Signal::Report { .. } => {
                Decoded::Malformed
            }
            Signal::Gap { .. } | Signal::Exit(_) => Decoded::Understood,
        }
    }

    fn session(&self) -> Option<NativeId> {
        Some(self.file.session.clone()).filter(|session| !session.is_empty())
    }
}

/// Whether this version never leaves out what it writes at the end of a turn, as earlier ones do now and then.
fn is_thorough(version: &[u8]) -> bool {
    let mut parts = version.split(|byte| *byte == b'.').map(|part| {
        std::str::from_utf8(part).ok().and_then(|part| part.parse::<u32>().ok()).unwrap_or(0)
    });
    let version: [u32; 3] = std::array::from_fn(|_| parts.next().unwrap_or(0));
    version >= THOROUGH
}

fn remember<T>(list: &mut VecDeque<T>, item: T) {
    if list.len() == REMEMBERED {
        list.pop_front();
    }
    list.push_back(item);
}
