//! `explain`: why a session is in its state.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Result, bail};
use jiff::Timestamp;
use linelamp_core::event::Trust;
use linelamp_core::id::SessionKey;
use linelamp_core::state::{Change, Explanation, OpenRequest, Overruled, Weighed};
use serde::Serialize;

use crate::args::{ExplainArgs, Format};
use crate::client::Client;
use crate::daemon::protocol::{Request, Response};
use crate::exit::{Failure, NO_SESSION};
use crate::output::table::printable;
use crate::output::time::{age, until};
use crate::paths::Paths;

/// The explanation JSON, version 1. Fields are only added within a version.
#[derive(Debug, Serialize)]
struct ExplanationJson<'a> {
    v: u32,
    agent: &'a str,
    id: &'a str,
    #[serde(flatten)]
    explanation: &'a Explanation,
}

/// Explains one session.
pub(crate) fn run(args: &ExplainArgs) -> Result<ExitCode> {
    let (sessions, _) = super::list::sessions()?;
    let state = super::show::find(&sessions, &args.id)?;
    let session = &state.session;
    let explanation = ask(session)?;
    let mut out = std::io::stdout().lock();
    match args.format {
        Format::Table => {
            write!(out, "{}", page(session, state.since, &explanation, Timestamp::now()))?;
        }
        Format::Json | Format::Ndjson => {
            let json = ExplanationJson {
                v: 1,
                agent: session.agent.as_str(),
                id: session.id.as_str(),
                explanation: &explanation,
            };
            serde_json::to_writer(&mut out, &json)?;
            writeln!(out)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn ask(session: &SessionKey) -> Result<Explanation> {
    let mut client = Client::connect(&Paths::find()?.state)?;
    match client.ask(&Request::Explain { session: session.clone() })? {
        Response::Explanation { explanation: Some(explanation) } => Ok(*explanation),
        Response::Explanation { explanation: None } => {
            Err(Failure::new(NO_SESSION, format!("the session {session} has just been forgotten"))
                .into())
        }
        other => bail!("the daemon gave another answer than asked for: {other:?}"),
    }
}

/// The explanation for people.
fn page(
    session: &SessionKey,
    since: Timestamp,
    explanation: &Explanation,
    now: Timestamp,
) -> String {
    let mut rows = vec![
        ("session", session.to_string()),
        ("state", state(explanation, since, now)),
        ("because", because(explanation, now)),
    ];
    if let Some(word) = explanation.word.as_ref().filter(|word| word.overruled.is_some()) {
        let text = format!(
            "{}, {} ago; {}",
            word.sign.describe(),
            age(word.at, now),
            word.overruled.map_or("", why)
        );
        rows.push(("process", text));
    }
    rows.extend(explanation.open.iter().map(|request| ("open", open(request, now))));
    if explanation.background > 0 {
        rows.push(("background", format!("{} running", explanation.background)));
    }
    rows.extend(explanation.activity.map(|activity| ("activity", activity.to_string())));
    if let Some(outcome) = explanation.outcome {
        let error = explanation.error.map_or_else(String::new, |error| format!(" ({error})"));
        rows.push(("last turn", format!("{outcome}{error}")));
    }
    let speaks = match explanation.least_trust {
        Trust::Authoritative => "whoever holds the session's stream, alone",
        _ => "every feed, by weight and time",
    };
    rows.push(("who counts", speaks.to_owned()));
    let overruled = overruled(&explanation.overruled, now);
    for (place, line) in overruled.into_iter().enumerate() {
        rows.push((if place == 0 { "overruled" } else { "" }, line));
    }
    rows.push(("changes with", list(&explanation.changes)));
    if let Some((at, then)) = explanation.until.zip(explanation.then) {
        rows.push(("else", format!("{then} in {} if nothing is heard", until(at, now))));
    }
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines: Vec<String> =
        rows.iter().map(|(name, text)| format!("{name:<width$}  {}\n", printable(text))).collect();
    lines.concat()
}

fn state(explanation: &Explanation, since: Timestamp, now: Timestamp) -> String {
    let waiting_for =
        explanation.waiting_for.map_or_else(String::new, |waiting_for| format!(" ({waiting_for})"));
    format!("{}{waiting_for}, for {}", explanation.status, age(since, now))
}

fn because(explanation: &Explanation, now: Timestamp) -> String {
    let Some(decided) = &explanation.decided else {
        return "nothing was seen that says more".to_owned();
    };
    let is_word = explanation.word.as_ref().is_some_and(|word| word.event == decided.event);
    let told = match decided.trust {
        _ if is_word => "the process itself",
        Some(trust) => trust.as_str(),
        None => "whoever tells it",
    };
    format!(
        "{}, {} ago ({told}, event {})",
        decided.sign.describe(),
        age(decided.at, now),
        decided.event
    )
}

fn open(request: &OpenRequest, now: Timestamp) -> String {
    let tool = request.tool.as_ref().map_or_else(String::new, |tool| format!(" {tool}"));
    let scope = if request.scope.is_main() {
        String::new()
    } else {
        format!(", subagent {}", request.scope)
    };
    format!("{}{tool}{scope}, {} ago", request.waiting_for, age(request.since, now))
}

/// What did not decide, in columns.
fn overruled(all: &[Weighed], now: Timestamp) -> Vec<String> {
    let rows: Vec<[String; 4]> = all
        .iter()
        .map(|weighed| {
            [
                weighed.sign.describe().to_owned(),
                format!("{} ago", age(weighed.at, now)),
                weighed.trust.map_or_else(String::new, |trust| trust.to_string()),
                weighed.overruled.map_or("", why).to_owned(),
            ]
        })
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    rows.iter()
        .map(|[sign, age, trust, why]| {
            format!("{sign:<0$}  {age:<1$}  {trust:<2$}  {why}", widths[0], widths[1], widths[2])
        })
        .collect()
}

fn why(overruled: Overruled) -> &'static str {
    match overruled {
        Overruled::Older => "older than what counts",
        Overruled::Weaker => "later, and weighs less",
        Overruled::Outweighed => "what decided goes before it",
        Overruled::Unheard => "has no say beside the stream",
    }
}

/// `a, b or c`
fn list(changes: &[Change]) -> String {
    let mut text = String::new();
    for (place, change) in changes.iter().enumerate() {
        match place {
            0 => {}
            _ if place + 1 == changes.len() => text.push_str(" or "),
            _ => text.push_str(", "),
        }
        text.push_str(change.describe());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Explanations as JSON, each with the page it gives: `tests/fixtures/explain/NAME.json` and `.txt`.
    #[test]
    fn every_explanation_reads_as_written_down() {
        let folder =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/explain");
        let now: Timestamp = "2026-11-30T12:00:00Z".parse().expect("a timestamp");
        let since: Timestamp = "2026-11-30T11:56:00Z".parse().expect("a timestamp");
        let session = SessionKey::new("claude-code", "0f9d2c1e-77aa");
        let mut seen = 0;
        for entry in std::fs::read_dir(&folder).expect("fixtures").flatten() {
            let path = entry.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("text");
            let explanation: Explanation = serde_json::from_str(&text).expect("an explanation");
            let page = page(&session, since, &explanation, now);
            let golden = std::fs::read_to_string(path.with_extension("txt")).expect("a page");
            assert_eq!(page, golden, "{}", path.display());
            seen += 1;
        }
        assert!(seen >= 4, "only {seen}");
    }
}
