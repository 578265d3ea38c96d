//! The side channel between the pumps and the observer: bounded, and never a reason to wait.
//!
//! A pump offers what it kept of one chunk as one block. Whether there is room is asked before a line
//! is copied, in two budgets: detail gets little, lines that carry state get much more, large ones among
//! them less. The lock is held for a push or a pop and nothing else.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use linelamp_core::Timestamp;
use linelamp_core::driver::{Direction, Driver, Keep};
use linelamp_core::process::{ProcessExit, ProcessRef};

use super::bell::Bell;

/// Bytes of lines that only carry detail.
const MAY_BYTES: usize = 4 << 20;
/// Bytes of lines that carry state.
const MUST_BYTES: usize = 64 << 20;
/// A larger line that carries state waits only while fewer bytes than [`LARGE_MUST_BYTES`] do.
const LARGE_LINE: usize = 64 << 10;
/// See [`LARGE_LINE`].
const LARGE_MUST_BYTES: usize = 12 << 20;

/// One thing in a block, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// The next `length` bytes are line `number` of its direction.
    Line {
        /// Its length.
        length: usize,
        /// Its place among all lines of the direction, from 1.
        number: u64,
        /// Whether it may still be left out.
        keep: Keep,
    },
    /// Lines were left out here.
    Gap {
        /// How many.
        lines: u64,
        /// True if one was over the length limit.
        too_long: bool,
    },
}

/// What was kept of one chunk.
#[derive(Debug)]
pub(super) struct Block {
    /// Which way the bytes went.
    pub(super) direction: Direction,
    /// When they were read.
    pub(super) at: Timestamp,
    /// The lines, one after the other.
    pub(super) bytes: Vec<u8>,
    /// What the bytes are.
    pub(super) items: Vec<Item>,
    /// How many of the bytes are detail.
    pub(super) may_bytes: usize,
}

/// The last word: the child is gone and its output read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Finish {
    /// How it ended.
    pub(super) exit: ProcessExit,
    /// When.
    pub(super) at: Timestamp,
    /// By when the observer must be done.
    pub(super) deadline: Instant,
}

/// What the observer finds.
#[derive(Debug)]
pub(super) enum Taken {
    /// The next block.
    Block(Block),
    /// There is none, and there will be none.
    Finish(Finish),
    /// There is none yet.
    Nothing,
}

#[derive(Debug, Default)]
struct Queue {
    blocks: VecDeque<Block>,
    finish: Option<Finish>,
    /// The observer sleeps, or is about to: it must be rung.
    sleeping: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No line came yet.
    Unborn,
    Running,
    Done,
}

/// Starts the observer; called once, with the first block.
pub(super) type Start = Box<dyn FnOnce(&Arc<Tap>) -> bool + Send>;

/// See the module's words.
pub(super) struct Tap {
    /// Whose stream it is, once known; `None` in it: nobody's.
    driver: OnceLock<Option<Arc<dyn Driver>>>,
    /// The child, once it is started.
    pub(super) child: OnceLock<ProcessRef>,
    /// The observer wants everything it can get, not only state; true until it knows better.
    full: AtomicBool,
    closed: AtomicBool,
    may_bytes: AtomicUsize,
    must_bytes: AtomicUsize,
    /// Lines left out because the observer was behind, of either budget.
    pub(super) shed: AtomicU64,
    /// Those among them that carried state, and batches that could be neither sent nor spooled.
    pub(super) lost: AtomicU64,
    queue: Mutex<Queue>,
    pub(super) bell: Bell,
    start: Mutex<Option<Start>>,
    /// The observer was brought up, or that failed: there is nothing more to start.
    is_started: AtomicBool,
    stage: Mutex<Stage>,
    stage_changed: Condvar,
}

impl Tap {
    /// A tap whose observer `start` brings up.
    pub(super) fn new(bell: Bell, start: Start) -> Self {
        Self {
            driver: OnceLock::new(),
            child: OnceLock::new(),
            full: AtomicBool::new(true),
            closed: AtomicBool::new(false),
            may_bytes: AtomicUsize::new(0),
            must_bytes: AtomicUsize::new(0),
            shed: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            queue: Mutex::default(),
            bell,
            start: Mutex::new(Some(start)),
            is_started: AtomicBool::new(false),
            stage: Mutex::new(Stage::Unborn),
            stage_changed: Condvar::new(),
        }
    }

    // For the pumps.

    /// Whose stream it is: `None` while that is not known.
    pub(super) fn driver(&self) -> Option<&Arc<dyn Driver>> {
        self.driver.get().and_then(Option::as_ref)
    }

