//! Promises of the mailbox: whatever comes, whoever is slow.

use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;

use crate::bus::MailboxLimits;
use crate::bus::mailbox::Mailbox;
use crate::bus::merge::MAX_PIECE;
use crate::bus::testing::*;
use crate::event::*;
use crate::id::Seq;

fn mailbox(items: usize, bytes: usize) -> Mailbox {
    Mailbox::new(MailboxLimits { items, bytes }, Seq(0))
}

fn offer(mailbox: &mut Mailbox, event: Event) {
    mailbox.push(event.seq.0 - 1, Arc::new(event));
}

fn seqs(events: &[Arc<Event>]) -> Vec<u64> {
    events.iter().map(|event| event.seq.0).collect()
}

fn accounted(mailbox: &Mailbox) -> u64 {
    let counts = &mailbox.counts;
    counts.delivered
        + counts.merged
        + counts.superseded
        + counts.shed
        + counts.dropped.total()
        + counts.in_flight
        + mailbox.len() as u64
        + counts.filtered
}

#[test]
fn contiguous_pieces_become_one() {
    let mut mailbox = mailbox(8, 1 << 20);
    offer(&mut mailbox, event(1, "a", delta_body("m", 0, "one ")));
    offer(&mut mailbox, event(2, "b", essential_body("other session")));
    offer(&mut mailbox, event(3, "a", delta_body("m", 4, "two ")));
    offer(&mut mailbox, event(4, "a", delta_body("m", 8, "three")));
    let batch = mailbox.pop(9);
    assert_eq!(seqs(&batch), [1, 2], "in the order of numbers, the first one's counts");
    assert_eq!(texts(&batch)["test:a/m"], "one two three");
    assert_eq!(mailbox.counts.merged, 2);
}

#[test]
fn the_original_of_a_joined_piece_is_not_changed() {
    let mut mailbox = mailbox(8, 1 << 20);
    let original = Arc::new(event(1, "a", delta_body("m", 0, "one ")));
    mailbox.push(0, Arc::clone(&original));
    offer(&mut mailbox, event(2, "a", delta_body("m", 4, "two")));
    assert_eq!(*original, event(1, "a", delta_body("m", 0, "one ")));
}

#[test]
fn a_hole_is_never_closed_by_joining() {
    let mut mailbox = mailbox(8, 1 << 20);
    offer(&mut mailbox, event(1, "a", delta_body("m", 0, "one ")));
    offer(&mut mailbox, event(3, "a", delta_body("m", 8, "three")));
    assert_eq!(seqs(&mailbox.pop(9)), [1, 3]);
}

#[test]
fn a_joined_piece_ends_at_its_limit() {
    let mut mailbox = mailbox(64, 1 << 20);
    let text = "x".repeat(1_000);
    for piece in 0..40 {
        offer(&mut mailbox, event(piece + 1, "a", delta_body("m", piece * 1_000, &text)));
    }
    let batch = mailbox.pop(64);
    assert_eq!(batch.len(), 3, "40,000 bytes in pieces of at most {MAX_PIECE}");
    assert_eq!(texts(&batch)["test:a/m"].len(), 40_000);
}

#[test]
fn the_newest_measurement_replaces_the_one_that_waits() {
    let mut mailbox = mailbox(8, 1 << 20);
    offer(&mut mailbox, event(1, "a", usage_body(1)));
    offer(&mut mailbox, event(2, "a", essential_body("t")));
    offer(&mut mailbox, event(3, "b", usage_body(2)));
    offer(&mut mailbox, event(4, "a", usage_body(3)));
    assert_eq!(seqs(&mailbox.pop(9)), [2, 3, 4]);
    assert_eq!(mailbox.counts.superseded, 1);
}

