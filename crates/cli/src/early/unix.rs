//! The step before `main` on Linux with glibc: constructors get the program's arguments.
#![expect(unsafe_code, reason = "a constructor is declared by its place in the program file")]

use std::ffi::{CStr, c_char, c_int};

use crate::commands::hook;

/// Called by the C library before `main`, after the standard library's own constructor, which has a priority
/// and so comes first: it makes the arguments readable.
// SAFETY: the section holds pointers to functions of this signature, which glibc calls once, on the main thread.
#[used]
#[unsafe(link_section = ".init_array")]
static EARLY: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = early;

extern "C" fn early(count: c_int, arguments: *const *const c_char, _: *const *const c_char) {
    if count < 2 || arguments.is_null() {
        return;
    }
    // SAFETY: the C library passes `count` strings that live as long as the process.
    let command = unsafe { CStr::from_ptr(*arguments.add(1)) };
    if command != c"hook" || hook::is_question() {
        return;
    }
    hook::run();
    // SAFETY: always sound; nothing of this process is waited for or flushed, as nothing was printed.
    unsafe { libc::_exit(0) }
}
