//! One session file: from its bytes to drafts and a cursor.
//!
//! No file is kept open, and the decoder is made when there is something to decode and given up when the
//! file has been quiet: ten thousand files cost no more than their names. A decoder that is made in the middle
//! of a file is shown what stands right before, so that it knows what the next line is about. Each reading
//! checks that the file is still the one that was read before.

use std::fs::{File, Metadata};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use linelamp_core::digest::Digester;
use linelamp_core::driver::{
    Decoded, Decoder, DecoderOptions, Driver, Raw, Reading, SessionFile, Source,
};
use linelamp_core::event::Scope;
use linelamp_core::journal::Cursor;
use linelamp_core::{Draft, Timestamp};

use super::mark::{Fnv, Mark, Print};
use super::naming::name;
use super::stats::TranscriptStats;
use super::tail::{Line, Tail, relax, tail_start};

/// What cursors of session files begin with.
pub(super) const PREFIX: &str = "transcript/";

/// So much of a file is read in one go; a longer line is still read whole.
const BUDGET: u64 = 1 << 20;

/// So much of a file that was not seen before tells how things stand, or what a line is about.
const PAST: u64 = 256 << 10;

/// Where the system does not know when a file came to be, it is taken to be this old when it is first seen.
const LATE: Duration = Duration::from_secs(10);

/// A cursor is worth writing down for so many bytes even if nothing came of them.
const STRIDE: u64 = 256 << 10;

/// What reading needs besides the file.
#[derive(Debug)]
pub(super) struct Means {
    pub(super) reading: Reading,
    pub(super) digester: Digester,
    pub(super) stats: Arc<TranscriptStats>,
    pub(super) buffer: Vec<u8>,
}

/// This moment, by both clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    pub(super) wall: Timestamp,
    pub(super) instant: Instant,
}

impl Now {
    pub(super) fn read() -> Self {
        Self { wall: Timestamp::now(), instant: Instant::now() }
    }
}

/// Where reading a file begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    /// At its start: it came to be while we looked.
    News,
    /// Near its end, for how things stand; what comes after that is news.
    Past,
    /// Not before it grows, and then as in [`Begin::Past`].
    End,
    /// Where an earlier daemon stopped.
    Mark(Mark),
}

/// A file that is followed.
#[derive(Debug)]
pub(super) struct Followed {
    driver: Arc<dyn Driver>,
    file: SessionFile,
    /// Set until the file was opened for the first time.
    begin: Option<Begin>,
    tail: Tail,
    print: Option<Print>,
    /// Lines that end up to here stood there before anybody looked.
    past_end: u64,
    /// The offset of the newest cursor that was handed over.
    saved: u64,
    /// When the file was last seen to go on from what had been read.
    looked: Timestamp,
    size: u64,
    modified: Option<Timestamp>,
    decoder: Option<Box<dyn Decoder>>,
    used: Instant,
}

/// What one reading gave.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) drafts: Vec<Draft>,
    /// How far it was read, if that is worth remembering.
    pub(super) cursor: Option<Cursor>,
    /// The place before; to go back to if the batch is refused.
    pub(super) before: Option<Place>,
    /// There is more to read.
    pub(super) more: bool,
    /// The file has grown since somebody looked.
    pub(super) is_news: bool,
}

/// A decoder panicked.
#[derive(Clone, Copy, Debug)]
struct Panicked;

/// A place in a file to go back to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    tail: Tail,
    print: Option<Print>,
}

impl Followed {
    /// A file that is not opened yet, as `metadata` shows it.
    pub(super) fn new(
        driver: Arc<dyn Driver>,
        file: SessionFile,
        begin: Begin,
        metadata: &Metadata,
        now: Now,
    ) -> Self {
        Self {
            driver,
            file,
            begin: Some(begin),
            tail: Tail::at(0),
            print: None,
            past_end: 0,
            saved: 0,
            looked: now.wall,
            size: metadata.len(),
            modified: modified(metadata),
            decoder: None,
            used: now.instant,
        }
    }

