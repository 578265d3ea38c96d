//! The likely order of two streams of which only the lines were kept.
//!
//! An answer comes after its question; that much is certain, and nearly all lines hang on one. For the
//! rest the host is taken to be a patient one: it asks one thing after the other and sends a prompt when
//! the turn before it is over. Questions are known by the two protocols agents speak on their streams:
//! control frames (`request_id`) and JSON-RPC (`id`).

use std::collections::HashSet;

use linelamp_core::driver::Direction;
use serde_json::Value;

use super::file::LineFile;

/// The lines of both streams in one order, each with its number.
pub(super) fn interleave(stdin: &LineFile, stdout: &LineFile) -> Vec<(Direction, usize)> {
    let mut sent = Side::new(stdin);
    let mut received = Side::new(stdout);
    let mut order = Vec::with_capacity(stdin.len() + stdout.len());
    let (mut prompts, mut results) = (0_usize, 0_usize);
    loop {
        let direction = match (sent.next(), received.next()) {
            (None, None) => return order,
            (Some(_), None) => Direction::ToAgent,
            (None, Some(_)) => Direction::FromAgent,
            (Some(to), Some(from)) => {
                let may_go = match to {
                    // The question it answers has not been asked yet.
                    Part::Answer(key) if received.will_ask(key) => false,
                    // Control frames are answered at once: the answer says when they were sent.
                    Part::Control(key) if received.will_answer(key) => false,
                    Part::Call(_) => !sent.waits_for(&received),
                    Part::Prompt => {
                        !sent.waits_for(&received)
                            && (prompts <= results || received.results_left == 0)
                    }
                    _ => true,
                };
                let is_due = matches!(from, Part::Answer(key) if sent.will_ask(key));
                if may_go || is_due { Direction::ToAgent } else { Direction::FromAgent }
            }
        };
        let (side, other) = match direction {
            Direction::ToAgent => (&mut sent, &mut received),
            Direction::FromAgent => (&mut received, &mut sent),
        };
        let Some((number, part)) = side.take() else { return order };
        order.push((direction, number));
        match part {
            Part::Prompt => prompts += 1,
            Part::Result => results += 1,
            Part::Answer(key) => {
                other.open.remove(&key);
            }
            _ => {}
        }
    }
}

/// What a line is in its protocol.
#[derive(Clone, Debug, PartialEq)]
enum Part {
    /// A control frame that will be answered at once.
    Control(String),
    /// A JSON-RPC call.
    Call(String),
    /// The answer to a question of the other side.
    Answer(String),
    /// A prompt of the stream protocol.
    Prompt,
    /// The end of a turn of the stream protocol.
    Result,
    /// Anything else.
    Plain,
}

impl Part {
    fn of(line: &[u8]) -> Self {
        let Ok(value) = serde_json::from_slice::<Value>(line) else { return Self::Plain };
        let id = |holder: &Value, key: &str| match holder.get(key) {
            Some(Value::Null) | None => None,
            Some(id) => Some(id.to_string()),
        };
        match value.get("type").and_then(Value::as_str) {
            Some("control_request") => id(&value, "request_id").map_or(Self::Plain, Self::Control),
            Some("control_response") => value
                .get("response")
                .and_then(|response| id(response, "request_id"))
                .map_or(Self::Plain, Self::Answer),
            Some("user") => Self::Prompt,
            Some("result") => Self::Result,
            _ => match id(&value, "id") {
                Some(id) if value.get("method").is_some() => Self::Call(id),
                Some(id) if value.get("result").is_some() || value.get("error").is_some() => {
                    Self::Answer(id)
                }
                _ => Self::Plain,
            },
        }
    }
}

/// One stream, and what is still to come of it.
struct Side {
    lines: Vec<Part>,
    next: usize,
    /// Questions to come.
    asks: HashSet<String>,
    /// Answers to come.
    answers: HashSet<String>,
    /// Questions asked and not answered yet.
    open: HashSet<String>,
    results_left: usize,
}

impl Side {
    fn new(file: &LineFile) -> Self {
        let lines: Vec<Part> = (1..=file.len())
            .map(|number| Part::of(file.line(number).unwrap_or_default()))
            .collect();
        let (mut asks, mut answers, mut results_left) = (HashSet::new(), HashSet::new(), 0);
        for line in &lines {
            match line {
                Part::Control(key) | Part::Call(key) => {
                    asks.insert(key.clone());
                }
                Part::Answer(key) => {
                    answers.insert(key.clone());
                }
                Part::Result => results_left += 1,
                Part::Prompt | Part::Plain => {}
            }
        }
        Self { lines, next: 0, asks, answers, open: HashSet::new(), results_left }
    }

