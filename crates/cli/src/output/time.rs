//! Spans of time for people.

use jiff::Timestamp;

/// The time since `then` in one unit: `4s`, `12m`, `3h`, `2d`.
pub(crate) fn age(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second().saturating_sub(then.as_second()).max(0);
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// The time until `then` in the same form.
pub(crate) fn until(then: Timestamp, now: Timestamp) -> String {
    age(now, then)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_one_short_word_and_never_negative() {
        let now: Timestamp = "2026-11-30T12:00:00Z".parse().expect("a timestamp");
        for (then, want) in [
            ("2026-11-30T12:00:05Z", "0s"),
            ("2026-11-30T11:59:56Z", "4s"),
            ("2026-11-30T11:48:00Z", "12m"),
            ("2026-11-30T09:00:00Z", "3h"),
            ("2026-11-28T11:00:00Z", "2d"),
        ] {
            assert_eq!(age(then.parse().expect("a timestamp"), now), want, "{then}");
        }
    }
}
