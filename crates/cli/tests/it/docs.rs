//! Every command in the documentation is one that exists.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn pages() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"]
        .iter()
        .map(|name| root().join(name))
        .collect();
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found
}

/// The `linelamp …` commands of a page: lines of `sh` blocks, and code in running text.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_block = false;
    for line in text.lines() {
        if let Some(fence) = line.trim().strip_prefix("```") {
            in_block = fence == "sh";
            continue;
        }
        if in_block {
            found.push(line.trim().to_owned());
        } else {
            found.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    found.retain(|command| command.starts_with("linelamp "));
    found
}

/// The words of a command up to what the shell would take.
fn words(command: &str) -> Vec<String> {
    command
        .split_whitespace()
        .take_while(|word| !matches!(*word, "|" | ">" | "#" | "&&" | "…" | "--"))
        .filter(|word| !word.contains('[') && !word.contains('|') && !word.contains('…'))
        .map(|word| word.trim_matches('\'').trim_matches('"').to_owned())
        .collect()
}

#[test]
fn every_command_in_the_docs_exists_with_its_options() {
    let mut seen = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("text");
        for command in commands(&text) {
            let words = words(&command);
            // `help` for the subcommand proves that it exists and tells its options.
            let names: Vec<&String> = words[1..]
                .iter()
                .take_while(|word| {
                    word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
                        && !word.starts_with('-')
                })
                .take(2)
                .collect();
            let Some(name) = names.first() else { continue };
            let nested = matches!(name.as_str(), "hooks" | "config" | "wrapper");
            let mut help = Command::new(env!("CARGO_BIN_EXE_linelamp"));
            help.arg("help").args(names.iter().take(if nested { 2 } else { 1 }));
            let output = help.output().expect("the program runs");
            let text = String::from_utf8(output.stdout).expect("text");
            assert!(output.status.success(), "{}: {command}", page.display());
            for option in words.iter().filter(|word| word.starts_with("--")) {
                let option = option.split('=').next().unwrap_or(option);
                assert!(text.contains(option), "{}: {command}: no {option}", page.display());
            }
            seen += 1;
        }
    }
    assert!(seen > 10, "only {seen} commands were found");
}

#[test]
fn links_between_pages_lead_somewhere() {
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("text");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or(link);
            if target.is_empty() || target.contains("://") {
                continue;
            }
            let path = page.parent().expect("a folder").join(target);
            assert!(path.exists(), "{}: {link}", page.display());
        }
    }
}
