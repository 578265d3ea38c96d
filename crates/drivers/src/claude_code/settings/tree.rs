//! JSON as places in a text: where each value begins and ends, and nothing else.
//!
//! Parses the whole text, strictly, so that a file which the agent cannot read is never edited. Values
//! are not built; keys and texts are decoded only where they are asked for.

use std::ops::Range;

use super::error::SettingsError;
use super::trivia::comment_end;

/// How deep values may be nested. Far beyond any settings, far below any stack.
const MAX_DEPTH: usize = 200;

/// A value's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::claude_code) struct Node {
    /// From its first byte to behind its last one.
    pub(in crate::claude_code) span: Range<usize>,
    /// What it is.
    pub(in crate::claude_code) kind: Kind,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::claude_code) enum Kind {
    /// An object, its members in order.
    Object(Vec<Member>),
    /// An array.
    Array(Vec<Node>),
    /// A text.
    Text,
    /// A number.
    Number,
    /// `true`.
    True,
    /// `false`.
    False,
    /// `null`.
    Null,
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::claude_code) struct Member {
    /// The key's place, quotes included.
    pub(in crate::claude_code) key: Range<usize>,
    /// The value.
    pub(in crate::claude_code) value: Node,
}

impl Member {
    /// From the key's first byte to behind the value's last one.
    pub(in crate::claude_code) fn span(&self) -> Range<usize> {
        self.key.start..self.value.span.end
    }
}

impl Node {
    /// The members of this object whose key is `key`: none, one, or several, of which the last counts.
    pub(in crate::claude_code) fn members<'a>(
        &'a self,
        text: &'a str,
        key: &'a str,
    ) -> impl DoubleEndedIterator<Item = &'a Member> {
        let members = match &self.kind {
            Kind::Object(members) => members.as_slice(),
            _ => &[],
        };
        members.iter().filter(move |member| decode(text, &member.key).as_deref() == Some(key))
    }

    /// The value that counts for `key`.
    pub(in crate::claude_code) fn get<'a>(
        &'a self,
        text: &'a str,
        key: &'a str,
    ) -> Option<&'a Node> {
        self.members(text, key).next_back().map(|member| &member.value)
    }

    /// The words for what this value is.
    pub(in crate::claude_code) fn describe(&self) -> &'static str {
        match self.kind {
            Kind::Object(_) => "an object",
            Kind::Array(_) => "an array",
            Kind::Text => "a text",
            Kind::Number => "a number",
            Kind::True | Kind::False => "true or false",
            Kind::Null => "null",
        }
    }
}

/// The places of a container's members or values.
pub(super) fn children(node: &Node) -> Vec<Range<usize>> {
    match &node.kind {
        Kind::Object(members) => members.iter().map(Member::span).collect(),
        Kind::Array(values) => values.iter().map(|value| value.span.clone()).collect(),
        _ => Vec::new(),
    }
}

/// The text at `span` (quotes included), decoded; none if it has half of a surrogate pair in it.
pub(in crate::claude_code) fn decode(text: &str, span: &Range<usize>) -> Option<String> {
    serde_json::from_str(text.get(span.clone())?).ok()
}

/// Line and column of a byte, both from 1.
pub(in crate::claude_code) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = before.get(start..).unwrap_or("").trim_start_matches(BOM).chars().count() + 1;
    (line, column)
}

/// The mark some editors put before the first character.
pub(in crate::claude_code) const BOM: char = '\u{feff}';

/// Parses `text`; none if there is nothing in it but white space and comments (and a byte order mark).
pub(in crate::claude_code) fn parse(text: &str) -> Result<Option<Node>, SettingsError> {
    Parser::of(text).all()
}

/// The line and column of the first thing in `text` that is no strict JSON though it is accepted here: a
/// comment, or a comma before a closing bracket.
pub(super) fn first_extension(text: &str) -> Option<(usize, usize)> {
    let mut parser = Parser::of(text);
    parser.all().ok()?;
    parser.extension.map(|at| position(text, at))
}

const AFTER_END: &str = "a settings file is one JSON object; look for a bracket too many above";
const CUT: &str = "the file seems cut off; look for a bracket or quote that is never closed";
const COMMENTS: &str = "a comment begins with // or stands between /* and */";
const OPEN_COMMENT: &str = "close it with */";
const COMMA: &str = "look for a missing comma or quote just before";
const QUOTES: &str = "keys and texts stand in double quotes";
const ESCAPE: &str = "a backslash in a text is written as two";
const VALUE: &str = "a value is a text in double quotes, a number, true, false, null, [ ] or { }";

struct Parser<'a> {
    text: &'a str,
    at: usize,
    /// Where the first comment or comma before a closing bracket stands.
    extension: Option<usize>,
}