#[test]
fn what_is_not_essential_is_shed_first_and_oldest_first() {
    let mut mailbox = mailbox(4, 1 << 20);
    offer(&mut mailbox, event(1, "a", essential_body("t")));
    offer(&mut mailbox, event(2, "a", notice_body("x")));
    offer(&mut mailbox, event(3, "a", usage_body(1)));
    offer(&mut mailbox, event(4, "a", delta_body("m", 0, "one")));
    offer(&mut mailbox, event(5, "a", essential_body("t")));
    offer(&mut mailbox, event(6, "a", essential_body("t")));
    assert_eq!(seqs(&mailbox.pop(9)), [1, 4, 5, 6]);
    assert_eq!(mailbox.counts.shed, 2);
    assert_eq!(mailbox.lost(), None, "what is shed makes no gap");
}

#[test]
fn what_is_not_essential_never_costs_an_essential_event() {
    let mut mailbox = mailbox(2, 1 << 20);
    offer(&mut mailbox, event(1, "a", essential_body("t")));
    offer(&mut mailbox, event(2, "a", essential_body("t")));
    offer(&mut mailbox, event(3, "a", notice_body("x")));
    assert_eq!(mailbox.lost(), None);
    assert_eq!(seqs(&mailbox.pop(9)), [1, 2]);
}

#[test]
fn only_essential_events_and_no_room_make_a_gap_from_the_oldest_on() {
    let mut mailbox = mailbox(2, 1 << 20);
    for seq in 1..=4 {
        offer(&mut mailbox, event(seq, "a", essential_body("t")));
    }
    let lost = mailbox.lost().expect("a gap");
    assert_eq!((lost.first, lost.reason), (Seq(1), GapReason::Overflow));
    assert!(mailbox.pop(9).is_empty());
    // A snapshot that covers items 0 to 4 of the ring.
    mailbox.resume(5);
    offer(&mut mailbox, event(5, "a", essential_body("covered")));
    offer(&mut mailbox, event(6, "a", essential_body("after")));
    assert_eq!(seqs(&mailbox.pop(9)), [6]);
    assert_eq!(mailbox.counts.dropped.overflow, 5);
}

#[test]
fn an_event_too_large_to_wait_loses_its_text_and_not_its_fact() {
    let mut mailbox = mailbox(8, 64 * 1_024);
    offer(&mut mailbox, event(1, "a", essential_body("t")));
    offer(&mut mailbox, event(2, "a", completed_body(&"x".repeat(100_000))));
    let batch = mailbox.pop(9);
    let Body::MessageCompleted(data) = &batch[1].body else { panic!("{:?}", batch[1]) };
    assert_eq!((data.text.size, &data.text.value), (100_000, &None));
    assert_eq!((mailbox.lost(), mailbox.counts.reduced), (None, 1));
}

#[test]
fn nothing_is_remembered_of_what_is_gone() {
    let mut mailbox = mailbox(64, 1 << 20);
    for seq in 1..=20 {
        let id = format!("session-{seq}");
        offer(&mut mailbox, event(seq * 3, &id, delta_body("m", 0, "x")));
        offer(&mut mailbox, event(seq * 3 + 1, &id, usage_body(1)));
        if seq % 2 == 0 {
            offer(&mut mailbox, ended(seq * 3 + 2, &id));
        }
    }
    assert_eq!(mailbox.remembered(), 20 + 10, "pieces of ended sessions are closed");
    mailbox.pop(99);
    assert_eq!(mailbox.remembered(), 0);
}

#[test]
fn a_draining_mailbox_holds_no_pieces() {
    let mut mailbox = mailbox(64, 1 << 20);
    offer(&mut mailbox, event(1, "a", delta_body("m", 0, "x")));
    offer(&mut mailbox, event(2, "a", usage_body(1)));
    mailbox.drain();
    offer(&mut mailbox, event(3, "a", delta_body("m", 1, "y")));
    offer(&mut mailbox, event(4, "a", essential_body("t")));
    assert_eq!(seqs(&mailbox.pop(9)), [2, 4]);
    assert_eq!(mailbox.counts.dropped.drained, 2);
}