    /// Nobody looks any more.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// The driver failed on a line: no more are cut. What was kept before is still reported, and the end is.
    pub(super) fn stop_looking(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// The observer wants detail too.
    pub(super) fn wants_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// Room for so many bytes of detail.
    pub(super) fn has_may_room(&self, bytes: usize) -> bool {
        self.may_bytes.load(Ordering::Relaxed) + bytes <= MAY_BYTES
    }

    /// Room for a line of this length that carries state, beside `held` bytes not yet offered.
    pub(super) fn has_must_room(&self, length: usize, held: usize) -> bool {
        let limit = if length > LARGE_LINE { LARGE_MUST_BYTES } else { MUST_BYTES };
        self.must_bytes.load(Ordering::Relaxed) + held + length <= limit
    }

    /// Hands a block over; brings the observer up with the first one.
    pub(super) fn offer(self: &Arc<Self>, block: Block) {
        self.may_bytes.fetch_add(block.may_bytes, Ordering::Relaxed);
        self.must_bytes.fetch_add(block.bytes.len() - block.may_bytes, Ordering::Relaxed);
        let ring = {
            let mut queue = lock(&self.queue);
            queue.blocks.push_back(block);
            std::mem::take(&mut queue.sleeping)
        };
        if ring {
            self.bell.ring();
        }
        if self.is_started.load(Ordering::Acquire) {
            return;
        }
        let start = lock(&self.start).take();
        self.is_started.store(true, Ordering::Release);
        if let Some(start) = start {
            *lock(&self.stage) = Stage::Running;
            if !start(self) {
                self.close();
            }
        }
    }

    // For the main thread.

    /// Says that nothing more comes, and waits until the observer is done or the deadline has passed.
    pub(super) fn finish(&self, finish: Finish) {
        if *lock(&self.stage) == Stage::Unborn {
            return;
        }
        lock(&self.queue).finish = Some(finish);
        self.bell.ring();
        let mut stage = lock(&self.stage);
        while *stage != Stage::Done {
            let left = finish.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.stage_changed.wait_timeout(stage, left);
            stage = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    // For the observer.

    /// The next block, if there is one.
    pub(super) fn take(&self) -> Taken {
        let mut queue = lock(&self.queue);
        if let Some(block) = queue.blocks.pop_front() {
            drop(queue);
            self.may_bytes.fetch_sub(block.may_bytes, Ordering::Relaxed);
            self.must_bytes.fetch_sub(block.bytes.len() - block.may_bytes, Ordering::Relaxed);
            return Taken::Block(block);
        }
        queue.finish.map_or(Taken::Nothing, Taken::Finish)
    }

    /// By when the observer must be done, once that is known.
    pub(super) fn deadline(&self) -> Option<Instant> {
        lock(&self.queue).finish.map(|finish| finish.deadline)
    }

    /// Leaves a copy of this process behind in which the observer, and nothing else, goes on. Gives true in
    /// the copy. No other thread holds the queue at that moment, so the copy can use it.
    #[cfg(unix)]
    pub(super) fn split_off(&self) -> std::io::Result<bool> {
        let _queue = lock(&self.queue);
        super::signal::fork_self()
    }

    /// Sleeps until something is offered, `connection` has something, or `timeout` is over.
    pub(super) fn sleep(
        &self,
        timeout: Duration,
        connection: Option<&crate::socket::Connection>,
        sending: bool,
    ) {
        {
            let mut queue = lock(&self.queue);
            if !queue.blocks.is_empty() {
                return;
            }
            queue.sleeping = true;
        }
        self.bell.wait(timeout, connection, sending);
        lock(&self.queue).sleeping = false;
    }

    /// Tells the pumps whose stream it is.
    pub(super) fn set_driver(&self, driver: Option<Arc<dyn Driver>>) {
        self.driver.set(driver).ok();
    }

    /// Tells the pumps how much is wanted.
    pub(super) fn set_full(&self, full: bool) {
        self.full.store(full, Ordering::Relaxed);
    }

    /// Nothing is looked at any more: the pumps stop cutting lines, what waits is dropped.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        lock(&self.queue).blocks.clear();
        *lock(&self.stage) = Stage::Done;
        self.stage_changed.notify_all();
    }
}

impl std::fmt::Debug for Tap {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Tap").field("child", &self.child).finish_non_exhaustive()
    }
}

/// A panic of another thread leaves these values whole: each is changed in one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
