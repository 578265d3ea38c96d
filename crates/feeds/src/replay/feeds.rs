//! Which of a recording's feeds are replayed.

use std::fmt;
use std::str::FromStr;

use linelamp_core::Trust;

/// A feed that a recording can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecordedFeed {
    /// The agent's standard streams, and how its processes ended.
    Stream,
    /// Hook payloads.
    Hooks,
    /// Session files.
    Transcript,
    /// The agent's own status files.
    Status,
}

impl RecordedFeed {
    /// Every feed, in the order they are named.
    pub const ALL: [Self; 4] = [Self::Stream, Self::Hooks, Self::Transcript, Self::Status];

    /// How much the feed's word weighs.
    pub const fn trust(self) -> Trust {
        match self {
            Self::Stream => Trust::Authoritative,
            Self::Hooks | Self::Status => Trust::Reported,
            Self::Transcript => Trust::Inferred,
        }
    }

    /// The feed's word, as it is given on the command line and printed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Hooks => "hooks",
            Self::Transcript => "transcript",
            Self::Status => "status",
        }
    }
}

impl fmt::Display for RecordedFeed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// A set of feeds, written `stream,hooks`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedSet(u8);

impl FeedSet {
    /// Every feed there is.
    pub fn all() -> Self {
        RecordedFeed::ALL.into_iter().collect()
    }

    /// One feed alone.
    pub const fn only(feed: RecordedFeed) -> Self {
        Self(bit(feed))
    }

    /// True if the feed is in the set.
    pub fn contains(self, feed: RecordedFeed) -> bool {
        self.0 & bit(feed) != 0
    }

    /// True if no feed is in the set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Adds a feed.
    pub fn insert(&mut self, feed: RecordedFeed) {
        self.0 |= bit(feed);
    }

    /// The feeds of the set.
    pub fn iter(self) -> impl Iterator<Item = RecordedFeed> {
        RecordedFeed::ALL.into_iter().filter(move |feed| self.contains(*feed))
    }
}

const fn bit(feed: RecordedFeed) -> u8 {
    1 << feed as u8
}

impl FromIterator<RecordedFeed> for FeedSet {
    fn from_iter<I: IntoIterator<Item = RecordedFeed>>(feeds: I) -> Self {
        let mut set = Self::default();
        feeds.into_iter().for_each(|feed| set.insert(feed));
        set
    }
}

impl fmt::Display for FeedSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = self.iter().map(RecordedFeed::as_str).collect();
        formatter.pad(&words.join(","))
    }
}

/// A word that names no feed of a recording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no feed of a recording (there are {all})", all = FeedSet::all())]
pub struct UnknownFeed(pub String);

impl FromStr for FeedSet {
    type Err = UnknownFeed;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty())
            .map(|word| {
                RecordedFeed::ALL
                    .into_iter()
                    .find(|feed| feed.as_str() == word)
                    .ok_or_else(|| UnknownFeed(word.to_owned()))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_read_as_it_is_written_and_a_wrong_word_is_named() {
        assert_eq!("status,hooks, stream,transcript".parse::<FeedSet>(), Ok(FeedSet::all()));
        assert_eq!(FeedSet::all().to_string(), "stream,hooks,transcript,status");
        assert_eq!("hooks".parse::<FeedSet>().map(|set| set.to_string()), Ok("hooks".to_owned()));
        let wrong = "stream,smoke".parse::<FeedSet>().expect_err("no such feed");
        assert_eq!(
            wrong.to_string(),
            "`smoke` is no feed of a recording (there are stream,hooks,transcript,status)"
        );
    }
}
