//! Cuts forwarded chunks into lines and decides what the observer gets. Runs on the pump's thread.
//!
//! A line that carries state is always kept while there is any room for it. A line of detail is kept if
//! it is the first after one that carried state (so that «it goes on» is never missed), or if the
//! budget allows: with a reader that only wants state a small one per time window, which costs a
//! burst next to nothing; with one that wants everything the whole queue. Lines are not parsed here.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use linelamp_core::Timestamp;
use linelamp_core::driver::{Direction, Keep};
use memchr::memchr;

use super::tap::{Block, Item, Tap};

/// Longest line that is looked at.
const LONGEST_LINE: usize = 8 << 20;
/// A buffer that grew for one long line is given back above this capacity.
const KEPT_CAPACITY: usize = 64 << 10;
/// Detail for a reader that wants state: so many bytes …
const WINDOW_BYTES: usize = 128 << 10;
/// … in so much time.
const WINDOW: Duration = Duration::from_millis(50);
/// Longest line of detail that is kept only because state came before it.
const LONGEST_MARK: usize = 64 << 10;

/// See the module's words. One for each direction.
#[derive(Debug)]
pub(super) struct Cutter {
    tap: Arc<Tap>,
    direction: Direction,
    /// The beginning of a line whose end has not come.
    carry: Vec<u8>,
    /// The line now coming is over the limit; its bytes are only forwarded.
    too_long: bool,
    /// Lines so far.
    number: u64,
    /// Lines left out since the last one that was kept.
    gap: u64,
    /// Lines of this chunk left out.
    shed: u64,
    /// The last line kept carried state: the next one is kept too.
    after_state: bool,
    window_end: Instant,
    window_left: usize,
}

impl Cutter {
    /// A cutter at the start of a stream.
    pub(super) fn new(tap: Arc<Tap>, direction: Direction) -> Self {
        Self {
            tap,
            direction,
            carry: Vec::new(),
            too_long: false,
            number: 0,
            gap: 0,
            shed: 0,
            after_state: true,
            window_end: Instant::now(),
            window_left: 0,
        }
    }

    /// Looks at a chunk that was read at `at` and has been forwarded.
    pub(super) fn feed(&mut self, mut chunk: &[u8], at: Timestamp) {
        if self.tap.is_closed() {
            return;
        }
        self.renew_window();
        let mut block = self.block(at);
        while let Some(end) = memchr(b'\n', chunk) {
            let (head, rest) = chunk.split_at(end);
            chunk = rest.get(1..).unwrap_or_default();
            self.close_line(head, &mut block);
        }
        self.hold(chunk);
        self.hand_over(block);
    }

    /// The stream is over: a last line counts without its newline.
    pub(super) fn finish(&mut self, at: Timestamp) {
        if self.tap.is_closed() {
            return;
        }
        let mut block = self.block(at);
        self.close_line(&[], &mut block);
        self.tell_gap(&mut block);
        self.hand_over(block);
    }

    fn block(&self, at: Timestamp) -> Block {
        Block { direction: self.direction, at, bytes: Vec::new(), items: Vec::new(), may_bytes: 0 }
    }

    fn close_line(&mut self, head: &[u8], block: &mut Block) {
        if self.too_long || self.carry.len() + head.len() > LONGEST_LINE {
            self.too_long = false;
            self.carry = Vec::new();
            self.number += 1;
            block.items.push(Item::Gap { lines: self.gap + 1, too_long: true });
            self.gap = 0;
            self.after_state = true;
        } else if self.carry.is_empty() {
            self.keep_or_shed(head, block);
        } else {
            let mut line = std::mem::take(&mut self.carry);
            line.extend_from_slice(head);
            self.keep_or_shed(&line, block);
            line.clear();
            line.shrink_to(KEPT_CAPACITY);
            self.carry = line;
        }
    }

    fn keep_or_shed(&mut self, line: &[u8], block: &mut Block) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            return;
        }
        self.number += 1;
        let keep = self.tap.driver().map_or(Keep::Must, |driver| driver.keep(self.direction, line));
        let kept = match keep {
            Keep::Must => {
                let room = self.tap.has_must_room(line.len(), block.bytes.len());
                if !room {
                    self.tap.lost.fetch_add(1, Ordering::Relaxed);
                }
                room
            }
            Keep::May => self.may_keep(line.len(), block),
        };
        if !kept {
            self.gap += 1;
            self.shed += 1;
            return;
        }
        self.tell_gap(block);
        block.bytes.extend_from_slice(line);
        block.items.push(Item::Line { length: line.len(), number: self.number, keep });
        if keep == Keep::May {
            block.may_bytes += line.len();
        }
        self.after_state = keep == Keep::Must;
    }

    fn tell_gap(&mut self, block: &mut Block) {
        if self.gap > 0 {
            block.items.push(Item::Gap { lines: std::mem::take(&mut self.gap), too_long: false });
        }
    }

    fn may_keep(&mut self, length: usize, block: &Block) -> bool {
        if self.after_state && length <= LONGEST_MARK {
            return self.tap.has_must_room(length, block.bytes.len());
        }
        if !self.tap.has_may_room(block.may_bytes + length) {
            return false;
        }
        if self.tap.wants_full() {
            return true;
        }
        let fits = length <= self.window_left;
        if fits {
            self.window_left -= length;
        }
        fits
    }

    fn hold(&mut self, rest: &[u8]) {
        if self.too_long {
            return;
        }
        if self.carry.len() + rest.len() > LONGEST_LINE {
            self.too_long = true;
            self.carry = Vec::new();
        } else {
            self.carry.extend_from_slice(rest);
        }
    }

    fn hand_over(&mut self, block: Block) {
        let shed = std::mem::take(&mut self.shed);
        if shed > 0 {
            self.tap.shed.fetch_add(shed, Ordering::Relaxed);
        }
        if !block.items.is_empty() {
            self.tap.offer(block);
        }
    }

    fn renew_window(&mut self) {
        let now = Instant::now();
        if now >= self.window_end {
            self.window_end = now + WINDOW;
            self.window_left = WINDOW_BYTES;
        }
    }
}
