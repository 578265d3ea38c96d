//! The script that stands in the setting.
//!
//! A shell script, because it has to work when linelamp's program is gone: it then starts the agent
//! itself. It keeps no variables, so that it neither reads nor changes the agent's environment (`dash`
//! as `/bin/sh` drops variables whose names are no identifiers; nothing sets such ones in practice), and
//! prints nothing unless there is no program to start. What it was made of stands in one of its comments,
//! as JSON, so that it can be read again.

use serde::{Deserialize, Serialize};

use super::super::settings::quote;
use super::edit::Before;

/// The file name of every launcher begins so; a hash of the settings file's path follows.
pub(super) const NAME: &str = "linelamp-claude-wrapper-";

/// Begins the comment that tells what the script was made of.
const MEMORY: &str = "# launcher: ";

/// A script that starts the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launcher {
    /// The settings file it was made for.
    pub settings: String,
    /// The linelamp program; none if the script is only kept for those who may still call it.
    pub linelamp: Option<String>,
    /// Another tool's launcher, to be started in front of the agent.
    pub chained: Option<String>,
    /// What stood in the settings before.
    pub before: Before,
}

impl Launcher {
    /// The script.
    #[expect(clippy::missing_panics_doc, reason = "texts can always be written as JSON")]
    pub fn script(&self) -> String {
        let memory = serde_json::to_string(self).expect("texts can always be written as JSON");
        let head = format!(
            "#!/bin/sh\n\
             # Starts Claude Code for an editor: through linelamp where that works, else by itself.\n\
             # `linelamp wrapper install` wrote it, `linelamp wrapper uninstall` takes it away.\n\
             {MEMORY}{memory}\n"
        );
        let chained = self.chained.as_deref();
        let chained = chained.map(|other| chain(other, &self.settings)).unwrap_or_default();
        let nothing = nothing(self.chained.as_deref());
        let linelamp = self.linelamp.as_deref().map(wrap).unwrap_or_default();
        [head, chained, nothing, linelamp, "\nexec \"$@\"\n".to_owned()].concat()
    }

    /// Reads a script again; none if it is no launcher.
    pub fn read(script: &str) -> Option<Self> {
        let memory = script.lines().take(8).find_map(|line| line.strip_prefix(MEMORY))?;
        serde_json::from_str(memory).ok()
    }

    /// The same for those who may still call it: it starts the agent and nothing of linelamp. Another
    /// tool's launcher that may itself call this one is left out.
    #[must_use]
    pub fn retired(mut self, without: Option<&str>) -> Self {
        self.linelamp = None;
        self.chained = self.chained.filter(|chained| Some(chained.as_str()) != without);
        self
    }
}

/// Puts another tool's launcher in front of the program, as long as it is there. Where the settings do not
/// name this script any more, somebody else calls it: most likely that tool, set anew, and the two would
/// call each other for ever.
fn chain(launcher: &str, settings: &str) -> String {
    let word = quote(launcher);
    let test = if launcher.contains('/') {
        format!("[ -f {word} ] && [ -x {word} ]")
    } else {
        format!("command -v {word} >/dev/null 2>&1")
    };
    let settings = quote(settings);
    format!(
        "\n# Stood in the setting before, and goes on doing its work, unless it is what calls us.\n\
         grep -qF \"${{0##*/}}\\\"\" {settings} 2>/dev/null\n\
         if [ $? -ne 1 ] && {test}; then\n    set -- {word} \"$@\"\nfi\n"
    )
}

/// Ends, with the reason, where no program was named: an extension without a program of its own, or a call
/// by hand.
fn nothing(chained: Option<&str>) -> String {
    let gone = chained.map(|launcher| format!(", and {launcher} is gone")).unwrap_or_default();
    let message = quote(&format!("linelamp: nothing to start: no program was named{gone}"));
    format!(
        "\ncase ${{1-}} in\n'' | -*)\n    printf '%s\\n' {message} >&2\n    exit 127\n    ;;\nesac\n"
    )
}

/// Becomes linelamp's wrapper, if its program works.
fn wrap(linelamp: &str) -> String {
    let word = quote(linelamp);
    format!(
        "\n# A program that is gone, empty or broken does not answer with its name.\n\
         case $({word} --version 2>/dev/null </dev/null) in\n\
         'linelamp '*) exec {word} wrap --agent claude-code -- \"$@\" ;;\n\
         esac\n"
    )
}

/// True if the setting names a launcher of ours: by its file name, wherever it is.
pub fn is_launcher(value: &str) -> bool {
    let name = value.rsplit(['/', '\\']).next().unwrap_or(value);
    let Some(rest) = name.strip_prefix(NAME) else { return false };
    let (hash, number) = rest.split_once('-').map_or((rest, None), |(hash, n)| (hash, Some(n)));
    let is_number = |n: &str| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit());
    hash.len() == 16
        && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
        && number.is_none_or(is_number)
}

/// The file name of the launcher for a settings file: `number` 1 is the first, and normally the only one.
pub(super) fn name(settings: &str, number: u32) -> String {
    // FNV-1a: the same on every machine and in every version.
    let hash = settings.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    if number == 1 { format!("{NAME}{hash:016x}") } else { format!("{NAME}{hash:016x}-{number}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launcher(chained: Option<&str>) -> Launcher {
        Launcher {
            settings: "/home/a/it's \"$HOME\"\n/settings.json".to_owned(),
            linelamp: Some("/opt/it's $1/linelamp".to_owned()),
            chained: chained.map(str::to_owned),
            before: Before::Empty("// \"a\"\n#!/bin/sh\n".to_owned()),
        }
    }

    #[test]
    fn a_script_tells_what_it_was_made_of() {
        for chained in [None, Some("/opt/other 'tool'"), Some("bare")] {
            let launcher = launcher(chained);
            assert_eq!(Launcher::read(&launcher.script()).as_ref(), Some(&launcher));
        }
        assert_eq!(Launcher::read("#!/bin/sh\nexec \"$@\"\n"), None);
        assert_eq!(Launcher::read("#!/bin/sh\n# launcher: {}\n"), None);
    }

    #[test]
    fn a_retired_script_starts_nothing_of_linelamp_and_never_its_caller() {
        let kept = launcher(Some("/opt/other")).retired(None).script();
        assert!(!kept.contains("exec '/opt/it"), "{kept}");
        assert!(kept.contains("set -- '/opt/other' \"$@\""), "{kept}");
        let alone = launcher(Some("/opt/other")).retired(Some("/opt/other")).script();
        assert!(!alone.contains("set --"), "{alone}");
    }

    #[test]
    fn only_the_exact_name_is_ours() {
        let ours = name("/home/a/settings.json", 1);
        assert_eq!(ours, name("/home/a/settings.json", 1));
        assert_ne!(ours, name("/home/b/settings.json", 1));
        assert!(is_launcher(&format!("/x y/{ours}")));
        assert!(is_launcher(&format!("/x/{}", name("/home/a/settings.json", 2))));
        for value in [
            "",
            "/usr/bin/linelamp",
            "/x/linelamp-claude-wrapper-",
            "/x/linelamp-claude-wrapper-0123456789abcdeg",
            "/x/linelamp-claude-wrapper-0123456789abcdef-",
            "/x/linelamp-claude-wrapper-0123456789abcdef-2b",
            "/x/my-linelamp-claude-wrapper-0123456789abcdef",
            "/linelamp-claude-wrapper-0123456789abcdef/other",
        ] {
            assert!(!is_launcher(value), "{value}");
        }
    }
}
