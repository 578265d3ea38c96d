//! The spool as a feed: files in, drafts out, files deleted when that is durable.
//!
//! Reading and deleting happen on the runtime's threads for blocking work, a group of files at a time and
//! one group ahead. Decoding and publishing happen here, in the order of the names, each file in one step.
//! Files whose drafts are published and not durable yet are *flying*: they are not read again.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use linelamp_core::bus::{PublishError, Publisher};
use linelamp_core::digest::Digester;
use linelamp_core::driver::{Decoded, Driver, Reading};
use linelamp_core::event::{Notice, NoticeLevel};
use linelamp_core::feed::{Feed, FeedContext, FeedError};
use linelamp_core::sink::{BoxError, BoxFuture};
use linelamp_core::{Draft, EventId, SessionKey, Timestamp};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::admit::admit;
use super::clock::Moment;
use super::content::{Content, HookFile, Problem, WrapFile};
use super::folder::{Folder, Name, ReadError};
use super::hook::{HookDecoders, Undecoded};
use super::intake::{Claim, Claims, Intake};
use super::poke::Pokes;
use crate::process;
use crate::spool::Reason;

/// How often the folder is looked at even if nobody pokes.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often what was put aside is looked at for its age; clients do so too, now and then.
const TIDY_EVERY: Duration = Duration::from_secs(600);
/// So many files are read at once…
const GROUP_FILES: usize = 128;
/// …or until they have so many bytes.
const GROUP_BYTES: usize = 8 << 20;

/// What is told about the spool itself belongs to no session of an agent: it stands under the key that the bus
/// uses for what it says of itself.
const NOTICE_AGENT: &str = "linelamp";
/// See [`NOTICE_AGENT`].
const NOTICE_SESSION: &str = "bus";

/// What the spool feed is made from. The publisher it is run with speaks for the hooks.
pub struct SpoolOptions {
    /// The state folder; the spool lies in it.
    pub state: PathBuf,
    /// Whoever can read hook payloads.
    pub drivers: Vec<Arc<dyn Driver>>,
    /// How much is read of payloads.
    pub reading: Reading,
    /// Makes digests of tool input.
    pub digester: Digester,
    /// Speaks for wrappers, whose batches come through the spool when the socket does not take them.
    pub wrappers: Publisher,
    /// What is in hand and what is durable.
    pub intake: Intake,
    /// Where pokes come from.
    pub pokes: Pokes,
}

impl fmt::Debug for SpoolOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SpoolOptions").field("state", &self.state).finish_non_exhaustive()
    }
}

/// Takes in what clients left in the spool.
#[derive(Debug)]
pub struct SpoolFeed {
    options: SpoolOptions,
    asked: mpsc::UnboundedReceiver<oneshot::Sender<()>>,
}

/// Asks the running spool feed. Cheap to clone.
#[derive(Clone, Debug)]
pub struct SpoolHandle(mpsc::UnboundedSender<oneshot::Sender<()>>);

impl SpoolFeed {
    /// A feed that has not begun, and a handle to ask it later.
    pub fn new(options: SpoolOptions) -> (Self, SpoolHandle) {
        let (sender, asked) = mpsc::unbounded_channel();
        (Self { options, asked }, SpoolHandle(sender))
    }
}

impl SpoolHandle {
    /// Waits until everything that lies in the spool now is taken in and durable. False if the feed ends
    /// before that. As long as the store stands still this does not return.
    pub async fn settle(&self) -> bool {
        let (sender, answer) = oneshot::channel();
        self.0.send(sender).is_ok() && answer.await.is_ok()
    }
}

impl Feed for SpoolFeed {
    fn run(self: Box<Self>, context: FeedContext) -> BoxFuture<'static, Result<(), FeedError>> {
        Box::pin(async move {
            match Taker::new(self.options, context.publisher).run(self.asked, &context.cancel).await
            {
                Ok(()) | Err(Stop::Closed | Stop::Cancelled) => Ok(()),
                Err(Stop::Failed(error)) => Err(FeedError(error)),
            }
        })
    }
}

