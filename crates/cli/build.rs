//! Links the binary so that it starts fast on Linux: the hook client is started thousands of times a day.
//!
//! A position-dependent program has no relocations to apply, and one that brings its unwinder along has one
//! library less to load. Both are left out where the toolchain cannot do them; nothing else depends on them.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// The part of GCC that Rust's panics unwind with.
const UNWINDER: &str = "gcc_eh";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let is_linux = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    let is_static = env::var("CARGO_CFG_TARGET_FEATURE")
        .is_ok_and(|features| features.split(',').any(|feature| feature == "crt-static"));
    if !is_linux || is_static {
        return;
    }
    println!("cargo:rustc-link-arg-bins=-no-pie");
    let is_native = env::var("HOST").ok() == env::var("TARGET").ok();
    if let Some(folder) = unwinder_folder().filter(|_| is_native) {
        println!("cargo:rustc-link-search=native={}", folder.display());
        println!("cargo:rustc-link-lib=static:-bundle={UNWINDER}");
    }
}

/// Where the C compiler keeps the unwinder as a static library, if it has one.
fn unwinder_folder() -> Option<PathBuf> {
    let asked = format!("-print-file-name=lib{UNWINDER}.a");
    let answer = Command::new("cc").arg(asked).output().ok()?;
    let path = PathBuf::from(String::from_utf8(answer.stdout).ok()?.trim());
    // An unknown name comes back as it was.
    path.is_absolute().then(|| path.parent().map(Into::into))?
}
