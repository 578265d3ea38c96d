//! Numbered batches that nobody has acknowledged yet. Pure: no I/O, time is an argument.
//!
//! A batch is kept until the daemon says its number is committed or it lies in the spool, whichever
//! comes first. A batch that was cut in two by a full socket is finished before anything else is sent
//! on that connection, also if it was spooled meanwhile: the daemon drops what it has already.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// So long a batch waits for its acknowledgement before it is spooled.
const PATIENCE: Duration = Duration::from_secs(1);
/// So many bytes wait.
const WAITING_BYTES: usize = 1 << 20;
/// If spooling fails too, the oldest are given up beyond this.
const MOST_BYTES: usize = 4 << 20;

#[derive(Debug)]
struct Batch {
    number: u64,
    /// Its line, newline included.
    line: Vec<u8>,
    made: Instant,
}

/// See the module's words.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    last: u64,
    batches: VecDeque<Batch>,
    bytes: usize,
    /// Batches at the front that this connection has whole.
    sent: usize,
    /// Bytes of the next one that it has.
    offset: usize,
    /// Spooling failed: it is not tried again before this.
    spool_not_before: Option<Instant>,
    /// The rest of a batch that is no longer here and was cut in two.
    rest: Vec<u8>,
}

impl Ledger {
    /// The number of the next batch.
    pub(super) fn next_number(&self) -> u64 {
        self.last + 1
    }

    /// Keeps the next batch. Gives the number of batches given up because nothing could be spooled.
    pub(super) fn add(&mut self, line: Vec<u8>, now: Instant) -> u64 {
        self.last += 1;
        self.bytes += line.len();
        self.batches.push_back(Batch { number: self.last, line, made: now });
        let mut lost = 0;
        while self.bytes > MOST_BYTES && self.batches.len() > 1 {
            self.remove_first();
            lost += 1;
        }
        lost
    }

    /// Everything up to `number` is committed.
    pub(super) fn acknowledged(&mut self, number: u64) {
        while self.batches.front().is_some_and(|batch| batch.number <= number) {
            self.remove_first();
        }
    }

    /// True if nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// What to send next on this connection; empty if it has everything.
    pub(super) fn to_send(&self) -> &[u8] {
        if !self.rest.is_empty() {
            return &self.rest;
        }
        self.batches.get(self.sent).and_then(|batch| batch.line.get(self.offset..)).unwrap_or(&[])
    }

    /// So many bytes of [`Self::to_send`] went out.
    pub(super) fn sent(&mut self, bytes: usize) {
        if !self.rest.is_empty() {
            self.rest.drain(..bytes);
            return;
        }
        self.offset += bytes;
        if self.batches.get(self.sent).is_some_and(|batch| batch.line.len() <= self.offset) {
            self.sent += 1;
            self.offset = 0;
        }
    }

    /// True if no batch is cut in two: something else may be sent now.
    pub(super) fn at_boundary(&self) -> bool {
        self.rest.is_empty() && self.offset == 0
    }

    /// What must be sent even while sending pauses: the rest of a batch that is cut in two.
    pub(super) fn owed(&self) -> &[u8] {
        if self.at_boundary() { &[] } else { self.to_send() }
    }

    /// The connection is gone: everything is to be sent again on the next.
    pub(super) fn disconnected(&mut self) {
        self.sent = 0;
        self.offset = 0;
        self.rest = Vec::new();
    }

    /// When what waits should be spooled; none if nothing waits.
    pub(super) fn spool_at(&self) -> Option<Instant> {
        let oldest = self.batches.front()?;
        let due = if self.bytes > WAITING_BYTES { oldest.made } else { oldest.made + PATIENCE };
        Some(self.spool_not_before.map_or(due, |not_before| due.max(not_before)))
    }

    /// All that waits, as the body of one spool file.
    pub(super) fn spool_body(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(self.bytes);
        for batch in &self.batches {
            body.extend_from_slice(&batch.line);
        }
        body
    }

    /// All that waits lies in the spool now.
    pub(super) fn spooled(&mut self) {
        while !self.batches.is_empty() {
            self.remove_first();
        }
        self.spool_not_before = None;
    }

