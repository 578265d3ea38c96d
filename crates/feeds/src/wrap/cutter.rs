//! Cuts forwarded chunks into lines and decides what the observer gets. Runs on the pump's thread.
//!
//! A line that carries state is always kept while there is any room for it. A line of detail is kept if
//! it is the first after one that carried state (so that «it goes on» is never missed), or if the
//! budget allows. The budget fills with time: it passes everything that an agent says at its own pace
//! and a burst of some size, and makes a flood cost next to nothing. Lines are not parsed here.

use std::panic::{AssertUnwindSafe, catch_unwind};
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
/// Detail for a reader that wants state.
const STATE_BUDGET: Budget = Budget { most: 1 << 20, per_second: 4 << 20 };
/// Detail for a reader that wants everything; the queue's room counts too.
const FULL_BUDGET: Budget = Budget { most: 4 << 20, per_second: 32 << 20 };
/// A budget that is used up passes nothing until it holds this much again: a flood then wakes the observer
/// now and then for a handful of lines, not all the time for one.
const FRESH_START: usize = 64 << 10;
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
    /// Bytes of detail that may pass now.
    allowance: usize,
    /// The allowance did not suffice and has not recovered: see [`FRESH_START`].
    is_spent: bool,
    /// Up to when the allowance has been filled.
    filled_at: Instant,
}

