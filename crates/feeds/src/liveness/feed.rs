//! The loop: look, tell how a session is run, look again, tell that it is over.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use linelamp_core::Timestamp;
use linelamp_core::bus::{PublishError, Publisher};
use linelamp_core::draft::Draft;
use linelamp_core::driver::Driver;
use linelamp_core::event::{EndReason, RunMode, SessionEnded, SessionUpdated};
use linelamp_core::feed::{Feed, FeedContext, FeedError};
use linelamp_core::process::ProcessRef;
use linelamp_core::sink::BoxFuture;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::roll::{Found, Pair, Roll};
use crate::process::{self, Presence};

/// How often every process is looked at.
const EVERY: Duration = Duration::from_secs(1);
/// After this one that is gone is looked at again.
const PAUSE: Duration = Duration::from_millis(700);
/// How long what clients left behind may take to be taken in before an end is told.
const SETTLING: Duration = Duration::from_secs(1);
/// The same at the first look: what was left while no daemon ran may be much.
const SETTLING_AT_FIRST: Duration = Duration::from_secs(30);
/// Arguments are read from the memory of the process itself, which may be slow to give them.
const READING: Duration = Duration::from_secs(1);

/// What the liveness feed is made from.
pub struct LivenessOptions {
    /// The processes of this machine in which sessions are open.
    pub open: Box<dyn Fn() -> Vec<Pair> + Send + Sync>,
    /// Waits until what clients have left behind is taken in: an orderly end may be among it.
    pub settled: Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>,
    /// Who can read arguments.
    pub drivers: Vec<Arc<dyn Driver>>,
}

impl fmt::Debug for LivenessOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LivenessOptions")
            .field("drivers", &self.drivers)
            .finish_non_exhaustive()
    }
}

/// Looks at the processes of sessions.
#[derive(Debug)]
pub struct LivenessFeed {
    options: LivenessOptions,
    roll: Roll,
    is_first: bool,
}

impl LivenessFeed {
    /// A feed that has not begun.
    pub fn new(options: LivenessOptions) -> Self {
        Self { options, roll: Roll::default(), is_first: true }
    }

    async fn sweep(&mut self, publisher: &Publisher) -> Result<(), PublishError> {
        let open = (self.options.open)();
        let Found { fresh, missing, ignored } =
            self.roll.look(open, Timestamp::now(), process::presence);
        for session in ignored {
            // Who held its stream would have told by now, and is gone as well.
            publisher.lost(&session);
        }
        for (session, process) in fresh {
            let mode = self.run_mode(session.agent.as_str(), process).await;
            let Some(mode) = mode else { continue };
            let update = SessionUpdated { mode: Some(mode), ..SessionUpdated::default() };
            tell(publisher, Draft::new(session, Timestamp::now(), update), process).await?;
        }
        if missing {
            sleep(PAUSE).await;
            let limit = if self.is_first { SETTLING_AT_FIRST } else { SETTLING };
            // Whether or not that is done: a session must not live on because of a spool that is stuck.
            timeout(limit, (self.options.settled)()).await.ok();
            let open = (self.options.open)();
            let gone = self.roll.confirm(&open, Timestamp::now(), process::presence);
            for ((session, process), since) in gone {
                let ended = SessionEnded {
                    reason: EndReason::Crashed,
                    exit_code: None,
                    signal: None,
                    process: Some(process),
                    error: None,
                };
                tell(publisher, Draft::new(session, since, ended), process).await?;
            }
        }
        self.is_first = false;
        Ok(())
    }

    async fn run_mode(&self, agent: &str, process: ProcessRef) -> Option<RunMode> {
        let driver = self.options.drivers.iter().find(|driver| driver.agent().as_str() == agent)?;
        let driver = Arc::clone(driver);
        let read =
            tokio::task::spawn_blocking(move || driver.run_mode(&process::arguments(process)?));
        timeout(READING, read).await.ok()?.ok()?
    }
}

async fn tell(
    publisher: &Publisher,
    mut draft: Draft,
    process: ProcessRef,
) -> Result<(), PublishError> {
    draft.process = Some(process);
    publisher.ready().await;
    match publisher.publish(draft) {
        Err(PublishError::Closed) => Err(PublishError::Closed),
        _ => Ok(()),
    }
}

impl Feed for LivenessFeed {
    fn run(mut self: Box<Self>, context: FeedContext) -> BoxFuture<'static, Result<(), FeedError>> {
        Box::pin(async move {
            let FeedContext { publisher, cancel } = context;
            let own = ProcessRef { pid: std::process::id(), start: None };
            if process::presence(own) != Presence::Runs {
                tracing::info!("processes cannot be looked at here: start times are not checked");
            }
            let mut interval = interval(EVERY);
            interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
            let looking = async {
                loop {
                    interval.tick().await;
                    if self.sweep(&publisher).await.is_err() {
                        return;
                    }
                }
            };
            tokio::select! {
                () = cancel.cancelled() => {}
                () = looking => {}
            }
            Ok(())
        })
    }
}
