//! The valid word that somebody most likely meant.

/// The nearest of `valid` to `word`; the first one where several are equally near.
pub(super) fn nearest<'a>(word: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    valid.into_iter().min_by_key(|candidate| distance(word, candidate))
}

/// As [`nearest`], if most of the word is right.
pub(super) fn close<'a>(word: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest(word, valid).filter(|found| distance(word, found) * 2 <= word.chars().count())
}

/// How many letters must be added, taken away, changed or swapped with their neighbour.
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.to_lowercase().chars().collect();
    let right: Vec<char> = right.to_lowercase().chars().collect();
    // Rows of the usual table, the last three of them.
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for (i, from) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, to) in right.iter().enumerate() {
            let mut cost =
                (above[j] + usize::from(from != to)).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *from == right[j - 1] && left[i - 1] == *to {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_meant_word_is_found() {
        for (word, meant) in [
            ("detial", "detail"),
            ("enable", "enabled"),
            ("Plugin", "plugin"),
            ("component_name", "component"),
            ("", "kind"),
        ] {
            let valid = ["kind", "plugin", "component", "enabled", "detail"];
            assert_eq!(nearest(word, valid), Some(meant), "{word}");
        }
        assert_eq!(nearest("x", []), None);
        assert_eq!(close("loud", ["warn", "info"]), None);
        assert_eq!(close("wran", ["warn", "info"]), Some("warn"));
        assert_eq!([distance("ab", "ba"), distance("abc", "abc"), distance("ü", "")], [1, 0, 1]);
    }
}