/// How much detail passes.
#[derive(Clone, Copy, Debug)]
struct Budget {
    /// At once.
    most: usize,
    /// In the long run.
    per_second: usize,
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
            allowance: FULL_BUDGET.most,
            is_spent: false,
            filled_at: Instant::now(),
        }
    }

    /// Looks at a chunk that was read at `at` and has been forwarded.
    pub(super) fn feed(&mut self, mut chunk: &[u8], at: Timestamp) {
        self.look(at, |cutter, block| {
            cutter.fill_allowance(Instant::now());
            while let Some(end) = memchr(b'\n', chunk) {
                let (head, rest) = chunk.split_at(end);
                chunk = rest.get(1..).unwrap_or_default();
                cutter.close_line(head, block);
            }
            cutter.hold(chunk);
        });
    }

    /// The stream is over: a last line counts without its newline.
    pub(super) fn finish(&mut self, at: Timestamp) {
        self.look(at, |cutter, block| {
            cutter.close_line(&[], block);
            cutter.tell_gap(block);
        });
    }

    /// Bytes go on being forwarded whatever a driver does here: if it panics, what was kept before is
    /// handed over, and no line is looked at any more.
    fn look(&mut self, at: Timestamp, cut: impl FnOnce(&mut Self, &mut Block)) {
        if self.tap.is_closed() {
            return;
        }
        let mut block = self.block(at);
        // A line is asked about before anything of it is kept, so the block is whole after a panic.
        if catch_unwind(AssertUnwindSafe(|| cut(self, &mut block))).is_err() {
            self.tap.stop_looking();
            self.carry = Vec::new();
            self.gap += 1;
            self.tell_gap(&mut block);
        }
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
        self.is_spent |= length > self.allowance;
        if !self.is_spent {
            self.allowance -= length;
        }
        !self.is_spent
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

    fn fill_allowance(&mut self, now: Instant) {
        let budget = if self.tap.wants_full() { FULL_BUDGET } else { STATE_BUDGET };
        let passed = now.saturating_duration_since(self.filled_at).min(Duration::from_secs(1));
        let microseconds = usize::try_from(passed.as_micros()).unwrap_or(0);
        let earned = microseconds.saturating_mul(budget.per_second) / 1_000_000;
        self.allowance = self.allowance.saturating_add(earned).min(budget.most);
        self.filled_at = now;
        if self.allowance >= FRESH_START {
            self.is_spent = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use linelamp_core::AgentName;
    use linelamp_core::driver::{Decoder, DecoderOptions, Driver, Source};
    use proptest::prelude::*;

    use super::super::bell::Bell;
    use super::super::tap::Taken;
    use super::*;

    /// Lines that begin with `d` are detail.
    #[derive(Debug)]
    struct Letters;

    impl Driver for Letters {
        fn agent(&self) -> AgentName {
            "letters".into()
        }

        fn is_program(&self, _: &str) -> bool {
            false
        }

        fn decoder(&self, _: Source, _: DecoderOptions) -> Option<Box<dyn Decoder>> {
            None
        }

        fn keep(&self, _: Direction, line: &[u8]) -> Keep {
            if line.starts_with(b"d") { Keep::May } else { Keep::Must }
        }
    }

    fn cutter() -> Cutter {
        let tap = Arc::new(Tap::new(Bell::new().expect("a bell"), Box::new(|_| true)));
        tap.set_driver(Some(Arc::new(Letters)));
        tap.set_full(false);
        Cutter::new(tap, Direction::FromAgent)
    }

    /// Everything offered so far: lines with their numbers, and gaps.
    fn taken(tap: &Tap) -> (Vec<(u64, Vec<u8>)>, u64) {
        let (mut lines, mut gaps) = (Vec::new(), 0);
        while let Taken::Block(block) = tap.take() {
            let mut bytes = block.bytes.as_slice();
            for item in block.items {
                match item {
                    Item::Line { length, number, .. } => {
                        let (line, rest) = bytes.split_at(length);
                        lines.push((number, line.to_vec()));
                        bytes = rest;
                    }
                    Item::Gap { lines, .. } => gaps += lines,
                }
            }
        }
        (lines, gaps)
    }

    proptest! {
        #[test]
        fn lines_are_the_same_however_the_bytes_are_cut(
            text in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'd'), any::<u8>()], 0..400),
            cuts in prop::collection::vec(1_usize..50, 1..20),
        ) {
            let mut cutter = cutter();
            let mut rest = text.as_slice();
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (chunk, later) = rest.split_at((*cut).min(rest.len()));
                cutter.feed(chunk, Timestamp::UNIX_EPOCH);
                rest = later;
            }
            cutter.finish(Timestamp::UNIX_EPOCH);
            let expected: Vec<_> = text
                .split(|byte| *byte == b'\n')
                .map(|line| line.strip_suffix(b"\r").unwrap_or(line).to_vec())
                .filter(|line| !line.is_empty())
                .collect();
            let (lines, gaps) = taken(&cutter.tap);
            prop_assert_eq!(gaps, 0);
            prop_assert!(lines.iter().map(|(number, _)| *number).eq(1..=expected.len() as u64));
            prop_assert_eq!(lines.into_iter().map(|(_, line)| line).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn a_flood_of_detail_keeps_every_line_of_state_and_the_one_after_it() {
        let mut cutter = cutter();
        let detail = "d".repeat(999);
        let mut expected = 0;
        for number in 1..=20_000 {
            let state = number % 500 == 0;
            let line = if state { format!("s{number}\n") } else { format!("{detail}\n") };
            expected += u64::from(state);
            cutter.feed(line.as_bytes(), Timestamp::UNIX_EPOCH);
        }
        cutter.finish(Timestamp::UNIX_EPOCH);
        let (lines, gaps) = taken(&cutter.tap);
        assert_eq!(lines.iter().filter(|(_, line)| line[0] == b's').count() as u64, expected);
        assert_eq!(lines.len() as u64 + gaps, 20_000, "every line is kept or counted");
        assert!(gaps > 10_000);
        for pair in lines.windows(2).filter(|pair| pair[0].1[0] == b's') {
            assert_eq!(pair[1].0, pair[0].0 + 1);
        }
    }

    #[test]
    fn a_spent_budget_passes_nothing_until_it_holds_a_handful_of_lines_again() {
        let mut cutter = cutter();
        let start = cutter.filled_at;
        let block = cutter.block(Timestamp::UNIX_EPOCH);
        cutter.after_state = false;
        cutter.allowance = 100;
        assert!(cutter.may_keep(60, &block));
        assert!(!cutter.may_keep(60, &block), "40 bytes are left");
        assert!(!cutter.may_keep(10, &block), "and stay until there are more");
        cutter.fill_allowance(start + Duration::from_millis(1));
        assert!(!cutter.may_keep(10, &block));
        cutter.fill_allowance(start + Duration::from_millis(17));
        let passed = (0..2000).filter(|_| cutter.may_keep(60, &block)).count();
        assert!((1000..1300).contains(&passed), "{passed}");
    }

    #[test]
    fn the_bytes_that_wait_are_bounded_and_a_small_line_outlives_large_ones() {
        let mut cutter = cutter();
        let mut large = vec![b's'; 1 << 20];
        large.push(b'\n');
        for _ in 0..40 {
            cutter.feed(&large, Timestamp::UNIX_EPOCH);
        }
        cutter.feed(b"small\n", Timestamp::UNIX_EPOCH);
        let (lines, _) = taken(&cutter.tap);
        assert!(lines.len() <= 13, "{}", lines.len());
        assert_eq!(lines.last().map(|(_, line)| line.as_slice()), Some(&b"small"[..]));
        assert_eq!(cutter.tap.lost.load(Ordering::Relaxed), 28);
    }

    #[test]
    fn a_line_over_the_limit_is_a_gap_of_its_own() {
        let mut cutter = cutter();
        let chunk = vec![b'x'; 1 << 20];
        for _ in 0..9 {
            cutter.feed(&chunk, Timestamp::UNIX_EPOCH);
        }
        assert!(cutter.carry.capacity() <= LONGEST_LINE);
        cutter.feed(b"\nafter\n", Timestamp::UNIX_EPOCH);
        let (lines, gaps) = taken(&cutter.tap);
        assert_eq!((lines, gaps), (vec![(2, b"after".to_vec())], 1));
    }
}