/// Why a pass over the folder does not go on.
#[derive(Debug)]
enum Stop {
    /// The bus takes nothing any more.
    Closed,
    /// The feed is to end.
    Cancelled,
    /// Something is broken that another pass would not mend.
    Failed(BoxError),
}

impl From<PublishError> for Stop {
    fn from(_: PublishError) -> Self {
        Self::Closed
    }
}

/// What is to be done with a file when all of it is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Delete,
    /// Something of it is in other hands, or the store had no room for it: it is looked at again.
    Keep,
    /// Something of it could not be read.
    PutAside,
}

/// A file all of whose drafts are durable, or given back.
type Landed = (Name, After);

/// A wrapper's file on its way.
struct Flying {
    /// Those that have not landed.
    batches: AtomicUsize,
    /// None of them was given back.
    is_durable: AtomicBool,
    name: Name,
    after: After,
}

impl Flying {
    /// One batch is durable or given back; with the last one the file lands.
    fn land(&self, is_durable: bool, landed: &mpsc::UnboundedSender<Landed>) {
        self.is_durable.fetch_and(is_durable, Ordering::AcqRel);
        if self.batches.fetch_sub(1, Ordering::AcqRel) == 1 {
            let is_durable = self.is_durable.load(Ordering::Acquire);
            let after = if is_durable { self.after } else { After::Keep };
            drop(landed.send((self.name.clone(), after)));
        }
    }
}

struct Taker {
    folder: Folder,
    hooks: Publisher,
    wrappers: Publisher,
    intake: Intake,
    pokes: Pokes,
    boot_id: Option<String>,
    decoders: HookDecoders,
    flying: HashSet<Arc<str>>,
    landed: (mpsc::UnboundedSender<Landed>, mpsc::UnboundedReceiver<Landed>),
    /// Since the last pass began, a file landed that must be looked at again.
    is_behind: bool,
    /// Files that are not looked at again by this daemon.
    left: HashSet<Arc<str>>,
    /// Who waits for the spool to settle, and the files each of them still waits for.
    settling: Vec<(HashSet<Arc<str>>, oneshot::Sender<()>)>,
}

impl Taker {
    fn new(options: SpoolOptions, hooks: Publisher) -> Self {
        Self {
            folder: Folder::new(&options.state),
            hooks,
            wrappers: options.wrappers,
            intake: options.intake,
            pokes: options.pokes,
            boot_id: process::boot_id(),
            decoders: HookDecoders::new(options.drivers, options.reading, options.digester),
            flying: HashSet::new(),
            landed: mpsc::unbounded_channel(),
            is_behind: false,
            left: HashSet::new(),
            settling: Vec::new(),
        }
    }

    async fn run(
        mut self,
        mut asked: mpsc::UnboundedReceiver<oneshot::Sender<()>>,
        cancel: &CancellationToken,
    ) -> Result<(), Stop> {
        let mut tidy = interval(TIDY_EVERY);
        tidy.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut look = interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut waiting = Vec::new();
        loop {
            let is_due = tokio::select! {
                () = cancel.cancelled() => return Ok(()),
                _ = look.tick() => true,
                () = self.pokes.next() => true,
                _ = tidy.tick() => {
                    on_disk(&self.folder, Folder::tidy).await?;
                    false
                }
                Some(landed) = self.landed.1.recv() => {
                    self.land(landed).await?;
                    false
                }
                Some(answer) = asked.recv() => {
                    waiting.push(answer);
                    true
                }
            };
            if is_due && self.pass(cancel).await? {
                for answer in waiting.drain(..) {
                    self.settling.push((self.flying.clone(), answer));
                }
                self.answer_settled();
            }
        }
    }

