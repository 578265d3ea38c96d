//! A change of a text as a unified diff, for people.

use std::path::Path;

use similar::TextDiff;

use crate::output::table::printable;

/// The name of a side that has no file.
const NOTHING: &str = "/dev/null";

/// The difference between two texts of the file at `path`; a text that is absent is a file that is not there.
pub(in crate::commands) fn unified(
    path: &Path,
    before: Option<&str>,
    after: Option<&str>,
) -> String {
    let name = path.display().to_string();
    let side = |text: Option<&str>| if text.is_some() { name.clone() } else { NOTHING.to_owned() };
    let difference = TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default());
    let text = difference.unified_diff().header(&side(before), &side(after)).to_string();
    // What stands in a file must not move the cursor.
    let lines = text.split('\n').map(|line| {
        let line = line.strip_suffix('\r').unwrap_or(line);
        line.split('\t').map(printable).collect::<Vec<_>>().join("\t")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_shows_what_comes_and_what_goes() {
        let path = Path::new("/x/settings.json");
        let text = unified(path, Some("{\n\t\"a\": 1\n}\n"), Some("{\n\t\"a\": 2\n}\n"));
        assert_eq!(
            text,
            "--- /x/settings.json\n+++ /x/settings.json\n@@ -1,3 +1,3 @@\n {\n-\t\"a\": 1\n+\t\"a\": 2\n }\n"
        );
        assert!(unified(path, None, Some("{}\n")).starts_with("--- /dev/null\n+++ /x/"));
        assert!(unified(path, Some("{}\n"), None).contains("+++ /dev/null\n@@ -1 +0,0 @@\n-{}\n"));
    }

    #[test]
    fn nothing_in_a_file_reaches_the_terminal_as_a_command() {
        let text = unified(Path::new("x"), Some("\u{1b}[2J\r\n"), Some("\u{9b}0m\r\n"));
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    }
}