    /// Spooling failed: it is tried again only after another while.
    pub(super) fn spool_failed(&mut self, now: Instant) {
        self.spool_not_before = Some(now + PATIENCE);
    }

    fn remove_first(&mut self) {
        let Some(mut batch) = self.batches.pop_front() else { return };
        self.bytes -= batch.line.len();
        if self.sent > 0 {
            self.sent -= 1;
        } else if self.offset > 0 {
            self.rest = batch.line.split_off(self.offset);
            self.offset = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Add(usize),
        Send(usize),
        Acknowledge,
        Spool,
        Disconnect,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            (1_usize..40).prop_map(Step::Add),
            (1_usize..60).prop_map(Step::Send),
            Just(Step::Acknowledge),
            Just(Step::Spool),
            Just(Step::Disconnect),
        ];
        prop::collection::vec(step, 1..120)
    }

    fn numbers(text: &[u8]) -> Vec<u64> {
        let text = std::str::from_utf8(text).expect("text");
        text.lines().map(|line| line.trim_end_matches('.').parse().expect("whole lines")).collect()
    }

    proptest! {
        #[test]
        fn every_batch_arrives_whole_over_socket_or_spool(steps in steps()) {
            let now = Instant::now();
            let mut ledger = Ledger::default();
            let mut connections = vec![Vec::new()];
            let mut spool = Vec::new();
            for step in steps {
                match step {
                    Step::Add(padding) => {
                        let line = format!("{}{}\n", ledger.next_number(), ".".repeat(padding));
                        ledger.add(line.into_bytes(), now);
                    }
                    Step::Send(most) => {
                        let bytes = ledger.to_send();
                        let length = bytes.len().min(most);
                        connections.last_mut().expect("one").extend_from_slice(&bytes[..length]);
                        if length > 0 {
                            ledger.sent(length);
                        }
                    }
                    Step::Acknowledge => {
                        let text = connections.last().expect("one");
                        let whole = memchr::memrchr(b'\n', text).map_or(0, |end| end + 1);
                        if let Some(last) = numbers(&text[..whole]).last() {
                            ledger.acknowledged(*last);
                        }
                    }
                    Step::Spool => {
                        spool.extend_from_slice(&ledger.spool_body());
                        ledger.spooled();
                        prop_assert!(ledger.is_empty());
                    }
                    Step::Disconnect => {
                        ledger.disconnected();
                        connections.push(Vec::new());
                    }
                }
            }
            let last = ledger.next_number() - 1;
            spool.extend_from_slice(&ledger.spool_body());
            let mut arrived = numbers(&spool);
            for text in &connections {
                // A connection may end in the middle of a line, and nowhere else.
                let whole = memchr::memrchr(b'\n', text).map_or(0, |end| end + 1);
                arrived.extend(numbers(&text[..whole]));
            }
            arrived.sort_unstable();
            arrived.dedup();
            prop_assert_eq!(arrived, (1..=last).collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_waits_is_bounded_even_if_nothing_can_be_spooled() {
        let now = Instant::now();
        let mut ledger = Ledger::default();
        let lost: u64 = (0..10).map(|_| ledger.add(vec![b'x'; 1 << 20], now)).sum();
        assert_eq!(lost, 6);
        assert_eq!(ledger.spool_at(), Some(now));
        assert_eq!(ledger.next_number(), 11);
        ledger.spool_failed(now);
        assert_eq!(
            ledger.spool_at(),
            Some(now + PATIENCE),
            "a full disk is not asked all the time"
        );
    }

    #[test]
    fn a_batch_waits_a_second_for_its_acknowledgement() {
        let now = Instant::now();
        let mut ledger = Ledger::default();
        assert_eq!(ledger.spool_at(), None);
        ledger.add(b"1\n".to_vec(), now);
        assert_eq!(ledger.spool_at(), Some(now + PATIENCE));
        ledger.acknowledged(1);
        assert_eq!(ledger.spool_at(), None);
    }
}
