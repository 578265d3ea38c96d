//! Children with a purpose. What `sh` can do is left to `sh`.

use std::ffi::OsString;
use std::io::Write as _;

/// Plays the child named `word`.
pub(crate) fn run(word: &str, arguments: impl Iterator<Item = OsString>) {
    let numbers: Vec<u64> =
        arguments.filter_map(|argument| argument.to_str()?.parse().ok()).collect();
    match (word, numbers.as_slice()) {
        ("burst", [lines, every]) => burst(*lines, *every),
        ("long", [bytes]) => long(*bytes),
        _ => {}
    }
}

/// So many lines in one go, every so-and-so-many-th of them one that carries state.
fn burst(lines: u64, every: u64) {
    let mut text = Vec::new();
    let padding = "x".repeat(200);
    for number in 1..=lines {
        let line = if number % every == 0 {
            format!("{{\"must\":{number}}}\n")
        } else {
            format!("{{\"delta\":{number},\"padding\":\"{padding}\"}}\n")
        };
        text.extend_from_slice(line.as_bytes());
    }
    std::io::stdout().write_all(&text).ok();
}

/// A line, one that is too long, another line, and a last one without its newline.
fn long(bytes: u64) {
    println!("{{\"must\":1}}");
    let mut output = std::io::stdout().lock();
    let block = vec![b'y'; 1 << 16];
    let mut left = usize::try_from(bytes).unwrap_or(0);
    while left > 0 {
        let length = left.min(block.len());
        output.write_all(&block[..length]).ok();
        left -= length;
    }
    output.write_all(b"\n{\"must\":2}\n{\"must\":3}").ok();
}