    /// True for a subagent's file.
    pub(super) fn is_child(&self) -> bool {
        self.file.scope != Scope::Main
    }

    /// True if the file is not as it was when it was last looked at.
    pub(super) fn differs(&self, metadata: &Metadata) -> bool {
        self.size != metadata.len() || self.modified != modified(metadata)
    }

    /// When the file was changed last, as far as is known.
    pub(super) fn modified(&self) -> Option<Timestamp> {
        self.modified
    }

    /// True if a decoder is open.
    pub(super) fn is_open(&self) -> bool {
        self.decoder.is_some()
    }

    /// When something was read last.
    pub(super) fn used(&self) -> Instant {
        self.used
    }

    /// True if it is to be read for how things stand.
    pub(super) fn is_past(&self) -> bool {
        self.begin == Some(Begin::Past)
    }

    /// The file is not worth reading for what it holds now.
    pub(super) fn skip_past(&mut self) {
        if self.begin == Some(Begin::Past) {
            self.begin = Some(Begin::End);
        }
    }

    /// Reads on, about a mebibyte at most.
    ///
    /// # Errors
    ///
    /// If the file cannot be read; [`io::ErrorKind::NotFound`] if there is no such file any more.
    pub(super) fn read(&mut self, path: &Path, means: &mut Means, now: Now) -> io::Result<Batch> {
        let metadata = std::fs::metadata(path)?;
        if !metadata.is_file() {
            // Opening a pipe of that name would wait for its other end.
            return Err(io::ErrorKind::NotFound.into());
        }
        let is_same =
            self.begin.is_none() && !self.differs(&metadata) && self.tail.has_seen(metadata.len());
        if is_same {
            return Ok(Batch::default());
        }
        let known = self.size;
        let mut file = File::open(path)?;
        let restarted = match self.begin {
            Some(begin) => self.settle(begin, known, &mut file, &metadata, means, now)?,
            None => self.check(&mut file, &metadata, means)?,
        };
        self.begin = None;
        self.size = metadata.len();
        self.modified = modified(&metadata);
        let before = Place { tail: self.tail, print: self.print };
        if self.decoder.is_none() && metadata.len() > self.tail.offset() {
            self.prime(path, &mut file, means, now)?;
        }
        let (drafts, more) = self.read_lines(path, &mut file, means, now)?;
        self.used = now.instant;
        if self.tail != before.tail || self.print.is_none() {
            self.print = Print::of(&mut file, &mut means.buffer, self.tail.offset())?;
        }
        self.looked = now.wall;
        relax(&mut means.buffer);
        let offset = self.tail.offset();
        let is_worth_it = !drafts.is_empty()
            || restarted
            || (offset != self.saved && offset <= self.past_end)
            || offset.abs_diff(self.saved) >= STRIDE;
        let cursor = is_worth_it.then(|| self.cursor(path)).flatten();
        if cursor.is_some() {
            self.saved = offset;
        }
        means.stats.drafts.add(drafts.len() as u64);
        let is_news = offset > self.past_end && self.tail != before.tail;
        Ok(Batch { drafts, cursor, before: Some(before), more, is_news })
    }

    /// Goes back to a place whose batch was refused.
    pub(super) fn go_back(&mut self, place: Place) {
        if place.tail.offset() < self.tail.offset() {
            self.tail = place.tail;
            self.print = place.print;
            self.saved = u64::MAX;
            self.decoder = None;
            // Whatever it looks like: there is something to read.
            self.modified = None;
        }
    }

    /// Gives the decoder up; what it held back comes out.
    pub(super) fn close(&mut self, path: &Path, now: Now) -> Batch {
        let Some(mut decoder) = self.decoder.take() else { return Batch::default() };
        let mut drafts = Vec::new();
        let ended = catch_unwind(AssertUnwindSafe(|| decoder.end(now.wall, &mut drafts)));
        if ended.is_err() {
            tracing::error!(file = %path.display(), "decoder failed at its end");
        }
        self.name(path, self.tail.offset(), b"end", &mut drafts, now);
        Batch { drafts, ..Batch::default() }
    }

