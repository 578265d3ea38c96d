//! The driver: names, processes, and which decoder reads what.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use linelamp_core::driver::{
    Decoder, DecoderOptions, Direction, Driver, HookContext, Keep, SessionFile, Source,
};
use linelamp_core::event::RunMode;
use linelamp_core::id::AgentName;
use linelamp_core::process::ProcessRef;

use super::arguments::Arguments;
use super::{
    HookDecoder, StatusDecoder, StreamDecoder, TranscriptDecoder, arguments, places, single,
};

/// Knows Claude Code. A program that speaks the same dialect gets a driver of its own name with
/// [`ClaudeCode::dialect`].
#[derive(Debug, Clone)]
pub struct ClaudeCode {
    agent: AgentName,
    programs: Vec<String>,
}

impl ClaudeCode {
    /// The agent's name in events and configuration.
    pub const AGENT: &'static str = "claude-code";

    /// The driver of Claude Code itself.
    pub fn new() -> Self {
        Self::dialect(Self::AGENT, ["claude"])
    }

    /// A driver of another agent that writes the same stream and hooks.
    pub fn dialect<P: Into<String>>(
        agent: impl Into<AgentName>,
        programs: impl IntoIterator<Item = P>,
    ) -> Self {
        Self { agent: agent.into(), programs: programs.into_iter().map(Into::into).collect() }
    }
}

impl Default for ClaudeCode {
    fn default() -> Self {
        Self::new()
    }
}

impl Driver for ClaudeCode {
    fn agent(&self) -> AgentName {
        self.agent.clone()
    }

    fn is_program(&self, name: &str) -> bool {
        let name = name.strip_suffix(".exe").unwrap_or(name);
        self.programs.iter().any(|program| program == name)
    }

    fn decoder(&self, source: Source, options: DecoderOptions) -> Option<Box<dyn Decoder>> {
        match source {
            Source::Stream => Some(Box::new(StreamDecoder::new(self.agent(), options))),
            Source::Hook => Some(Box::new(HookDecoder::new(self.clone(), options))),
            Source::Transcript => Some(Box::new(TranscriptDecoder::new(self.agent(), options))),
            Source::Status => Some(Box::new(StatusDecoder::new(self.agent(), &options))),
            _ => None,
        }
    }

    fn keep(&self, direction: Direction, line: &[u8]) -> Keep {
        single::keep(direction, line)
    }

    fn speaks(&self, direction: Direction, line: &[u8]) -> bool {
        self.agent.as_str() == Self::AGENT && single::is_unmistakable(direction, line)
    }

    fn is_side_call(&self, arguments: &[OsString]) -> bool {
        arguments::is_side_call(arguments)
    }

    fn run_mode(&self, arguments: &[OsString]) -> Option<RunMode> {
        let words: Vec<String> =
            arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        Arguments::read(&words).mode
    }

    fn config_folders(
        &self,
        home: &Path,
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Vec<PathBuf> {
        vec![places::config_folder(home, variable("CLAUDE_CONFIG_DIR"))]
    }

    fn session_folder(&self, config: &Path) -> Option<PathBuf> {
        Some(config.join("projects"))
    }

    fn session_file(&self, path: &Path) -> Option<SessionFile> {
        places::session_file(path)
    }

    fn status_folder(&self, config: &Path) -> Option<PathBuf> {
        Some(config.join("sessions"))
    }

    fn status_file(&self, name: &OsStr) -> Option<u32> {
        places::status_file(name)
    }

    /// `CLAUDE_PID` names the process, if it is above the hook and can be the agent; each program
    /// sets its own, so an agent inside an agent finds itself. Else the nearest of our name.
    fn pick_process(&self, context: &HookContext) -> Option<ProcessRef> {
        let named: Option<u32> = context.env.get("CLAUDE_PID").and_then(|pid| pid.parse().ok());
        let told = context.ancestors.iter().find(|ancestor| {
            Some(ancestor.process.pid) == named
                && (self.is_program(&ancestor.program) || is_runtime(&ancestor.program))
        });
        told.or_else(|| context.ancestors.iter().find(|a| self.is_program(&a.program)))
            .map(|ancestor| ancestor.process)
    }
}

/// Programs the agent may run as: a script runtime, or a binary named after its version.
fn is_runtime(program: &str) -> bool {
    let program = program.strip_suffix(".exe").unwrap_or(program);
    matches!(program, "node" | "bun" | "MainThread")
        || (program.contains('.') && program.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use linelamp_core::process::Ancestor;

    fn context(pid: Option<&str>, ancestors: &[(u32, &str)]) -> HookContext {
        HookContext {
            ancestors: ancestors
                .iter()
                .map(|(pid, program)| Ancestor {
                    process: ProcessRef { pid: *pid, start: Some(u64::from(*pid) * 10) },
                    program: (*program).to_owned(),
                })
                .collect(),
            env: pid.map(|pid| ("CLAUDE_PID".to_owned(), pid.to_owned())).into_iter().collect(),
        }
    }

    #[test]
    fn the_agents_own_process_is_picked() {
        let driver = ClaudeCode::new();
        for (name, pid, ancestors, expected) in [
            ("by name", None, vec![(9, "sh"), (8, "claude"), (7, "zsh")], Some(8)),
            ("by pid, as a script", Some("8"), vec![(9, "sh"), (8, "node"), (7, "zsh")], Some(8)),
            ("by pid, by version", Some("8"), vec![(8, "2.1.332"), (7, "zsh")], Some(8)),
            ("inner of two", Some("8"), vec![(8, "claude"), (5, "claude")], Some(8)),
            ("nearest of two", None, vec![(9, "bash"), (8, "claude"), (5, "claude")], Some(8)),
            ("pid of somebody else", Some("7"), vec![(9, "sh"), (7, "zsh")], None),
            ("pid not above", Some("99"), vec![(9, "sh"), (8, "claude")], Some(8)),
            ("no agent", None, vec![(9, "sh"), (7, "zsh")], None),
            ("nothing known", None, vec![], None),
        ] {
            let picked = driver.pick_process(&context(pid, &ancestors));
            assert_eq!(picked.map(|process| process.pid), expected, "{name}");
        }
    }

    #[test]
    fn the_arguments_of_a_process_tell_how_it_is_run() {
        let driver = ClaudeCode::new();
        for (line, expected) in [
            ("", None),
            ("-p hi", Some(RunMode::OneShot)),
            ("-p --input-format stream-json", Some(RunMode::Hosted)),
            ("--continue", Some(RunMode::Interactive)),
        ] {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            assert_eq!(driver.run_mode(&words), expected, "{line}");
        }
    }

    #[test]
    fn a_dialect_has_its_own_name_and_programs() {
        let driver = ClaudeCode::dialect("other", ["other-cli"]);
        assert_eq!(driver.agent().as_str(), "other");
        assert!(driver.is_program("other-cli.exe"));
        assert!(!driver.is_program("claude"));
        assert!(ClaudeCode::new().is_program("claude"));
    }
}