#[test]
fn being_lapped_before_the_last_snapshot_is_no_new_gap() {
    let mut mailbox = mailbox(2, 1 << 20);
    for seq in 1..=3 {
        offer(&mut mailbox, event(seq, "a", essential_body("t")));
    }
    mailbox.resume(10);
    mailbox.lapped(3, 7);
    assert_eq!(mailbox.lost(), None);
    mailbox.lapped(10, 1);
    assert_eq!(mailbox.lost().map(|lost| lost.reason), Some(GapReason::RingLapped));
    assert_eq!(accounted(&mailbox), mailbox.counts.offered);
}

/// One step of a random schedule.
#[derive(Clone, Debug)]
enum Step {
    Essential(u8),
    Delta { session: u8, message: u8, length: usize },
    Usage(u8),
    Notice(u8),
    Big(u8),
    Lap(u8),
    Pop(usize),
    Resync,
    Settle,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..3_u8).prop_map(Step::Essential),
        12 => (0..3_u8, 0..2_u8, 1..700_usize)
            .prop_map(|(session, message, length)| Step::Delta { session, message, length }),
        3 => (0..3_u8).prop_map(Step::Usage),
        2 => (0..3_u8).prop_map(Step::Notice),
        1 => (0..3_u8).prop_map(Step::Big),
        1 => (1..5_u8).prop_map(Step::Lap),
        3 => (1..12_usize).prop_map(Step::Pop),
        2 => Just(Step::Resync),
        2 => Just(Step::Settle),
    ]
}

/// What was offered, and what the sink was given or told it misses.
#[derive(Default)]
struct Model {
    seq: u64,
    /// Essential events, by number.
    essential: Vec<u64>,
    /// The number of each session's last essential event before each delta.
    texts: HashMap<(u8, u8), String>,
    got: Vec<Arc<Event>>,
    gaps: Vec<(u64, u64)>,
}

fn letter(number: u64) -> char {
    char::from(b'a' + u8::try_from(number % 26).expect("under 26"))
}

impl Model {
    fn make(&mut self, step: &Step) -> Option<Event> {
        let name = |session: u8| format!("s{session}");
        let body = match step {
            Step::Essential(_) => essential_body("t"),
            Step::Usage(_) => usage_body(self.seq),
            Step::Notice(_) => notice_body("x"),
            Step::Big(_) => completed_body(&"z".repeat(9_000)),
            Step::Delta { session, message, length } => {
                let text = self.texts.entry((*session, *message)).or_default();
                let offset = text.len() as u64;
                let piece: String = (offset..).map(letter).take(*length).collect();
                text.push_str(&piece);
                delta_body(&format!("m{message}"), offset, &piece)
            }
            Step::Lap(_) | Step::Pop(_) | Step::Resync | Step::Settle => return None,
        };
        self.seq += 1;
        if body.is_essential() {
            self.essential.push(self.seq);
        }
        let (Step::Essential(session)
        | Step::Usage(session)
        | Step::Notice(session)
        | Step::Big(session)
        | Step::Delta { session, .. }) = step
        else {
            return None;
        };
        Some(event(self.seq, &name(*session), body))
    }

    fn in_gap(&self, seq: u64) -> bool {
        self.gaps.iter().any(|(first, last)| (*first..=*last).contains(&seq))
    }

