//! The daemon's end of the store, and how its parts meet.
//!
//! [`Store`] queues; the [writer](super::writer) writes; a second, read-only connection answers what
//! is asked of the tables meanwhile.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use linelamp_core::Seq;
use linelamp_core::journal::{Cursor, Entry, Journal, Position};
use rusqlite::Connection;
use tokio::sync::watch;

use super::connection;
use super::error::StoreError;
use super::group::{self, Memory};
use super::health::{Pulse, StoreHealth};
use super::known::{Answer, Known};
use super::option::{DurableSink, StoreOptions};
use super::queue::{Load, Queue};
use super::read::Reader;
use super::restore::{self, Restored};
use super::writer::Writer;

/// The open store. One process may have it open at a time; the daemon's lock sees to that.
pub struct Store {
    pub(super) shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the handle and the thread share. No lock is held while the file is written.
pub(super) struct Shared {
    pub(super) path: PathBuf,
    pub(super) options: StoreOptions,
    pub(super) queue: Queue,
    pub(super) committed: watch::Sender<Seq>,
    durable: Mutex<Arc<[DurableSink]>>,
    known: Mutex<Known>,
    pulse: Mutex<Pulse>,
    lookup: Mutex<Connection>,
}

impl Store {
    /// Opens the file, makes it or brings it up to date, and says what it remembers.
    ///
    /// # Errors
    ///
    /// See [`StoreError`]; in particular a file of a newer linelamp is refused and left as it is.
    pub fn open(path: &Path, options: StoreOptions) -> Result<(Self, Restored), StoreError> {
        let failed = |source| StoreError::Open { path: path.to_owned(), source };
        let connection = connection::writer(path)?;
        let restored = Restored::load(&connection, path, Timestamp::now())?;
        let mut memory = Memory::new(restored.next_seq, options.waiting_limit);
        group::reserve(&connection, &mut memory, restored.next_seq).map_err(failed)?;
        let known = restore::known(&connection).map_err(failed)?;
        let lookup = connection::reader(path)?;
        let shared = Arc::new(Shared {
            path: path.to_owned(),
            queue: Queue::new(Load { events: options.waiting_limit, bytes: options.waiting_bytes }),
            committed: watch::Sender::new(Seq(restored.next_seq.0.saturating_sub(1))),
            durable: Mutex::new(options.durable.clone().into()),
            known: Mutex::new(known),
            pulse: Mutex::default(),
            lookup: Mutex::new(lookup),
            options,
        });
        let writer = Writer::new(Arc::clone(&shared), connection, memory);
        let thread = std::thread::Builder::new()
            .name("linelamp-store".to_owned())
            .spawn(move || writer.run())
            .map_err(|source| StoreError::Create { path: path.to_owned(), source })?;
        Ok((Self { shared, thread: Mutex::new(Some(thread)) }, restored))
    }

    /// True if the input was taken: committed, or on its way there.
    ///
    /// # Errors
    ///
    /// Whoever gets an error asks again later and publishes nothing meanwhile. [`StoreError::Read`]: the
    /// table could not be asked. [`StoreError::Full`]: the input is not known, and its entry would be
    /// refused now; published all the same it would be told live, and then again. [`StoreError::Closed`]:
    /// what was on its way may not have got there.
    pub fn is_known(&self, position: &Position) -> Result<bool, StoreError> {
        let path = || self.shared.path.clone();
        // Memory may hold positions whose entries were queued and will never be committed.
        if self.shared.queue.is_closed() {
            return Err(StoreError::Closed);
        }
        let answer = self.shared.known().answer(position);
        let is_known = match answer {
            Answer::Known => true,
            Answer::Unknown => false,
            Answer::AskTable => self
                .shared
                .table_knows(position)
                .map_err(|source| StoreError::Read { path: path(), source })?,
        };
        if !is_known && self.shared.queue.is_full() {
            return Err(StoreError::Full { path: path() });
        }
        Ok(is_known)
    }

    /// Every known position that begins with `prefix`, committed ones only, in text order.
    ///
    /// # Errors
    ///
    /// [`StoreError::Read`] if the table cannot be read.
    pub fn positions(&self, prefix: &str) -> Result<Vec<Position>, StoreError> {
        self.shared.positions(prefix)
    }

