//! Each input once: what is in hand, what is durable, and who wants to know.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use linelamp_core::Draft;
use linelamp_core::bus::{PublishError, Publisher};
use linelamp_core::journal::{Committed, Cursor, Position};
use linelamp_core::sink::{BoxError, BoxFuture};

use super::stats::IntakeStats;

/// Knows which inputs are durable, and how far sources were read. A store implements it.
pub trait Ledger: Send + Sync {
    /// For each position, in order, whether it was committed by this or an earlier daemon.
    fn known<'a>(&'a self, positions: &'a [Position])
    -> BoxFuture<'a, Result<Vec<bool>, BoxError>>;

    /// The cursors of all sources whose names begin with `prefix`, as this or an earlier daemon committed them.
    fn cursors(&self, prefix: &str) -> BoxFuture<'_, Result<Vec<Cursor>, BoxError>>;

    /// False while what is published would be told live and then refused for want of room.
    fn has_room(&self) -> bool {
        true
    }
}

/// How many positions are remembered where no store does.
const REMEMBERED: usize = 65_536;

/// What all feeds that take in clients' input share. Cheap to clone.
#[derive(Clone)]
pub struct Intake(Arc<Inner>);

struct Inner {
    ledger: Option<Arc<dyn Ledger>>,
    stats: IntakeStats,
    hands: Mutex<Hands>,
    /// The ledger's last answer was an error.
    is_waiting: AtomicBool,
}

/// Told once when nobody holds a position any more, and whether it is durable; if not, it is nobody's again.
type Done = Box<dyn FnOnce(bool) + Send>;

#[derive(Default)]
struct Hands {
    /// Published or about to be, and not durable yet; with everybody who waits for that.
    held: HashMap<Position, Vec<Done>>,
    /// Without a ledger: what was published, newest last.
    recent: VecDeque<Position>,
    is_recent: HashSet<Position>,
}

/// What is to be done with an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// Nobody has it: it is the caller's now, to publish or to give back.
    Mine,
    /// It is durable.
    Known,
    /// Somebody else has it in hand.
    Held,
}

impl Intake {
    /// Intake in front of a store, or of none.
    pub fn new(ledger: Option<Arc<dyn Ledger>>) -> Self {
        Self(Arc::new(Inner {
            ledger,
            stats: IntakeStats::default(),
            hands: Mutex::new(Hands::default()),
            is_waiting: AtomicBool::new(false),
        }))
    }

    /// The counters.
    pub fn stats(&self) -> &IntakeStats {
        &self.0.stats
    }

    /// Claims inputs and asks the ledger for those that nobody has. If it cannot say, nothing is claimed.
    pub(super) async fn claim(&self, positions: Vec<Position>) -> Result<Claims, BoxError> {
        let mut claims =
            Claims { intake: self.clone(), mine: HashSet::new(), known: HashSet::new() };
        let mut asked = Vec::new();
        {
            let mut hands = self.hands();
            for position in positions {
                if hands.is_recent.contains(&position) {
                    claims.known.insert(position);
                } else if !hands.held.contains_key(&position) {
                    hands.held.insert(position.clone(), Vec::new());
                    claims.mine.insert(position.clone());
                    asked.push(position);
                }
            }
        }
        if let Some(ledger) = &self.0.ledger
            && !asked.is_empty()
        {
            // Dropped before the end, be it by an error or with this future, `claims` gives all back.
            let known = ledger.known(&asked).await;
            self.note_answer(known.as_ref().err());
            let known = known?;
            for (position, is_known) in asked.into_iter().zip(known) {
                if is_known {
                    claims.mine.remove(&position);
                    self.release(&position, true);
                    claims.known.insert(position);
                }
            }
        }
        self.0.stats.known.add(claims.known.len() as u64);
        Ok(claims)
    }

    /// Calls `done` when the position is released, with true if it is durable then; false, and `done` is dropped, if nobody holds it.
    pub(super) fn on_release(&self, position: &Position, done: Done) -> bool {
        let mut hands = self.hands();
        let waiting = hands.held.get_mut(position);
        waiting.map(|waiting| waiting.push(done)).is_some()
    }

    /// Logs the first error and the first answer after it: it is asked several times a second.
    fn note_answer(&self, error: Option<&BoxError>) {
        let was_waiting = self.0.is_waiting.swap(error.is_some(), Ordering::Relaxed);
        match error {
            Some(error) if !was_waiting => {
                tracing::warn!(%error, "store cannot say what it has; input waits where it is");
            }
            None if was_waiting => tracing::info!("store answers again; input is taken"),
            _ => {}
        }
    }

    fn release(&self, position: &Position, is_durable: bool) {
        let waiting = self.hands().held.remove(position);
        waiting.into_iter().flatten().for_each(|done| done(is_durable));
    }

    fn hands(&self) -> std::sync::MutexGuard<'_, Hands> {
        self.0.hands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Intake {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Intake")
            .field("ledger", &self.0.ledger.is_some())
            .field("stats", &self.0.stats)
            .finish_non_exhaustive()
    }
}

impl Hands {
    fn remember(&mut self, position: Position) {
        if self.is_recent.insert(position.clone()) {
            self.recent.push_back(position);
        }
        if self.recent.len() > REMEMBERED
            && let Some(oldest) = self.recent.pop_front()
        {
            self.is_recent.remove(&oldest);
        }
    }
}

/// What became of a claim; gives back what was claimed and not published.
#[derive(Debug)]
pub(super) struct Claims {
    intake: Intake,
    mine: HashSet<Position>,
    known: HashSet<Position>,
}

impl Claims {
    /// What is to be done with an input.
    pub(super) fn of(&self, position: &Position) -> Claim {
        if self.mine.contains(position) {
            Claim::Mine
        } else if self.known.contains(position) {
            Claim::Known
        } else {
            Claim::Held
        }
    }

    /// Publishes a claimed input in one step. `done` is called once: with true when it is durable, or at
    /// once where there is no store; with false if the store refused it, so that it must be read again.
    ///
    /// # Errors
    ///
    /// [`PublishError::Closed`]; the input is given back and will be read again.
    pub(super) fn publish(
        &mut self,
        publisher: &Publisher,
        position: &Position,
        drafts: Vec<Draft>,
        done: impl FnOnce(bool) + Send + 'static,
    ) -> Result<(), PublishError> {
        let intake = self.intake.clone();
        let count = drafts.len() as u64;
        intake.on_release(position, Box::new(done));
        let hold = Hold { intake: intake.clone(), position: position.clone(), is_durable: false };
        let committed = Committed(Box::new(move || hold.commit()));
        publisher.publish_all(Some(position.clone().into()), drafts, Some(committed))?;
        self.mine.remove(position);
        intake.0.stats.drafts.add(count);
        Ok(())
    }
}

/// A published input. Whoever drops it uncommitted, as a store does that has no room, gives it back.
struct Hold {
    intake: Intake,
    position: Position,
    is_durable: bool,
}

impl Hold {
    fn commit(mut self) {
        if self.intake.0.ledger.is_none() {
            self.intake.hands().remember(self.position.clone());
        }
        self.is_durable = true;
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if !self.is_durable {
            self.intake.0.stats.given_back.add(1);
        }
        self.intake.release(&self.position, self.is_durable);
    }
}

impl Drop for Claims {
    fn drop(&mut self) {
        if !self.mine.is_empty() {
            let mut hands = self.intake.hands();
            for position in &self.mine {
                hands.held.remove(position);
            }
        }
    }
}
