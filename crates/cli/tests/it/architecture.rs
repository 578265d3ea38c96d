//! What the layout of the workspace promises.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn crates_depend_only_in_the_allowed_direction() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("metadata");
    let allowed: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("linelamp-core", &[][..]),
        ("linelamp-drivers", &["linelamp-core"][..]),
        ("linelamp-feeds", &["linelamp-core"][..]),
        ("linelamp-sinks", &["linelamp-core"][..]),
        (
            "linelamp",
            &["linelamp-core", "linelamp-drivers", "linelamp-feeds", "linelamp-sinks"][..],
        ),
    ]);
    let packages = metadata["packages"].as_array().expect("packages");
    assert_eq!(packages.len(), allowed.len(), "a new crate needs a place in the order");
    for package in packages {
        let name = package["name"].as_str().expect("a name");
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let to = dependency["name"].as_str().expect("a name");
            // A test may use what the crate itself may not.
            let inside = to.starts_with("linelamp") && dependency["kind"] != "dev";
            assert!(!inside || allowed[name].contains(&to), "{name} must not depend on {to}");
        }
    }
}

#[test]
fn unsafe_code_stands_only_in_platform_files() {
    fn visit(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                visit(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let mut files = Vec::new();
    for krate in ["core", "drivers", "feeds", "sinks", "cli"] {
        visit(&root().join("crates").join(krate).join("src"), &mut files);
    }
    let allowed = ["unix.rs", "windows.rs"];
    for file in files {
        let name = file.file_name().and_then(|name| name.to_str()).expect("a name");
        let text = std::fs::read_to_string(&file).expect("text");
        let has =
            text.contains("unsafe {") || text.contains("unsafe fn") || text.contains("unsafe impl");
        assert!(!has || allowed.contains(&name), "{}", file.display());
    }
}

#[test]
fn the_published_schema_is_the_one_the_types_give() {
    let output = Command::new(env!("CARGO_BIN_EXE_linelamp")).arg("schema").output().expect("runs");
    let path = root().join("docs/schema/event.json");
    let published = std::fs::read_to_string(&path).expect("the schema is published");
    assert_eq!(
        published,
        String::from_utf8(output.stdout).expect("text"),
        "write it anew: cargo run -- schema > docs/schema/event.json"
    );
}
