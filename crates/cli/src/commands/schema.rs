//! `schema`: the JSON Schema of events, as it is kept in `docs/schema/event.json`.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use linelamp_core::event::schema::event_schema;

/// Prints the schema.
pub(crate) fn run() -> Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, &event_schema())?;
    writeln!(out)?;
    Ok(ExitCode::SUCCESS)
}
