//! The specification of the bus names a test for each promise: each of them must exist.

use std::fs;
use std::path::{Path, PathBuf};

/// The Rust files below `folder`.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn every_test_the_specification_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let spec = fs::read_to_string(root.join("../../docs/spec/bus.md")).expect("the specification");
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    sources(&root.join("tests"), &mut files);
    let code: String =
        files.iter().map(|file| fs::read_to_string(file).expect("a source file")).collect();
    let is_test = |name: &&str| {
        name.matches('_').count() >= 2
            && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_lowercase())
    };
    let named: Vec<&str> = spec.split('`').skip(1).step_by(2).filter(is_test).collect();
    assert!(named.len() > 50, "the specification names its tests: {named:?}");
    let missing: Vec<_> =
        named.into_iter().filter(|name| !code.contains(&format!("fn {name}("))).collect();
    assert!(missing.is_empty(), "named and not there: {missing:?}");
}