    /// Finds the place to begin at. True if nothing that was remembered of the file holds.
    fn settle(
        &mut self,
        begin: Begin,
        known: u64,
        file: &mut File,
        metadata: &Metadata,
        means: &mut Means,
        now: Now,
    ) -> io::Result<bool> {
        let size = metadata.len();
        let created = created(metadata);
        self.file.born = created;
        match begin {
            Begin::Mark(mark) => {
                self.tail = Tail::at(mark.offset);
                self.print = Some(mark.print);
                self.saved = mark.offset;
                self.looked = mark.at;
                return self.check(file, metadata, means);
            }
            Begin::News => self.file.born = created.or_else(|| now.wall.checked_sub(LATE).ok()),
            Begin::Past => {
                let start = tail_start(file, &mut means.buffer, size, PAST)?;
                self.tail = Tail::at(start);
                self.past_end = size;
            }
            // It became shorter meanwhile: whatever is in it was written since.
            Begin::End if size < known => self.file.born = created.max(Some(self.looked)),
            Begin::End => {
                let start = tail_start(file, &mut means.buffer, known, PAST)?;
                self.tail = Tail::at(start);
                self.past_end = known;
            }
        }
        Ok(false)
    }

    /// Begins anew if the file is no longer the one that was read. True if so.
    fn check(
        &mut self,
        file: &mut File,
        metadata: &Metadata,
        means: &mut Means,
    ) -> io::Result<bool> {
        let offset = self.tail.offset();
        if self.print.is_none() && offset <= metadata.len() {
            return Ok(false);
        }
        let print = Print::of(file, &mut means.buffer, offset)?;
        if print.is_some() && print == self.print {
            return Ok(false);
        }
        means.stats.restarted.add(1);
        self.tail = Tail::at(0);
        self.print = None;
        self.past_end = 0;
        self.decoder = None;
        // What is older than our last look was read then, or came from elsewhere.
        self.file.born = created(metadata).max(Some(self.looked));
        Ok(true)
    }

    /// Shows a new decoder what stands before the place it begins at; what it makes of that was told before.
    fn prime(
        &mut self,
        path: &Path,
        file: &mut File,
        means: &mut Means,
        now: Now,
    ) -> io::Result<()> {
        let end = self.tail.offset();
        if end == 0 || end < self.past_end {
            return Ok(());
        }
        let mut buffer = std::mem::take(&mut means.buffer);
        let mut tail = Tail::at(tail_start(file, &mut buffer, end, PAST)?);
        let mut drafts = Vec::new();
        let budget = end - tail.offset();
        let shown = tail.read(file, &mut buffer, budget, |range, line| {
            if let Line::Whole(bytes) = line
                && range.end <= end
                && !bytes.trim_ascii().is_empty()
            {
                let raw = Raw::Record { bytes, is_past: true };
                // Lines it dies of were counted when they were read.
                if self.push(raw, &mut drafts, means, now).is_err() {
                    tracing::debug!(file = %path.display(), "decoder failed on what stood before");
                }
                drafts.clear();
            }
        });
        means.buffer = buffer;
        shown.map(drop)
    }

    fn read_lines(
        &mut self,
        path: &Path,
        file: &mut File,
        means: &mut Means,
        now: Now,
    ) -> io::Result<(Vec<Draft>, bool)> {
        let mut drafts = Vec::new();
        let mut tail = self.tail;
        let mut buffer = std::mem::take(&mut means.buffer);
        let more = tail.read(file, &mut buffer, BUDGET, |range, line| {
            let is_past = range.end <= self.past_end;
            self.take_line(path, range.start, line, is_past, &mut drafts, means, now);
        });
        means.buffer = buffer;
        // What was decoded counts as read, whatever came after it.
        self.tail = tail;
        Ok((drafts, more?))
    }