impl<'a> Parser<'a> {
    fn of(text: &'a str) -> Self {
        let at = if text.starts_with(BOM) { BOM.len_utf8() } else { 0 };
        Self { text, at, extension: None }
    }

    fn all(&mut self) -> Result<Option<Node>, SettingsError> {
        self.skip_space()?;
        if self.at == self.text.len() {
            return Ok(None);
        }
        let node = self.value(0)?;
        self.skip_space()?;
        if self.at < self.text.len() {
            return Err(self.fail("text behind the end of the settings", AFTER_END));
        }
        Ok(Some(node))
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Goes past white space and comments.
    fn skip_space(&mut self) -> Result<(), SettingsError> {
        loop {
            while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
                self.at += 1;
            }
            match comment_end(self.text, self.at) {
                None => return Ok(()),
                Some(Ok(end)) => {
                    self.extension.get_or_insert(self.at);
                    self.at = end;
                }
                Some(Err(_)) => {
                    let (line, column) = position(self.text, self.at);
                    let problem = "a comment that never ends";
                    return Err(SettingsError::Syntax {
                        line,
                        column,
                        problem,
                        hint: OPEN_COMMENT,
                    });
                }
            }
        }
    }

    /// An error here; what stands here may make the hint a better one.
    fn fail(&self, problem: &'static str, hint: &'static str) -> SettingsError {
        let (line, column) = position(self.text, self.at);
        let (problem, hint) = match self.peek() {
            None => ("the text ends too early", CUT),
            Some(b'/' | b'#') => ("a character that means nothing here", COMMENTS),
            Some(b'\'') => ("a single quote", QUOTES),
            Some(_) => (problem, hint),
        };
        SettingsError::Syntax { line, column, problem, hint }
    }