    /// Each piece is the slice of its message that its offset says.
    fn check_slices(&self) -> Result<(), TestCaseError> {
        for event in &self.got {
            let Body::MessageDelta(delta) = &event.body else { continue };
            let number = |text: &str| {
                let digits = text.trim_start_matches(char::is_alphabetic);
                digits.parse::<u8>().expect("a number")
            };
            let key = (number(event.session.id.as_str()), number(delta.message.as_str()));
            let start = usize::try_from(delta.offset).expect("small");
            let text = delta.text.value.as_deref().expect("content");
            let slice = self.texts[&key].get(start..start + text.len());
            prop_assert_eq!(slice, Some(text));
            prop_assert!(delta.text.size <= MAX_PIECE);
            prop_assert_eq!(delta.text.size, text.len() as u64);
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, ..ProptestConfig::default() })]

    /// The promises of the specification on every schedule: essential events arrive in order or lie in an
    /// announced gap, pieces are right and cross no essential event of their session, no limit is
    /// exceeded, and every event offered has exactly one fate.
    #[test]
    fn promises_hold_on_every_schedule(steps in proptest::collection::vec(step(), 1..150)) {
        let limits = MailboxLimits { items: 8, bytes: 16_000 };
        let mut mailbox = Mailbox::new(limits, Seq(0));
        let mut model = Model::default();
        for step in steps {
            let crossing = match &step {
                Step::Delta { session, .. } => Some(format!("s{session}")),
                _ => None,
            };
            if let Some(event) = model.make(&step) {
                prop_assert_eq!(crossing.is_some(), matches!(event.body, Body::MessageDelta(_)));
                offer(&mut mailbox, event);
            }
            match step {
                Step::Lap(count) => {
                    mailbox.lapped(model.seq, u64::from(count));
                    // What is lapped may have been essential.
                    model.essential.extend(model.seq + 1..=model.seq + u64::from(count));
                    model.seq += u64::from(count);
                }
                Step::Pop(limit) => {
                    let batch = mailbox.pop(limit);
                    prop_assert!(batch.len() <= limit);
                    model.got.extend(batch);
                }
                Step::Resync => {
                    if let Some(lost) = mailbox.lost() {
                        prop_assert!(mailbox.pop(1).is_empty(), "nothing before the gap is told");
                        mailbox.resume(model.seq);
                        model.gaps.push((lost.first.0, model.seq));
                    }
                }
                Step::Settle => {
                    mailbox.counts.delivered += std::mem::take(&mut mailbox.counts.in_flight);
                }
                _ => {}
            }
            prop_assert!(mailbox.len() <= limits.items);
            prop_assert!(mailbox.bytes() <= limits.bytes);
            prop_assert!(mailbox.remembered() <= mailbox.len());
            prop_assert_eq!(accounted(&mailbox), mailbox.counts.offered);
        }
        if let Some(lost) = mailbox.lost() {
            mailbox.resume(model.seq);
            model.gaps.push((lost.first.0, model.seq));
        }
        model.got.extend(mailbox.pop(usize::MAX));
        prop_assert_eq!(mailbox.bytes(), 0);
        prop_assert_eq!(mailbox.remembered(), 0);

        let numbers: Vec<u64> = model.got.iter().map(|event| event.seq.0).collect();
        prop_assert!(numbers.is_sorted_by(|a, b| a < b), "in the order of the bus: {numbers:?}");
        for seq in &model.essential {
            prop_assert!(
                numbers.contains(seq) != model.in_gap(*seq),
                "essential event {} must arrive or lie in a gap, not both: {:?} {:?}",
                seq, numbers, model.gaps
            );
        }
        model.check_slices()?;
    }

    /// No piece moves across an essential event of its session: between two essential events the sink gets
    /// no more text than was written between them.
    #[test]
    fn no_piece_crosses_an_essential_event_of_its_session(
        steps in proptest::collection::vec((0..2_u8, prop::bool::weighted(0.3)), 1..80),
    ) {
        let mut mailbox = mailbox(1_000, 1 << 20);
        let mut written: HashMap<u8, u64> = HashMap::new();
        // For each essential event: its session and how much of the message was written before it.
        let mut marks = HashMap::new();
        for (number, (session, essential)) in (1..).zip(steps) {
            let name = format!("s{session}");
            let length = written.entry(session).or_default();
            if essential {
                marks.insert(number, (name.clone(), *length));
                offer(&mut mailbox, event(number, &name, essential_body("t")));
            } else {
                offer(&mut mailbox, event(number, &name, delta_body("m", *length, "four")));
                *length += 4;
            }
        }
        let mut read: HashMap<String, u64> = HashMap::new();
        for event in mailbox.pop(usize::MAX) {
            let name = event.session.id.as_str().to_owned();
            if let Body::MessageDelta(delta) = &event.body {
                *read.entry(name).or_default() += delta.text.size;
            } else {
                let so_far = read.get(&name).copied().unwrap_or(0);
                prop_assert_eq!(&(name, so_far), &marks[&event.seq.0]);
            }
        }
    }
}
