//! Where new children of a container go, and how they are set apart from what is there.
//!
//! They go behind the last child. A comment on the last child's line stays with that child, and where the
//! file puts a comma behind the last child, ours get one as well.

use super::layout::{Layout, indent_of_line, slice, space_before};
use super::tree::{Node, children};
use super::trivia::{Between, behind_comments_of_line};

/// A place in one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The indentation of a new child.
    pub(super) indent: String,
    /// Where they go.
    at: usize,
    /// What stands in front of each of them.
    gap: String,
    neighbour: Neighbour,
}

/// What there is in the container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Neighbour {
    /// Nothing.
    None,
    /// A last child that ends here, with no comma behind it.
    Last(usize),
    /// A last child with a comma behind it.
    LastWithComma,
}

impl Place {
    /// The place for new children of `container`.
    pub(super) fn in_container(text: &str, container: &Node, layout: &Layout) -> Self {
        let outer = indent_of_line(text, container.span.start);
        let spans = children(container);
        let Some(last) = spans.last() else {
            // Right behind the bracket: this tells a removal that the container was there before.
            let indent = layout.deeper(outer);
            let gap = layout.gap(&indent);
            let at = container.span.start + 1;
            return Self { indent, at, gap, neighbour: Neighbour::None };
        };
        let (gap, indent) = gap_before(text, container, last.start, outer, layout);
        let inside = last.end..container.span.end - 1;
        let (end, neighbour) = match Between::scan(text, inside).comma {
            Some(comma) => (comma + 1, Neighbour::LastWithComma),
            None => (last.end, Neighbour::Last(last.end)),
        };
        // Behind a line comment there must be a line break.
        let at = if gap.contains('\n') { behind_comments_of_line(text, end) } else { end };
        Self { indent, at, gap, neighbour }
    }

    /// The pieces that put `children` there.
    pub(super) fn of(&self, children: &[String]) -> Vec<(usize, String)> {
        let gap = &self.gap;
        let joined = children.join(&format!(",{gap}"));
        match self.neighbour {
            Neighbour::None => vec![(self.at, joined)],
            Neighbour::Last(end) if end == self.at => vec![(end, format!(",{gap}{joined}"))],
            Neighbour::Last(end) => {
                vec![(end, ",".to_owned()), (self.at, format!("{gap}{joined}"))]
            }
            Neighbour::LastWithComma => vec![(self.at, format!("{gap}{joined},"))],
        }
    }
}

/// The white space in front of a new child, like that in front of the last one, and its indentation.
fn gap_before(
    text: &str,
    container: &Node,
    last: usize,
    outer: &str,
    layout: &Layout,
) -> (String, String) {
    // Blanks before a line break would come to stand at the end of somebody else's line.
    let gap = space_before(text, last).trim_start_matches([' ', '\t']);
    if let Some((_, indent)) = gap.rsplit_once('\n') {
        return (gap.to_owned(), indent.to_owned());
    }
    let spans = children(container);
    let before = spans.iter().rev().nth(1).map_or(container.span.start, |previous| previous.end);
    if slice(text, before, last).contains('\n') && !layout.is_one_line() {
        // A comment stands between the line break and the child.
        let indent = indent_of_line(text, last).to_owned();
        return (layout.gap(&indent), indent);
    }
    let gap = space_before(text, last);
    let gap = if gap.is_empty() && !layout.is_one_line() { " " } else { gap };
    (gap.to_owned(), outer.to_owned())
}

/// The text with pieces put in; each place is one of `text`.
pub(super) fn insert(text: &str, mut pieces: Vec<(usize, String)>) -> String {
    pieces.sort_by_key(|piece| piece.0);
    let mut result = String::with_capacity(text.len() + 4096);
    let mut at = 0;
    for (place, piece) in pieces {
        result.push_str(slice(text, at, place));
        result.push_str(&piece);
        at = place;
    }
    result.push_str(slice(text, at, text.len()));
    result
}