    fn value(&mut self, depth: usize) -> Result<Node, SettingsError> {
        if depth > MAX_DEPTH {
            return Err(self.fail("too many brackets inside one another", CUT));
        }
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => {
                self.string()?;
                Kind::Text
            }
            Some(b'-' | b'0'..=b'9') => {
                self.number()?;
                Kind::Number
            }
            _ => self.word()?,
        };
        Ok(Node { span: start..self.at, kind })
    }

    fn word(&mut self) -> Result<Kind, SettingsError> {
        let rest = self.text.get(self.at..).unwrap_or("");
        let words = [("true", Kind::True), ("false", Kind::False), ("null", Kind::Null)];
        for (word, kind) in words {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(kind);
            }
        }
        Err(self.fail("no JSON value", VALUE))
    }

    fn object(&mut self, depth: usize) -> Result<Kind, SettingsError> {
        let mut members = Vec::new();
        self.at += 1;
        loop {
            self.skip_space()?;
            match self.peek() {
                Some(b'}') => break,
                Some(b'"') => {}
                _ => return Err(self.fail("no key in double quotes", QUOTES)),
            }
            let key = self.at;
            self.string()?;
            let key = key..self.at;
            self.skip_space()?;
            if self.peek() != Some(b':') {
                return Err(self.fail("no colon behind a key", "write \"key\": value"));
            }
            self.at += 1;
            self.skip_space()?;
            members.push(Member { key, value: self.value(depth + 1)? });
            self.skip_space()?;
            match self.peek() {
                Some(b',') => self.comma(b'}')?,
                Some(b'}') => break,
                _ => return Err(self.fail("neither `,` nor `}` behind a value", COMMA)),
            }
        }
        self.at += 1;
        Ok(Kind::Object(members))
    }

    fn array(&mut self, depth: usize) -> Result<Kind, SettingsError> {
        let mut values = Vec::new();
        self.at += 1;
        loop {
            self.skip_space()?;
            match self.peek() {
                Some(b']') => break,
                _ => values.push(self.value(depth + 1)?),
            }
            self.skip_space()?;
            match self.peek() {
                Some(b',') => self.comma(b']')?,
                Some(b']') => break,
                _ => return Err(self.fail("neither `,` nor `]` behind a value", COMMA)),
            }
        }
        self.at += 1;
        Ok(Kind::Array(values))
    }

    /// Goes past a comma, and notes it if the bracket follows.
    fn comma(&mut self, close: u8) -> Result<(), SettingsError> {
        let comma = self.at;
        self.at += 1;
        // A comment behind it comes later in the text than the comma does.
        let before = self.extension;
        self.skip_space()?;
        if self.peek() == Some(close) && before.is_none() {
            self.extension = Some(comma);
        }
        Ok(())
    }

    fn string(&mut self) -> Result<(), SettingsError> {
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    self.at += 1;
                    match self.peek() {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {}
                        Some(b'u') => {
                            let digits = self.text.as_bytes().get(self.at + 1..self.at + 5);
                            if !digits.is_some_and(|four| four.iter().all(u8::is_ascii_hexdigit)) {
                                return Err(self.fail("no four digits behind `\\u`", ESCAPE));
                            }
                            self.at += 4;
                        }
                        Some(_) => return Err(self.escape()),
                        None => return Err(self.fail("", CUT)),
                    }
                    self.at += 1;
                }
                Some(0..=0x1f) => {
                    let problem = "a line break or control character inside a text";
                    return Err(self.fail(problem, "a quote may be missing; else write \\n or \\t"));
                }
                Some(_) => self.at += 1,
                None => return Err(self.fail("", CUT)),
            }
        }
        self.at += 1;
        Ok(())
    }

    fn escape(&self) -> SettingsError {
        let (line, column) = position(self.text, self.at);
        SettingsError::Syntax { line, column, problem: "an unknown escape", hint: ESCAPE }
    }

    fn number(&mut self) -> Result<(), SettingsError> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), SettingsError> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start {
            return Err(self.fail("a number without digits", VALUE));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_wrong_file_is_refused_with_its_place_and_a_hint() {
        let cases = [
            ("{\"a\": 1,,}", 1, 9, QUOTES),
            ("{,}", 1, 2, QUOTES),
            ("{\n  \"a\": [1,\n  ,]\n}", 3, 3, VALUE),
            ("{\n  # note\n}", 2, 3, COMMENTS),
            ("{\"a\": 1 / x}", 1, 9, COMMENTS),
            ("{\n \"a\": 1 /* x }\n", 2, 9, OPEN_COMMENT),
            ("{} // x\n/*", 2, 1, OPEN_COMMENT),
            ("{'a': 1}", 1, 2, QUOTES),
            ("{a: 1}", 1, 2, QUOTES),
            ("{\"a\" 1}", 1, 6, "write \"key\": value"),
            ("{\"a\": 1 \"b\": 2}", 1, 9, COMMA),
            ("{\"ü\": nope}", 1, 7, VALUE),
            ("{\"a\": \"C:\\x\"}", 1, 11, ESCAPE),
            ("{\"a\": [", 1, 8, CUT),
            ("{\"a\": \"b", 1, 9, CUT),
            ("{} }", 1, 4, AFTER_END),
            ("{\"a\": 01}", 1, 8, COMMA),
            ("{\r\n\"a\": -\r\n}", 2, 7, VALUE),
            ("\u{feff}{x", 1, 2, QUOTES),
        ];
        for (text, line, column, hint) in cases {
            match parse(text) {
                Err(SettingsError::Syntax { line: l, column: c, hint: h, .. }) => {
                    assert_eq!((l, c, h), (line, column, hint), "{text}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn what_is_no_strict_json_is_told_with_its_place() {
        for (text, place) in [
            ("{\"a\": [1, 2]}", None),
            ("{\"//\": \"/* x */\"}", None),
            ("{\"a\": 1,}", Some((1, 8))),
            ("{\n \"a\": [1, // x\n ]}", Some((2, 9))),
            ("\u{feff}// x\n{}", Some((1, 1))),
            ("{}\n/* x */", Some((2, 1))),
            ("// nothing else", Some((1, 1))),
        ] {
            assert!(parse(text).is_ok(), "{text}");
            assert_eq!(first_extension(text), place, "{text}");
        }
    }

    #[test]
    fn very_deep_nesting_is_refused_and_not_a_crash() {
        assert!(parse(&"[".repeat(100_000)).is_err());
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        assert!(parse(&deep).is_ok());
    }

    #[test]
    fn what_the_agent_accepts_is_accepted() {
        for text in ["", " \r\n", "\u{feff}", "\u{feff} {}"] {
            assert!(parse(text).is_ok(), "{text:?}");
        }
        // Half of a surrogate pair is valid JSON though no text.
        let text = r#"{"\ud800": "\udfff"}"#;
        let node = parse(text).expect("valid").expect("a value");
        assert_eq!(node.get(text, "x"), None);
        assert_eq!(
            parse(r#"{"a":1,"\u0061":[]}"#)
                .expect("valid")
                .expect("a value")
                .get(r#"{"a":1,"\u0061":[]}"#, "a")
                .map(Node::describe),
            Some("an array")
        );
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_full_parser_on_what_is_json(
            text in "[ \\[\\]{},:\"\\\\ae0-9.tru/n\n-]{0,24}"
        ) {
            let ours =
                matches!(parse(&text), Ok(Some(_))) && first_extension(&text).is_none();
            let theirs = serde_json::from_str::<serde_json::Value>(&text);
            // Numbers beyond a float are refused by the other parser only.
            let beyond = theirs.as_ref().err().is_some_and(|error| error.to_string().contains("range"));
            prop_assert!(beyond || ours == theirs.is_ok(), "{:?}", text);
        }
    }
}
