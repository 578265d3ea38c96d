//! The drivers' promises, held against small files of input and what must come out.

mod claude_code;
mod recordings;
mod resolved;
mod robust;
mod script;
