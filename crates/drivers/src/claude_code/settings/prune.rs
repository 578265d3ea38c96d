//! Taking children out of a container, with their commas, and the container as well if we made it.
//!
//! Comments stay wherever a user put them beside our entries; only one inside an entry of ours goes with it.

use std::ops::Range;

use super::layout::{slice, space_before};
use super::tree::{Node, children};
use super::trivia::{Between, is_line_comment, line_ends_at};

/// A part of the text that goes.
type Cut = Range<usize>;

/// What becomes of a value when our hooks go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fate {
    /// All of it was ours, or was made for ours.
    pub(super) gone: bool,
    /// Otherwise, what is cut out of it.
    pub(super) cuts: Vec<Cut>,
}

/// Joins the fates of a container's children into its own.
pub(super) fn prune(text: &str, container: &Node, fates: &[Fate]) -> Fate {
    let spans = children(container);
    let close = container.span.end - 1;
    let all = !fates.is_empty() && fates.iter().all(|fate| fate.gone);
    if all && !has_comments(text, container, &spans) {
        let was_there = space_before(text, spans[0].start).is_empty();
        let last = spans[spans.len() - 1].end;
        let end = Between::scan(text, last..close).comma.map_or(last, |comma| comma + 1);
        return Fate { gone: !was_there, cuts: std::iter::once(spans[0].start..end).collect() };
    }
    let mut cuts = Vec::new();
    let mut index = 0;
    while index < fates.len() {
        let run = fates[index..].iter().take_while(|fate| fate.gone).count();
        if run == 0 {
            cuts.extend(fates[index].cuts.iter().cloned());
            index += 1;
        } else {
            cuts.extend(cuts_of_run(text, &spans, index..index + run, close));
            index += run;
        }
    }
    Fate { gone: false, cuts }
}

/// The cuts that take out children which stand next to one another, with as many commas.
fn cuts_of_run(text: &str, spans: &[Range<usize>], run: Range<usize>, close: usize) -> Vec<Cut> {
    let first = spans[run.start].start;
    let last = spans[run.end - 1].end;
    let next = spans.get(run.end).map(|next| next.start);
    let behind = Between::scan(text, last..next.unwrap_or(close));
    let previous = run.start.checked_sub(1).map(|index| spans[index].end);
    let before = previous.map(|end| Between::scan(text, end..first)).unwrap_or_default();

    let mut cuts = spans[run.clone()].to_vec();
    let mut is_commented = false;
    for pair in spans[run].windows(2) {
        let between = Between::scan(text, pair[0].end..pair[1].start);
        is_commented |= !between.comments.is_empty();
        cuts.push(match between.comma {
            Some(comma) if !between.comments.is_empty() => comma..comma + 1,
            _ => pair[0].end..pair[1].start,
        });
    }
    if let Some(comma) = behind.comma {
        let has_comment = behind.has_comment_before(comma);
        is_commented |= has_comment;
        cuts.push(if has_comment { comma..comma + 1 } else { last..comma + 1 });
    }
    // The white space in front of the first child, up to a comment; where that one ends with its line and
    // no line break would follow, the white space stays.
    let lead = |comma: usize, end: usize| match before.comments_from(comma).last() {
        Some(comment)
            if is_line_comment(text, comment) && (is_commented || !line_ends_at(text, end)) =>
        {
            first..first
        }
        Some(comment) => comment.end..first,
        None => comma + 1..first,
    };
    match (before.comma, behind.comma) {
        // The comma in front stays.
        (Some(front), Some(back)) => cuts.push(lead(front, back + 1)),
        // The last child: the comma in front goes.
        (Some(front), None) => {
            let has_comment = before.has_comment_before(front);
            let from = previous.filter(|_| !has_comment).unwrap_or(front);
            cuts.extend([from..front + 1, lead(front, last)]);
        }
        // The first child: the next one gets its place.
        (None, Some(back)) => {
            let comment = behind.comments_from(back).first().map(|comment| comment.start);
            cuts.extend(comment.or(next).map(|end| back + 1..end));
        }
        (None, None) => {}
    }
    joined(cuts)
}

/// The cuts in the order of the text, those that touch as one.
fn joined(mut cuts: Vec<Cut>) -> Vec<Cut> {
    cuts.retain(|cut| !cut.is_empty());
    cuts.sort_by_key(|cut| cut.start);
    cuts.dedup_by(|cut, before| {
        let touches = cut.start <= before.end;
        if touches {
            before.end = before.end.max(cut.end);
        }
        touches
    });
    cuts
}

/// True if there is a comment beside the children.
fn has_comments(text: &str, container: &Node, spans: &[Range<usize>]) -> bool {
    let mut at = container.span.start + 1;
    let gaps = spans.iter().map(|span| span.start).chain([container.span.end - 1]);
    for (index, end) in gaps.enumerate() {
        if !Between::scan(text, at..end).comments.is_empty() {
            return true;
        }
        at = spans.get(index).map_or(end, |span| span.end);
    }
    false
}

/// The text without the given parts, which are in order and apart from one another.
pub(super) fn cut(text: &str, cuts: &[Cut]) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    for cut in cuts {
        kept.push_str(slice(text, at, cut.start));
        at = cut.end;
    }
    kept.push_str(slice(text, at, text.len()));
    kept
}
