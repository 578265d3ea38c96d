//! What the program's arguments say about the session it will run.

use std::ffi::OsString;

use linelamp_core::event::RunMode;

/// Options that take their value as a separate word, as far as they matter here.
const OUTPUT: &str = "--output-format";
const INPUT: &str = "--input-format";

/// The session-related part of a command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Arguments {
    /// How the session is run, if the arguments are known.
    pub(crate) mode: Option<RunMode>,
    /// It continues an earlier session.
    pub(crate) resumes: bool,
    /// It copies an earlier session.
    pub(crate) forks: bool,
    /// The session named by `--resume`.
    pub(crate) resumed: Option<String>,
    /// The id chosen with `--session-id`.
    pub(crate) chosen: Option<String>,
}

impl Arguments {
    /// Reads them; an empty list says nothing.
    pub(crate) fn read(arguments: &[String]) -> Self {
        let mut read = Self::default();
        let (mut print, mut hosted) = (false, false);
        let mut words = arguments.iter().map(String::as_str).peekable();
        while let Some(word) = words.next() {
            let (name, glued) = word.split_once('=').map_or((word, None), |(n, v)| (n, Some(v)));
            let mut value = || {
                glued.or_else(|| words.next_if(|next| !next.starts_with('-'))).map(str::to_owned)
            };
            match name {
                "-p" | "--print" => print = true,
                INPUT => hosted = value().as_deref() == Some("stream-json"),
                "-c" | "--continue" => read.resumes = true,
                "-r" | "--resume" => {
                    read.resumes = true;
                    read.resumed = value().filter(|id| is_session_id(id));
                }
                "--fork-session" => read.forks = true,
                "--session-id" => read.chosen = value().filter(|id| is_session_id(id)),
                _ => {}
            }
        }
        if !arguments.is_empty() {
            read.mode = Some(match (hosted, print) {
                (true, _) => RunMode::Hosted,
                (false, true) => RunMode::OneShot,
                (false, false) => RunMode::Interactive,
            });
        }
        read
    }

    /// True if the first id the program shows is that of the session it will run, and it may be long until more is
    /// known of it: a host has not asked for anything yet. While the program looks for the newest session to
    /// continue it shows an id that is thrown away.
    pub(crate) fn is_named_at_once(&self) -> bool {
        self.mode == Some(RunMode::Hosted) && (!self.resumes || self.resumed.is_some())
    }

    /// The session id that is certain before the program has said anything.
    pub(crate) fn certain(&self) -> Option<&str> {
        self.chosen.as_deref().or(if self.forks { None } else { self.resumed.as_deref() })
    }
}

/// True unless the arguments ask for a session stream: `plugin list --json`, `--version`,
/// `mcp list`, plain `-p`. Such a call has nothing a decoder could read.
pub(crate) fn is_side_call(arguments: &[OsString]) -> bool {
    let words: Vec<_> = arguments.iter().map(|word| word.to_string_lossy()).collect();
    let streams = words.iter().enumerate().any(|(at, word)| match word.strip_prefix(OUTPUT) {
        Some("") => words.get(at + 1).is_some_and(|value| value == "stream-json"),
        Some(glued) => glued == "=stream-json",
        None => false,
    });
    let asks = |word: &str| matches!(word, "--version" | "-v" | "--help" | "-h");
    !streams || words.iter().any(|word| asks(word))
}

fn is_session_id(word: &str) -> bool {
    word.len() == 36 && word.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Arguments {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Arguments::read(&words)
    }

    fn side(line: &str) -> bool {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        is_side_call(&words)
    }

    #[test]
    fn a_call_without_a_session_stream_is_a_side_call() {
        for line in [
            "plugin list --json",
            "--version",
            "-v",
            "mcp list",
            "",
            "-p hello",
            "-p hello --output-format json",
            "--output-format text -p hi",
            "agents --json",
            "--output-format stream-json --version",
            "doctor",
        ] {
            assert!(side(line), "{line}");
        }
        for line in [
            "-p hi --output-format stream-json --verbose",
            "--output-format=stream-json --verbose --input-format=stream-json",
        ] {
            assert!(!side(line), "{line}");
        }
    }

    #[test]
    fn one_shot_hosted_and_interactive_are_told_apart() {
        assert_eq!(read("").mode, None);
        assert_eq!(read("-p hi --output-format stream-json").mode, Some(RunMode::OneShot));
        assert_eq!(read("-p --input-format stream-json").mode, Some(RunMode::Hosted));
        assert_eq!(read("--input-format=stream-json").mode, Some(RunMode::Hosted));
        assert_eq!(read("--model x").mode, Some(RunMode::Interactive));
    }

    #[test]
    fn only_an_id_that_will_stand_is_certain() {
        let id = "11111111-2222-4333-8444-555555555555";
        assert_eq!(read(&format!("--resume={id}")).certain(), Some(id));
        assert_eq!(read(&format!("--resume {id}")).certain(), Some(id));
        assert_eq!(read(&format!("--session-id {id}")).certain(), Some(id));
        assert_eq!(read(&format!("--resume={id} --fork-session")).certain(), None);
        assert_eq!(read("--resume title-of-it").certain(), None);
        assert_eq!(read("--resume -p").certain(), None);
        assert_eq!(read("--continue").certain(), None);
        assert!(read("-c").resumes);
    }
}