    /// Takes everything that lies in the folder. False if something has to be tried again.
    async fn pass(&mut self, cancel: &CancellationToken) -> Result<bool, Stop> {
        self.is_behind = false;
        self.tell_dropped().await?;
        let mut names: VecDeque<Name> = match on_disk(&self.folder, Folder::list).await? {
            Ok(names) => names.into(),
            Err(error) => {
                tracing::warn!(%error, "spool folder cannot be listed");
                return Ok(false);
            }
        };
        if !self.settling.is_empty() {
            // What somebody else took away is not waited for.
            let there: HashSet<&Arc<str>> = names.iter().map(|name| &name.base).collect();
            for (files, _) in &mut self.settling {
                files.retain(|file| there.contains(file) || self.flying.contains(file));
            }
        }
        names.retain(|name| !self.flying.contains(&name.base) && !self.left.contains(&name.base));
        let mut is_complete = true;
        let mut reading = self.read_group(&mut names);
        while let Some(group) = reading {
            let Group { files, unread } =
                group.await.map_err(|error| Stop::Failed(error.into()))?;
            for name in unread.into_iter().rev() {
                names.push_front(name);
            }
            reading = self.read_group(&mut names);
            is_complete &= self.take_group(files, cancel).await?;
            while let Ok(landed) = self.landed.1.try_recv() {
                self.land(landed).await?;
            }
        }
        Ok(is_complete && !self.is_behind)
    }

    /// Begins to read the next files.
    fn read_group(&self, names: &mut VecDeque<Name>) -> Option<JoinHandle<Group>> {
        if names.is_empty() {
            return None;
        }
        let mut group: VecDeque<Name> = names.drain(..names.len().min(GROUP_FILES)).collect();
        let folder = self.folder.clone();
        Some(tokio::task::spawn_blocking(move || {
            let (mut files, mut bytes) = (Vec::with_capacity(group.len()), 0);
            while bytes < GROUP_BYTES
                && let Some(name) = group.pop_front()
            {
                let file = folder.read(&name);
                bytes += file.as_ref().map_or(0, Vec::len);
                files.push((name, file));
            }
            Group { files, unread: group }
        }))
    }

    /// Takes files in. False if something has to be tried again.
    async fn take_group(
        &mut self,
        files: Vec<(Name, Result<Vec<u8>, ReadError>)>,
        cancel: &CancellationToken,
    ) -> Result<bool, Stop> {
        let mut contents = Vec::with_capacity(files.len());
        for (name, file) in files {
            match file.map(|file| Content::read(&name.base, file)) {
                Ok(Ok(content)) => contents.push((name, content)),
                Ok(Err(Problem::NotOurs(format))) => {
                    tracing::warn!(file = %name.base, format, "spool file is of another version");
                    self.intake.stats().left_alone.add(1);
                    self.left.insert(name.base);
                }
                Ok(Err(Problem::Bad(why))) => self.put_aside(name, &why).await?,
                Err(ReadError::Gone) => {}
                Err(error) => self.put_aside(name, &error.to_string()).await?,
            }
        }
        let positions =
            contents.iter().flat_map(|(_, content)| content.positions()).cloned().collect();
        // Nothing can be said of them now: they are asked about again at the next look.
        let Ok(mut claims) = self.intake.claim(positions).await else { return Ok(false) };
        let mut is_complete = true;
        for (name, content) in contents {
            is_complete &= match content {
                Content::Hook(file) => self.take_hook(name, &file, &mut claims, cancel).await?,
                Content::Wrap(file) => self.take_wrap(name, file, &mut claims, cancel).await?,
            };
        }
        Ok(is_complete)
    }