    /// Every cursor whose source begins with `prefix`, committed ones only, by source.
    ///
    /// # Errors
    ///
    /// [`StoreError::Read`] if the table cannot be read.
    pub fn cursors(&self, prefix: &str) -> Result<Vec<Cursor>, StoreError> {
        self.shared.cursors(prefix)
    }

    /// True if an entry appended now would be taken. Whoever reads from a source that can wait asks before.
    pub fn has_room(&self) -> bool {
        !self.shared.queue.is_closed() && !self.shared.queue.is_full()
    }

    /// How it is doing. Cheap enough to be asked before every input.
    pub fn health(&self) -> StoreHealth {
        let waiting = self.shared.queue.waiting().events;
        self.shared.pulse().health(Instant::now(), waiting)
    }

    /// Replaces the list of durable sinks; counts for every entry that is not prepared yet.
    pub fn set_durable(&self, sinks: Vec<DurableSink>) {
        *self.shared.durable.lock().unwrap_or_else(PoisonError::into_inner) = sinks.into();
    }

    /// A reader of the same file.
    ///
    /// # Errors
    ///
    /// See [`Reader::open`].
    pub fn reader(&self) -> Result<Reader, StoreError> {
        Reader::open(&self.shared.path)
    }

    /// Waits until everything appended up to now is committed; false if that takes longer. Blocks.
    pub fn flush(&self, within: Duration) -> bool {
        self.shared.queue.flush(within)
    }

    /// Commits what is queued and closes the file; false if not everything could be committed in time.
    /// Nothing is taken afterwards. Blocks.
    pub fn close(&self, within: Duration) -> bool {
        let flushed = self.flush(within);
        self.shared.queue.stop();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        match thread {
            // The thread makes one last attempt. If the file hangs, it is left behind.
            Some(thread) if flushed => thread.join().is_ok(),
            _ => flushed,
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.shared.queue.stop();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread
            && !self.health().is_stalled()
            && thread.join().is_err()
        {
            tracing::error!("the store's thread has panicked");
        }
    }
}

impl Journal for Store {
    fn append(&self, entry: Entry) {
        let position = entry.input.as_ref().and_then(|input| input.position().cloned());
        // Held across the push: the writer must not call the position committed before it is called queued.
        let mut known = self.shared.known();
        match self.shared.queue.push(entry) {
            Ok(()) => {
                if let Some(position) = &position {
                    known.queued(position);
                }
            }
            Err(refused) => {
                drop(known);
                self.shared.pulse().refused += 1;
                // Whoever waits to be told of the commit learns here that there will be none.
                drop(refused);
            }
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Store").field("path", &self.shared.path).finish_non_exhaustive()
    }
}

impl Shared {
    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn pulse(&self) -> MutexGuard<'_, Pulse> {
        self.pulse.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn durable(&self) -> Arc<[DurableSink]> {
        Arc::clone(&self.durable.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn lookup(&self) -> MutexGuard<'_, Connection> {
        self.lookup.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn table_knows(&self, position: &Position) -> rusqlite::Result<bool> {
        self.lookup()
            .prepare_cached("SELECT 1 FROM positions WHERE position = ?1")?
            .exists([&*position.0])
    }

    fn positions(&self, prefix: &str) -> Result<Vec<Position>, StoreError> {
        let ask = || -> rusqlite::Result<Vec<Position>> {
            let lookup = self.lookup();
            let mut statement = lookup.prepare_cached(
                "SELECT position FROM positions WHERE position >= ?1 ORDER BY position",
            )?;
            let mut rows = statement.query([prefix])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let position = row.get_ref(0)?.as_str()?;
                if !position.starts_with(prefix) {
                    break;
                }
                found.push(Position::new(position));
            }
            Ok(found)
        };
        ask().map_err(|source| StoreError::Read { path: self.path.clone(), source })
    }

    fn cursors(&self, prefix: &str) -> Result<Vec<Cursor>, StoreError> {
        let ask = || -> rusqlite::Result<Vec<Cursor>> {
            let lookup = self.lookup();
            let mut statement = lookup.prepare_cached(
                "SELECT source, value FROM cursors WHERE source >= ?1 ORDER BY source",
            )?;
            let mut rows = statement.query([prefix])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let source = row.get_ref(0)?.as_str()?;
                if !source.starts_with(prefix) {
                    break;
                }
                found.push(Cursor::new(source, row.get_ref(1)?.as_str()?));
            }
            Ok(found)
        };
        ask().map_err(|source| StoreError::Read { path: self.path.clone(), source })
    }
}
