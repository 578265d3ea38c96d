//! What stands between the values of a text: white space, comments, commas.
//!
//! Comments are the user's words. An edit goes around them: nothing here ever builds one or takes one out.

use std::ops::Range;

use super::layout::slice;

/// A comment that is never closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unclosed;

/// Behind the comment that begins at `at`; none if no comment begins there. The line break behind a line
/// comment is no part of it.
pub(super) fn comment_end(text: &str, at: usize) -> Option<Result<usize, Unclosed>> {
    let rest = text.get(at..)?;
    if rest.starts_with("//") {
        return Some(Ok(rest.find(['\n', '\r']).map_or(text.len(), |length| at + length)));
    }
    let inner = rest.strip_prefix("/*")?;
    Some(inner.find("*/").map(|length| at + length + 4).ok_or(Unclosed))
}

/// What stands between two values of a container, or between one and a bracket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::claude_code) struct Between {
    /// Where its comma is.
    pub(in crate::claude_code) comma: Option<usize>,
    /// Its comments.
    pub(in crate::claude_code) comments: Vec<Range<usize>>,
}

impl Between {
    /// Looks at a part of `text` in which there is no value.
    pub(in crate::claude_code) fn scan(text: &str, span: Range<usize>) -> Self {
        let mut between = Self::default();
        let mut at = span.start;
        while at < span.end {
            if let Some(Ok(end)) = comment_end(text, at) {
                between.comments.push(at..end);
                at = end;
                continue;
            }
            if text.as_bytes()[at] == b',' {
                between.comma = Some(at);
            }
            at += 1;
        }
        between
    }

    /// The comments from `at` on.
    pub(in crate::claude_code) fn comments_from(&self, at: usize) -> &[Range<usize>] {
        let first = self.comments.partition_point(|comment| comment.start < at);
        &self.comments[first..]
    }

    /// True if a comment stands before `at`.
    pub(super) fn has_comment_before(&self, at: usize) -> bool {
        self.comments.first().is_some_and(|comment| comment.start < at)
    }
}

/// Behind the comments that follow `at` on its line; `at` itself if there are none.
pub(in crate::claude_code) fn behind_comments_of_line(text: &str, at: usize) -> usize {
    let mut behind = at;
    loop {
        let rest = slice(text, behind, text.len());
        let start = text.len() - rest.trim_start_matches([' ', '\t']).len();
        match comment_end(text, start) {
            Some(Ok(end)) => behind = end,
            Some(Err(_)) | None => return behind,
        }
        if slice(text, start, behind).contains(['\n', '\r']) {
            return behind;
        }
    }
}

/// True if the comment ends with its line, so that a line break must follow it.
pub(in crate::claude_code) fn is_line_comment(text: &str, comment: &Range<usize>) -> bool {
    slice(text, comment.start, comment.end).starts_with("//")
}

/// True if nothing but blanks stand between `at` and the end of its line.
pub(in crate::claude_code) fn line_ends_at(text: &str, at: usize) -> bool {
    let rest = slice(text, at, text.len()).trim_start_matches([' ', '\t']);
    rest.is_empty() || rest.starts_with(['\n', '\r'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_and_slashes_inside_a_comment_are_none() {
        let text = "a /* , // */ , // , /* x\n b";
        let between = Between::scan(text, 1..text.len() - 1);
        assert_eq!(between.comma, Some(13));
        assert_eq!(between.comments, [2..12, 15..24]);
        assert_eq!(between.comments_from(13), &between.comments[1..]);
        assert!(between.has_comment_before(13) && !between.has_comment_before(2));
    }

    #[test]
    fn a_comment_ends_where_a_reader_thinks_it_does() {
        for (text, end) in [
            ("// a\r\nb", Some(Ok(4))),
            ("//", Some(Ok(2))),
            ("/**/x", Some(Ok(4))),
            ("/*/ */", Some(Ok(6))),
            ("/* *", Some(Err(Unclosed))),
            ("/ /", None),
            ("", None),
        ] {
            assert_eq!(comment_end(text, 0), end, "{text}");
        }
    }

    #[test]
    fn comments_of_the_next_line_belong_to_the_next_line() {
        for (text, behind) in [
            ("1 // a\n// b", 6),
            ("1 /* a */ /* b */ // c\n", 22),
            ("1 /* a\n */ // b\n", 10),
            ("1\n// a", 1),
            ("1 , // a", 1),
        ] {
            assert_eq!(behind_comments_of_line(text, 1), behind, "{text}");
        }
    }
}