    async fn take_hook(
        &mut self,
        name: Name,
        file: &HookFile,
        claims: &mut Claims,
        cancel: &CancellationToken,
    ) -> Result<bool, Stop> {
        match claims.of(&file.position) {
            Claim::Mine => {}
            Claim::Known => {
                self.is_done(name);
                return Ok(true);
            }
            Claim::Held => return Ok(false),
        }
        ready(&self.hooks, cancel).await?;
        let moment = Moment::now(self.boot_id.clone());
        let (decoded, mut drafts) = match self.decoders.decode(file, moment.at(&file.header)) {
            Ok(decoded) => decoded,
            Err(Undecoded::Panicked) => {
                self.intake.stats().panics.add(1);
                return self.after_panic(name).await;
            }
            Err(Undecoded::NoDecoder(agent)) => {
                // Content that nobody asked for is not kept, not even aside.
                tracing::debug!(file = %name.base, %agent, "nobody here reads this agent's hooks");
                self.intake.stats().unread.add(1);
                self.is_done(name);
                return Ok(true);
            }
            Err(problem @ Undecoded::Malformed) => {
                self.intake.stats().malformed.add(1);
                self.put_aside(name, &problem.to_string()).await?;
                return Ok(true);
            }
        };
        let stats = self.intake.stats();
        match decoded {
            Decoded::Understood => stats.understood.add(1),
            Decoded::Ignored => stats.ignored.add(1),
            Decoded::Native => stats.native.add(1),
            Decoded::Malformed => stats.malformed.add(1),
        }
        stats.files.add(1);
        // The id comes from the time the client wrote down, which is the same at every reading.
        for (index, draft) in (0_u32..).zip(&mut drafts) {
            let position = file.position.0.as_bytes();
            draft.id = Some(EventId::derive(file.header.at, position, index));
        }
        stats.refused.add(admit(&mut drafts, &file.position, 0, moment.now));
        if drafts.is_empty() {
            // Nothing to lose: there is nothing to wait for.
            self.is_done(name);
            return Ok(true);
        }
        self.flying.insert(Arc::clone(&name.base));
        let landed = self.landed.0.clone();
        let done = move |is_durable: bool| {
            let after = if is_durable { After::Delete } else { After::Keep };
            drop(landed.send((name, after)));
        };
        claims.publish(&self.hooks, &file.position, drafts, done)?;
        Ok(true)
    }

    /// Nothing of the file is waited for: it goes with the next ones that land.
    fn is_done(&self, name: Name) {
        self.landed.0.send((name, After::Delete)).ok();
    }

    async fn take_wrap(
        &mut self,
        name: Name,
        file: WrapFile,
        claims: &mut Claims,
        cancel: &CancellationToken,
    ) -> Result<bool, Stop> {
        let mut after = After::Delete;
        if let Some(problem) = &file.problem {
            tracing::warn!(file = %name.base, problem, "part of a spool file is not readable");
            after = After::PutAside;
        }
        let mine: Vec<_> = file
            .batches
            .into_iter()
            .filter(|(position, _)| match claims.of(position) {
                Claim::Mine => true,
                Claim::Known => false,
                Claim::Held => {
                    after = After::Keep;
                    false
                }
            })
            .collect();
        self.intake.stats().files.add(1);
        self.flying.insert(Arc::clone(&name.base));
        // One more than there are batches, so that the file does not land before all are on their way.
        let flying = Arc::new(Flying {
            batches: AtomicUsize::new(mine.len() + 1),
            is_durable: AtomicBool::new(true),
            name,
            after,
        });
        let landed = self.landed.0.clone();
        let moment = Moment::now(self.boot_id.clone());
        for (position, mut batch) in mine {
            ready(&self.wrappers, cancel).await?;
            let step_ms = moment.step_ms(&file.header);
            let refused = admit(&mut batch.drafts, &position, step_ms, Timestamp::now());
            self.intake.stats().refused.add(refused);
            self.intake.stats().batches.add(1);
            let (flying, landed) = (Arc::clone(&flying), landed.clone());
            let done = move |is_durable| flying.land(is_durable, &landed);
            claims.publish(&self.wrappers, &position, batch.drafts, done)?;
        }
        flying.land(true, &landed);
        Ok(after != After::Keep)
    }