    #[expect(clippy::too_many_arguments, reason = "one line and all it is read with")]
    fn take_line(
        &mut self,
        path: &Path,
        offset: u64,
        line: Line<'_>,
        is_past: bool,
        drafts: &mut Vec<Draft>,
        means: &Means,
        now: Now,
    ) {
        let stats = &means.stats;
        let (raw, bytes) = match line {
            Line::Whole(bytes) if bytes.trim_ascii().is_empty() => return,
            Line::Whole(bytes) => (Raw::Record { bytes, is_past }, bytes),
            Line::TooLong => {
                stats.too_long.add(1);
                tracing::warn!(file = %path.display(), offset, "a line is too long and left out");
                (Raw::Gap { lines: 1, too_long: true }, &b"too long"[..])
            }
        };
        stats.lines.add(1);
        stats.past.add(u64::from(is_past));
        let before = drafts.len();
        match self.push(raw, drafts, means, now) {
            Ok(Decoded::Understood) => stats.understood.add(1),
            Ok(Decoded::Ignored) => stats.ignored.add(1),
            Ok(Decoded::Native) => stats.native.add(1),
            Ok(Decoded::Malformed) => {
                if matches!(line, Line::Whole(_)) {
                    stats.malformed.add(1);
                    tracing::debug!(file = %path.display(), offset, "a line is no record");
                }
            }
            Err(Panicked) => {
                stats.panics.add(1);
                tracing::error!(file = %path.display(), offset, "decoder failed on a line");
            }
        }
        self.name(path, offset, bytes, &mut drafts[before..], now);
    }

    /// Pushes to the decoder, made now if there is none. One that panicked is thrown away with what it made of
    /// the line, so nobody sees what it left half done.
    fn push(
        &mut self,
        raw: Raw<'_>,
        drafts: &mut Vec<Draft>,
        means: &Means,
        now: Now,
    ) -> Result<Decoded, Panicked> {
        let before = drafts.len();
        let pushed = catch_unwind(AssertUnwindSafe(|| {
            if self.decoder.is_none() {
                let options = DecoderOptions::new(means.reading, means.digester.clone());
                let options = DecoderOptions { file: Some(self.file.clone()), ..options };
                self.decoder = self.driver.decoder(Source::Transcript, options);
            }
            let decoder = self.decoder.as_mut();
            decoder.map_or(Decoded::Ignored, |decoder| decoder.push(raw, now.wall, drafts))
        }));
        pushed.map_err(|_| {
            self.decoder = None;
            drafts.truncate(before);
            Panicked
        })
    }

    /// Names drafts after the line they come from.
    fn name(&self, path: &Path, offset: u64, bytes: &[u8], drafts: &mut [Draft], now: Now) {
        if drafts.is_empty() {
            return;
        }
        let mut hash = Fnv::default();
        hash.add(bytes);
        let timeless = self.file.born.unwrap_or(Timestamp::UNIX_EPOCH);
        name(drafts, path, [offset, hash.0], timeless, now.wall);
    }

    fn cursor(&self, path: &Path) -> Option<Cursor> {
        // A path that is no text has no cursor: the file is read like one that is new at every start.
        let source = source(path)?;
        let mark = Mark { offset: self.tail.offset(), print: self.print?, at: self.looked };
        Some(Cursor::new(source, mark.to_string()))
    }
}

/// The name of a file's cursor.
pub(super) fn source(path: &Path) -> Option<String> {
    Some(format!("{PREFIX}{}", path.to_str()?))
}

/// When a file or folder was changed last.
pub(super) fn modified(metadata: &Metadata) -> Option<Timestamp> {
    Timestamp::try_from(metadata.modified().ok()?).ok()
}

fn created(metadata: &Metadata) -> Option<Timestamp> {
    Timestamp::try_from(metadata.created().ok()?).ok()
}
