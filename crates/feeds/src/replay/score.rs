//! How often a replay tells the state that the agent itself told.
//!
//! A recording may hold the agent's own status files. What they said is taken for the truth, sample by sample, and
//! compared with what the chosen feeds made of the session. A sample is taken every quarter of a second, from a
//! second after each change on; before a feed has told anything of a session there is nothing to judge.
//!
//! The agent's word for what it waits for may be coarser than ours: a plan or a question that it calls a
//! permission is right either way.

use std::collections::BTreeMap;
use std::sync::Arc;

use linelamp_core::Body;
use linelamp_core::driver::{Driver, Reading};
use linelamp_core::event::{ReportedStatus, Status, StatusReported, WaitingFor};
use linelamp_core::id::NativeId;
use serde::Serialize;

use super::feeds::{FeedSet, RecordedFeed};
use super::files::Files;
use super::player::{EPOCH, Replay, ReplayOptions};
use super::recording::{Recording, Signal};

/// Two sources may differ for so long after a change.
const SETTLE_MS: u64 = 1000;
/// Between two samples.
const STEP_MS: u64 = 250;
/// No sample is taken so shortly before the next change.
const MARGIN_MS: u64 = 50;

/// What a replay got right.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Score {
    /// Samples.
    pub samples: u32,
    /// Those that were right.
    pub right: u32,
    /// Those that were told to wait for a human and did not.
    pub false_waiting: u32,
    /// Those that were told to have nothing to do, or to be over, and were not.
    pub false_idle: u32,
    /// The wrong ones.
    pub wrong: Vec<Wrong>,
}

/// A sample that was wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wrong {
    /// When, in milliseconds of the recording.
    pub ms: u64,
    /// Which session.
    pub session: NativeId,
    /// What was told.
    pub told: Status,
    /// What the agent said.
    pub truth: Status,
}

impl Score {
    /// Adds the samples of another recording.
    pub fn add(&mut self, other: &Self) {
        self.samples += other.samples;
        self.right += other.right;
        self.false_waiting += other.false_waiting;
        self.false_idle += other.false_idle;
        self.wrong.extend(other.wrong.iter().cloned());
    }

    fn sample(&mut self, stretch: &Stretch, ms: u64, told: Told, lenient: bool) {
        self.samples += 1;
        if stretch.fits(told, lenient) {
            self.right += 1;
            return;
        }
        let waits =
            |status| matches!(status, Status::WaitingForPermission | Status::WaitingForInput);
        let truth = stretch.truth();
        self.false_waiting += u32::from(waits(told.0) && !waits(truth));
        let rests = matches!(told.0, Status::Idle | Status::Ended);
        self.false_idle += u32::from(rests && truth != Status::Idle);
        self.wrong.push(Wrong { ms, session: stretch.session.clone(), told: told.0, truth });
    }
}

/// A state and what is waited for.
type Told = (Status, Option<WaitingFor>);

/// A time in which the agent said one thing.
#[derive(Debug)]
struct Stretch {
    session: NativeId,
    from: u64,
    until: u64,
    said: StatusReported,
}

impl Stretch {
    fn truth(&self) -> Status {
        match self.said.status {
            ReportedStatus::Busy => Status::Working,
            ReportedStatus::Waiting => {
                self.said.waiting_for.unwrap_or(WaitingFor::Permission).status()
            }
            _ => Status::Idle,
        }
    }

    fn fits(&self, (status, waiting_for): Told, lenient: bool) -> bool {
        match self.said.status {
            ReportedStatus::Idle => matches!(status, Status::Idle | Status::Starting),
            ReportedStatus::Shell => matches!(status, Status::Idle | Status::Working),
            ReportedStatus::Waiting => {
                let finer = matches!(waiting_for, Some(WaitingFor::Plan | WaitingFor::Question))
                    && self.truth() == Status::WaitingForPermission;
                status == self.truth() || finer || (lenient && status == Status::Working)
            }
            _ => status == Status::Working,
        }
    }
}

/// Replays with `feeds` and compares. A recording without status files has no samples.
pub fn score(recording: Recording, driver: &Arc<dyn Driver>, feeds: FeedSet) -> Score {
    let stretches = truth(&recording, driver);
    let options = ReplayOptions { feeds, ..ReplayOptions::default() };
    let mut told: BTreeMap<NativeId, Vec<(u64, Told)>> = BTreeMap::new();
    Replay::new(recording, Arc::clone(driver), options).run(|replay, event| {
        if let Some(change) = replay.state_change(event) {
            let changes = told.entry(change.session).or_default();
            changes.push((change.ms, (change.state, change.waiting_for)));
        }
    });
    // From session files alone a wait cannot be known.
    let lenient = feeds == FeedSet::only(RecordedFeed::Transcript);
    let mut score = Score::default();
    for stretch in &stretches {
        let Some(changes) = told.get(&stretch.session) else { continue };
        let known = changes.first().map_or(u64::MAX, |(ms, _)| *ms);
        let mut ms = stretch.from.max(known).saturating_add(SETTLE_MS);
        while ms < stretch.until.saturating_sub(MARGIN_MS) {
            let now = changes.iter().rfind(|(at, _)| *at <= ms);
            if let Some((_, told)) = now {
                score.sample(stretch, ms, *told, lenient);
            }
            ms += STEP_MS;
        }
    }
    score
}

/// What the status files said, and for how long.
fn truth(recording: &Recording, driver: &Arc<dyn Driver>) -> Vec<Stretch> {
    let mut files = Files::new(recording, Arc::clone(driver), Reading::State);
    let mut open: BTreeMap<String, Stretch> = BTreeMap::new();
    let mut stretches = Vec::new();
    for step in recording.steps() {
        if matches!(step.signal, Signal::Exit { .. }) {
            // Its file stays for a moment, or for good.
            let open = std::mem::take(&mut open).into_values();
            stretches.extend(open.map(|stretch| Stretch { until: step.ms, ..stretch }));
        }
        let Signal::Report { file, .. } = &step.signal else { continue };
        let mut drafts = Vec::new();
        files.push(&step.signal, EPOCH, step.ms, &mut drafts);
        if let Some(stretch) = open.remove(&**file) {
            stretches.push(Stretch { until: step.ms, ..stretch });
        }
        let said = drafts.into_iter().find_map(|draft| match draft.body {
            Body::StatusReported(said) => Some((draft.session.id, said)),
            _ => None,
        });
        if let Some((session, said)) = said.filter(|(_, it)| it.status != ReportedStatus::Unknown) {
            let stretch = Stretch { session, from: step.ms, until: 0, said };
            open.insert(file.to_string(), stretch);
        }
    }
    let end = recording.end_ms();
    stretches.extend(open.into_values().map(|stretch| Stretch { until: end, ..stretch }));
    stretches
}
