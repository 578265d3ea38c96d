//! The server behind `control.sock`: answers commands, and never waits for a client.

use std::os::unix::net::UnixListener as StdListener;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use linelamp_core::bus::{Bus, Subscription, Update};
use linelamp_core::detail::Detail;
use linelamp_core::event::Body;
use linelamp_core::state::SessionState;
use linelamp_feeds::ingest::SpoolHandle;
use linelamp_sinks::store::Store;
use serde::Serialize;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::health;
use super::protocol::{Hello, PROTOCOL, Request, Response};

/// A client that does not read or write is dropped after this.
const PATIENCE: Duration = Duration::from_secs(5);
/// A request is one short line.
const LONGEST_REQUEST: u64 = 64 << 10;
/// Clients at once; more wait in the socket's queue.
const MOST_CLIENTS: usize = 256;

/// What commands can ask about.
#[derive(Debug)]
pub(super) struct Control {
    /// The bus.
    pub(super) bus: Bus,
    /// The store, if there is one.
    pub(super) store: Option<Arc<Store>>,
    /// Counters of what clients sent.
    pub(super) intake: linelamp_feeds::ingest::Intake,
    /// Counters of what is followed.
    pub(super) following: super::follow::Following,
    /// The spool.
    pub(super) spool: SpoolHandle,
    /// Cancelled when somebody asks the daemon to end.
    pub(super) stop: CancellationToken,
}

/// Serves until cancelled.
pub(super) async fn run(listener: StdListener, control: Arc<Control>, cancel: CancellationToken) {
    let listener =
        match listener.set_nonblocking(true).and_then(|()| UnixListener::from_std(listener)) {
            Ok(listener) => listener,
            Err(error) => {
                tracing::error!(%error, "commands cannot be served");
                return;
            }
        };
    let mut clients = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            () = cancel.cancelled() => break,
            Some(_) = clients.join_next() => {}
            accepted = listener.accept(), if clients.len() < MOST_CLIENTS => match accepted {
                Ok((stream, _)) => {
                    let control = Arc::clone(&control);
                    clients.spawn(async move {
                        if let Err(error) = control.serve(stream).await {
                            tracing::debug!("client: {error:#}");
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a client cannot be let in");
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
            },
        }
    }
    // Whoever still watches is cut off.
    clients.shutdown().await;
}

impl Control {
    async fn serve(&self, stream: UnixStream) -> Result<()> {
        let peer = stream.peer_cred().context("the client is unknown")?;
        let ours = rustix::process::geteuid().as_raw();
        // Root may see everything anyway.
        if peer.uid() != ours && peer.uid() != 0 {
            bail!("user {} is turned away", peer.uid());
        }
        let (read, write) = stream.into_split();
        let mut client = Client { read: BufReader::new(read), write };
        client.send(&Hello::new("daemon")).await?;
        let hello: Hello = client.receive().await?.context("no greeting")?;
        if hello.linelamp != PROTOCOL {
            let message = format!("this daemon speaks protocol {PROTOCOL}");
            return client.send(&Response::Error { message }).await;
        }
        while let Some(request) = client.receive::<serde_json::Value>().await? {
            match serde_json::from_value(request) {
                Ok(Request::Watch) => return self.watch(&mut client).await,
                Ok(request) => client.send(&self.answer(request).await).await?,
                Err(error) => {
                    let message = format!("request not understood: {error}");
                    client.send(&Response::Error { message }).await?;
                }
            }
        }
        Ok(())
    }

    async fn answer(&self, request: Request) -> Response {
        match request {
            Request::Sessions => self.sessions(),
            Request::Explain { session } => {
                Response::Explanation { explanation: self.bus.explain(&session).map(Box::new) }
            }
            Request::Health => Response::Health {
                counters: health::counters(
                    &self.bus,
                    self.store.as_deref(),
                    &self.intake,
                    &self.following,
                ),
            },
            Request::Settle => self.settle().await,
            Request::Stop => {
                self.stop.cancel();
                Response::Ok
            }
            Request::Watch => Response::Error { message: "watch is a stream".to_owned() },
        }
    }

    fn sessions(&self) -> Response {
        Response::Sessions {
            sessions: of_agents(self.bus.snapshot()),
            warning: health::warning(&self.bus, self.store.as_deref()),
        }
    }

    async fn settle(&self) -> Response {
        match timeout(PATIENCE, self.spool.settle()).await {
            Ok(true) => Response::Ok,
            Ok(false) => Response::Error { message: "the spool is not read any more".to_owned() },
            Err(_) => Response::Error { message: "the spool is not empty yet".to_owned() },
        }
    }

    /// All sessions, then every event; after each change of a state all sessions again, for tables.
    async fn watch(&self, client: &mut Client) -> Result<()> {
        let mut subscription = self.bus.subscribe();
        let sessions = of_agents(std::mem::take(&mut subscription.snapshot));
        client.send(&Response::Sessions { sessions, warning: None }).await?;
        loop {
            let update = tokio::select! {
                update = next(&mut subscription) => update,
                // A client says nothing while it watches: whatever comes, it is gone or going.
                _ = client.read.read_u8() => return Ok(()),
            };
            let Some(update) = update else { return Ok(()) };
            match update {
                Update::Event(event) => {
                    let bare = Detail::Metadata.apply(&event);
                    let changes = matches!(
                        bare.body,
                        Body::StatusChanged(_)
                            | Body::SessionUpdated(_)
                            | Body::PermissionRequested(_)
                            | Body::PermissionResolved(_)
                    );
                    let event =
                        serde_json::to_value(&*bare).context("an event cannot be written")?;
                    client.send(&Response::Event { event }).await?;
                    if changes {
                        client.send(&self.sessions()).await?;
                    }
                }
                Update::Resync { snapshot, .. } => {
                    let sessions = of_agents(snapshot);
                    client.send(&Response::Sessions { sessions, warning: None }).await?;
                }
            }
        }
    }
}

/// Notices about linelamp itself belong to a session of its own, which is no agent's.
fn of_agents(mut sessions: Vec<SessionState>) -> Vec<SessionState> {
    sessions.retain(|state| state.session.agent.as_str() != "linelamp");
    sessions
}

async fn next(subscription: &mut Subscription) -> Option<Update> {
    subscription.recv().await
}

struct Client {
    read: BufReader<OwnedReadHalf>,
    write: OwnedWriteHalf,
}

impl Client {
    async fn send(&mut self, message: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_vec(message).context("an answer cannot be written")?;
        line.push(b'\n');
        timeout(PATIENCE, self.write.write_all(&line))
            .await
            .context("the client does not read")?
            .context("the client is gone")
    }

    /// The next line; none when the client is done.
    async fn receive<T: serde::de::DeserializeOwned>(&mut self) -> Result<Option<T>> {
        let mut line = Vec::new();
        let mut limited = (&mut self.read).take(LONGEST_REQUEST);
        let read = timeout(PATIENCE, limited.read_until(b'\n', &mut line))
            .await
            .context("the client says nothing")?
            .context("the client is gone")?;
        if read == 0 {
            return Ok(None);
        }
        serde_json::from_slice(&line).map(Some).context("the client's line is not readable")
    }
}