    fn next(&self) -> Option<&Part> {
        self.lines.get(self.next)
    }

    fn will_ask(&self, key: &str) -> bool {
        self.asks.contains(key)
    }

    fn will_answer(&self, key: &str) -> bool {
        self.answers.contains(key)
    }

    /// Something was asked that the other side is going to answer.
    fn waits_for(&self, other: &Self) -> bool {
        self.open.iter().any(|key| other.will_answer(key))
    }

    /// The next line's number and what it is.
    fn take(&mut self) -> Option<(usize, Part)> {
        let part = self.next()?.clone();
        self.next += 1;
        match &part {
            Part::Control(key) | Part::Call(key) => {
                self.asks.remove(key);
                self.open.insert(key.clone());
            }
            Part::Answer(key) => {
                self.answers.remove(key);
            }
            Part::Result => self.results_left -= 1,
            Part::Prompt | Part::Plain => {}
        }
        Some((self.next, part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(stdin: &[&str], stdout: &[&str]) -> Vec<String> {
        let file = |lines: &[&str]| LineFile::new(lines.join("\n").into_bytes());
        interleave(&file(stdin), &file(stdout))
            .into_iter()
            .map(|(direction, number)| match direction {
                Direction::ToAgent => format!(">{number}"),
                Direction::FromAgent => format!("<{number}"),
            })
            .collect()
    }

    #[test]
    fn an_answer_comes_after_its_question_on_both_sides() {
        let stdin = [
            r#"{"type":"control_request","request_id":"h1","request":{"subtype":"initialize"}}"#,
            r#"{"type":"user","message":{}}"#,
            r#"{"type":"control_response","response":{"request_id":"c1"}}"#,
            r#"{"type":"user","message":{}}"#,
            r#"{"type":"control_request","request_id":"h2","request":{"subtype":"interrupt"}}"#,
        ];
        let stdout = [
            r#"{"type":"control_response","response":{"request_id":"h1"}}"#,
            r#"{"type":"system","subtype":"init"}"#,
            r#"{"type":"control_request","request_id":"c1"}"#,
            r#"{"type":"result"}"#,
            r#"{"type":"assistant"}"#,
            r#"{"type":"control_response","response":{"request_id":"h2"}}"#,
            r#"{"type":"result"}"#,
        ];
        assert_eq!(order(&stdin, &stdout).join(" "), ">1 <1 >2 <2 <3 >3 <4 >4 <5 >5 <6 <7");
    }

    #[test]
    fn calls_are_made_one_after_the_other_and_ids_of_the_two_sides_are_apart() {
        let stdin = [
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt"}"#,
            r#"{"jsonrpc":"2.0","id":0,"result":{}}"#,
        ];
        let stdout = [
            r#"{"jsonrpc":"2.0","id":0,"result":{}}"#,
            r#"{"jsonrpc":"2.0","method":"session/update"}"#,
            r#"{"jsonrpc":"2.0","id":0,"method":"session/request_permission"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        ];
        assert_eq!(order(&stdin, &stdout).join(" "), ">1 <1 >2 <2 <3 >3 <4");
    }

    proptest::proptest! {
        #[test]
        fn every_line_comes_once_and_in_its_streams_order(
            stdin in proptest::collection::vec(0_usize..7, 0..12),
            stdout in proptest::collection::vec(0_usize..7, 0..12),
        ) {
            let lines = [
                r#"{"type":"user"}"#, r#"{"type":"result"}"#, r#"{"id":1,"method":"x"}"#,
                r#"{"id":1,"result":0}"#, r#"{"type":"control_request","request_id":"1"}"#,
                r#"{"type":"control_response","response":{"request_id":"1"}}"#, "no json",
            ];
            let pick = |chosen: &[usize]| chosen.iter().map(|index| lines[*index]).collect::<Vec<_>>();
            let order = order(&pick(&stdin), &pick(&stdout));
            for (mark, count) in [('>', stdin.len()), ('<', stdout.len())] {
                let of_side: Vec<_> = order.iter().filter(|line| line.starts_with(mark)).collect();
                let expected: Vec<_> = (1..=count).map(|number| format!("{mark}{number}")).collect();
                proptest::prop_assert_eq!(of_side, expected.iter().collect::<Vec<_>>());
            }
        }
    }
}
