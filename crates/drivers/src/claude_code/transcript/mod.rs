//! Session files: what the program writes down about its own work.
//!
//! One decoder reads one file, line by line: turns and how they ended, messages, tool calls, retries,
//! compactions, what is known of the session. A line carries the time it was made, and that time counts. What a
//! file cannot tell is not guessed: that a call has no result says nothing about a permission, and silence says
//! nothing at all.
//!
//! A copied line is no news: where a session is forked its file begins with the lines of another one, older than
//! the file. Where one is resumed after a kill the program adds results and an answer of its own making: they tell
//! that calls and their turn are over, and no answer. Following the file is the feed's work.

mod decoder;
mod line;
mod prompt;
mod result;
mod said;
mod system;

pub use decoder::TranscriptDecoder;