    /// A file whose drafts are durable, or were given up.
    async fn land(&mut self, first: Landed) -> Result<(), Stop> {
        let mut delete = Vec::new();
        let mut next = Some(first);
        while let Some((name, after)) = next {
            self.flying.remove(&name.base);
            if after != After::Keep {
                for (files, _) in &mut self.settling {
                    files.remove(&name.base);
                }
            }
            match after {
                After::Delete => delete.push(name),
                After::Keep => self.is_behind = true,
                After::PutAside => self.put_aside(name, "part of it is not readable").await?,
            }
            next = self.landed.1.try_recv().ok();
        }
        if !delete.is_empty() {
            on_disk(&self.folder, move |folder| folder.delete(&delete)).await?;
        }
        self.answer_settled();
        Ok(())
    }

    fn answer_settled(&mut self) {
        for (_, answer) in self.settling.extract_if(.., |(files, _)| files.is_empty()) {
            // Whoever asked may have gone.
            answer.send(()).ok();
        }
    }

    /// The first time the file is marked and tried again; the second time it is put aside.
    async fn after_panic(&mut self, name: Name) -> Result<bool, Stop> {
        if name.failed {
            self.put_aside(name, "decoder failed on it twice").await?;
            return Ok(true);
        }
        tracing::error!(file = %name.base, "decoder failed on a spool file; it is tried once more");
        let marked = name.clone();
        match on_disk(&self.folder, move |folder| folder.mark_failed(&marked)).await? {
            Ok(()) => Ok(false),
            Err(error) => {
                tracing::warn!(file = %name.base, %error, "spool file cannot be marked; it stays");
                self.left.insert(name.base);
                Ok(true)
            }
        }
    }

    async fn put_aside(&mut self, name: Name, why: &str) -> Result<(), Stop> {
        tracing::warn!(file = %name.base, why, "spool file is put aside in spool/bad");
        self.intake.stats().bad_files.add(1);
        let file = name.clone();
        if let Err(error) = on_disk(&self.folder, move |folder| folder.put_aside(&file)).await? {
            tracing::warn!(file = %name.base, %error, "spool file cannot be put aside; it stays");
            self.left.insert(name.base);
        }
        Ok(())
    }

    /// Tells what clients dropped because of the spool's limits.
    async fn tell_dropped(&mut self) -> Result<(), Stop> {
        for dropped in on_disk(&self.folder, Folder::take_dropped).await? {
            let code = match dropped.reason {
                Reason::Age => "spool_dropped_old",
                Reason::Bytes => "spool_dropped_full",
                Reason::TooLarge => "hook_payload_too_large",
            };
            tracing::warn!(files = dropped.files, bytes = dropped.bytes, code, "input was dropped");
            self.intake.stats().dropped_files.add(dropped.files);
            let notice = Notice {
                level: NoticeLevel::Warning,
                code: code.to_owned(),
                count: Some(dropped.files),
                text: None,
            };
            let session = SessionKey::new(NOTICE_AGENT, NOTICE_SESSION);
            match self.hooks.publish(Draft::new(session, Timestamp::now(), notice)) {
                Ok(_) | Err(PublishError::OverRate | PublishError::Invalid(_)) => {}
                Err(PublishError::Closed) => return Err(Stop::Closed),
            }
        }
        Ok(())
    }
}

/// Files that were read, and those that would have been too much.
struct Group {
    files: Vec<(Name, Result<Vec<u8>, ReadError>)>,
    unread: VecDeque<Name>,
}

/// Waits until the publisher takes the next input.
async fn ready(publisher: &Publisher, cancel: &CancellationToken) -> Result<(), Stop> {
    tokio::select! {
        () = cancel.cancelled() => Err(Stop::Cancelled),
        () = publisher.ready() => Ok(()),
    }
}

/// Runs work on the folder where blocking is no matter.
async fn on_disk<T: Send + 'static>(
    folder: &Folder,
    work: impl FnOnce(&Folder) -> T + Send + 'static,
) -> Result<T, Stop> {
    let folder = folder.clone();
    tokio::task::spawn_blocking(move || work(&folder))
        .await
        .map_err(|error| Stop::Failed(error.into()))
}
