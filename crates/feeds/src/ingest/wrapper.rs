//! Wrappers' connections as a feed: batches in, acknowledgements out.
//!
//! A connection is read only while the publisher takes input: a wrapper that is not read from keeps its
//! batches and spools them in time. What comes over it can only report. A line that cannot be read ends
//! that connection and nothing else; what was not acknowledged the wrapper keeps.
//!
//! A connection that ends says nothing about the session: the wrapper may have died, or be about to come
//! back. It is counted, and nothing is made up.

use std::collections::VecDeque;
use std::io;
use std::os::unix::net::UnixListener as StdUnixListener;
use std::sync::Arc;
use std::time::Duration;

use linelamp_core::bus::Publisher;
use linelamp_core::driver::Reading;
use linelamp_core::event::Body;
use linelamp_core::feed::{Feed, FeedContext, FeedError};
use linelamp_core::sink::{BoxError, BoxFuture};
use linelamp_core::{Draft, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::error::Category;
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::admit::admit;
use super::batch::{Batch, BatchError, Counts, LONGEST_LINE, Message, is_instance, position};
use super::intake::{Claim, Intake};
use super::line::{LineError, Lines};
use crate::spool::FORMAT;

/// A peer that says nothing at first, or does not take our line, is not waited for any longer.
const PEER_PATIENCE: Duration = Duration::from_secs(5);
/// After a failed accept (no descriptors left, say) it is tried again so much later.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);
/// So many connections at once; more wait in the socket's queue.
const MOST_CONNECTIONS: usize = 4096;
/// After a store that cannot answer.
const STORE_PAUSE: Duration = Duration::from_millis(200);

/// What the wrappers' feed is made from. The publisher it is run with speaks for the wrappers.
#[derive(Debug)]
pub struct WrapperOptions {
    /// The bound socket.
    pub listener: StdUnixListener,
    /// How much wrappers shall report.
    pub want: Reading,
    /// What is in hand and what is durable.
    pub intake: Intake,
}

/// Takes in what wrappers send.
#[derive(Debug)]
pub struct WrapperFeed(WrapperOptions);

impl WrapperFeed {
    /// A feed that has not begun.
    pub fn new(options: WrapperOptions) -> Self {
        Self(options)
    }
}

impl Feed for WrapperFeed {
    fn run(self: Box<Self>, context: FeedContext) -> BoxFuture<'static, Result<(), FeedError>> {
        Box::pin(async move {
            let listener = self.0.listener;
            let listener = listener
                .set_nonblocking(true)
                .and_then(|()| UnixListener::from_std(listener))
                .map_err(|error| FeedError(error.into()))?;
            let host = Arc::new(Host {
                want: self.0.want,
                intake: self.0.intake,
                publisher: context.publisher,
                cancel: context.cancel,
            });
            host.listen(&listener).await;
            Ok(())
        })
    }
}

/// What all connections share.
#[derive(Debug)]
struct Host {
    want: Reading,
    intake: Intake,
    publisher: Publisher,
    cancel: CancellationToken,
}

impl Host {
    /// Serves whoever comes until it is cancelled.
    async fn listen(self: Arc<Self>, listener: &UnixListener) {
        let mut connections = JoinSet::new();
        loop {
            let is_full = connections.len() >= MOST_CONNECTIONS;
            tokio::select! {
                () = self.cancel.cancelled() => break,
                Some(_) = connections.join_next() => {}
                accepted = listener.accept(), if !is_full => match accepted {
                    Ok((stream, _)) => {
                        connections.spawn(Arc::clone(&self).serve(stream));
                    }
                    Err(error) => {
                        tracing::warn!(%error, "wrapper cannot be let in");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
            }
        }
        // Each of them has heard of it as well.
        while connections.join_next().await.is_some() {}
    }

    async fn serve(self: Arc<Self>, stream: UnixStream) {
        let stats = self.intake.stats();
        if let Err(error) = check_peer(&stream) {
            tracing::warn!(%error, "wrapper is turned away");
            stats.bad_connections.add(1);
            return;
        }
        stats.connections.add(1);
        stats.connected.add(1);
        let (read, write) = stream.into_split();
        let mut connection = Connection {
            host: &self,
            instance: String::new(),
            write,
            committed: mpsc::unbounded_channel(),
            acks: Acks::default(),
            has_ended: false,
            counts: Counts::default(),
        };
        let end = connection.run(Lines::new(read, LONGEST_LINE)).await;
        let (instance, has_ended) = (connection.instance, connection.has_ended);
        stats.connected.subtract(1);
        match end {
            Ok(()) if has_ended || instance.is_empty() => {}
            Ok(()) => {
                stats.lost_connections.add(1);
                tracing::info!(instance, "wrapper is gone and its session has not ended");
            }
            Err(End::Lost(error)) => {
                stats.lost_connections.add(1);
                tracing::info!(instance, %error, "wrapper is lost");
            }
            Err(End::Refused(number)) => {
                stats.lost_connections.add(1);
                tracing::info!(instance, number, "wrapper is to send a batch again");
            }
            Err(End::Bad(error)) => {
                stats.bad_connections.add(1);
                tracing::warn!(instance, error = chain(&*error), "wrapper's connection is ended");
            }
            Err(End::Cancelled) => {}
        }
    }
}

/// Why a connection ends before its other side says so.
#[derive(Debug)]
enum End {
    /// The daemon ends.
    Cancelled,
    /// The transport failed.
    Lost(io::Error),
    /// The store had no room for this batch. A wrapper that comes again sends whatever was not
    /// acknowledged, and is then waited with until there is room.
    Refused(u64),
    /// Its other side does not speak as it should.
    Bad(BoxError),
}

/// What became of a batch.
#[derive(Clone, Copy, Debug)]
enum Word {
    Durable(u64),
    Refused(u64),
}

impl From<LineError> for End {
    fn from(error: LineError) -> Self {
        match error {
            LineError::Read(error) => Self::Lost(error),
            LineError::TooLong(_) => Self::Bad(error.into()),
        }
    }
}

impl From<BatchError> for End {
    fn from(error: BatchError) -> Self {
        Self::Bad(error.into())
    }
}

/// The wrapper's first line.
#[derive(Debug, Deserialize)]
struct Hello {
    linelamp: u64,
    role: String,
    instance: String,
}

/// Our first line.
#[derive(Debug, Serialize)]
struct Welcome {
    linelamp: u64,
    role: &'static str,
    version: &'static str,
    want: Reading,
}

/// One wrapper's connection.
struct Connection<'a> {
    host: &'a Host,
    instance: String,
    write: OwnedWriteHalf,
    /// What becomes of its batches.
    committed: (mpsc::UnboundedSender<Word>, mpsc::UnboundedReceiver<Word>),
    acks: Acks,
    has_ended: bool,
    counts: Counts,
}

impl Connection<'_> {
    async fn run(&mut self, mut lines: Lines<OwnedReadHalf>) -> Result<(), End> {
        if !self.greet(&mut lines).await? {
            return Ok(());
        }
        let host = self.host;
        loop {
            tokio::select! {
                biased;
                () = host.cancel.cancelled() => return Err(End::Cancelled),
                Some(word) = self.committed.1.recv() => self.acknowledge(word).await?,
                line = next_line(&host.publisher, &mut lines) => {
                    let Some(line) = line? else { break };
                    match Message::read(line)? {
                        Message::Keepalive => {}
                        Message::Batch(batch) => self.take(batch).await?,
                    }
                }
            }
        }
        Ok(())
    }

    /// First lines both ways. False if the other side left without a word.
    async fn greet(&mut self, lines: &mut Lines<OwnedReadHalf>) -> Result<bool, End> {
        let host = self.host;
        let line = tokio::select! {
            () = host.cancel.cancelled() => return Err(End::Cancelled),
            line = timeout(PEER_PATIENCE, lines.next()) => line,
        };
        let line = line.map_err(|_| End::Bad("wrapper says nothing".into()))??;
        let Some(line) = line else { return Ok(false) };
        let hello: Hello = serde_json::from_slice(line)
            .map_err(|error| End::Bad(format!("no greeting: {}", place(&error)).into()))?;
        // Said before the other side is judged: so it knows whom it talks to.
        self.say(&Welcome {
            linelamp: FORMAT,
            role: "daemon",
            version: env!("CARGO_PKG_VERSION"),
            want: host.want,
        })
        .await?;
        if hello.linelamp != FORMAT || hello.role != "wrap" || !is_instance(&hello.instance) {
            let error =
                format!("whoever speaks protocol {} here is no wrapper of ours", hello.linelamp);
            return Err(End::Bad(error.into()));
        }
        self.instance = hello.instance;
        Ok(true)
    }

    async fn take(&mut self, batch: Batch) -> Result<(), End> {
        let Batch { number, mut drafts, counts } = batch;
        if !self.acks.expect(number) {
            return Err(End::Bad(format!("batch {number} is out of order").into()));
        }
        let host = self.host;
        let stats = host.intake.stats();
        if let Some(counts) = counts {
            stats.lines_shed.add(counts.shed.saturating_sub(self.counts.shed));
            stats.lines_lost.add(counts.lost.saturating_sub(self.counts.lost));
            stats.panics.add(counts.panics.saturating_sub(self.counts.panics));
            self.counts = counts;
        }
        self.has_ended |= drafts.iter().any(ends_a_session);
        let place = position(&self.instance, number);
        let committed = self.committed.0.clone();
        let done = move |is_durable: bool| {
            let word = if is_durable { Word::Durable(number) } else { Word::Refused(number) };
            // Nobody listens any more: then nobody waits for it.
            committed.send(word).ok();
        };
        loop {
            let claims = tokio::select! {
                () = host.cancel.cancelled() => return Err(End::Cancelled),
                claims = host.intake.claim(vec![place.clone()]) => claims,
            };
            let Ok(mut claims) = claims else {
                tokio::select! {
                    () = host.cancel.cancelled() => return Err(End::Cancelled),
                    () = tokio::time::sleep(STORE_PAUSE) => continue,
                }
            };
            match claims.of(&place) {
                Claim::Known => done(true),
                Claim::Mine => {
                    stats.refused.add(admit(&mut drafts, &place, 0, Timestamp::now()));
                    stats.batches.add(1);
                    if claims.publish(&host.publisher, &place, drafts, done).is_err() {
                        return Err(End::Cancelled);
                    }
                }
                // Let go between the two calls: then it is durable, or nobody's again.
                Claim::Held if !host.intake.on_release(&place, Box::new(done.clone())) => continue,
                Claim::Held => {}
            }
            return Ok(());
        }
    }

    /// Tells the wrapper how far everything is durable.
    async fn acknowledge(&mut self, first: Word) -> Result<(), End> {
        #[derive(Serialize)]
        struct Ack {
            committed: u64,
        }
        let (mut upto, mut next) = (None, Some(first));
        while let Some(word) = next {
            match word {
                Word::Durable(number) => upto = self.acks.done(number).or(upto),
                Word::Refused(number) => return Err(End::Refused(number)),
            }
            next = self.committed.1.try_recv().ok();
        }
        match upto {
            Some(committed) => self.say(&Ack { committed }).await,
            None => Ok(()),
        }
    }

    async fn say(&mut self, line: &impl Serialize) -> Result<(), End> {
        let mut line = serde_json::to_vec(line).map_err(|error| End::Bad(error.into()))?;
        line.push(b'\n');
        match timeout(PEER_PATIENCE, self.write.write_all(&line)).await {
            Ok(written) => written.map_err(End::Lost),
            Err(_) => Err(End::Bad("wrapper does not take our line".into())),
        }
    }
}

/// Batches that were received, and which of them are durable.
#[derive(Debug, Default)]
struct Acks {
    last: u64,
    open: VecDeque<(u64, bool)>,
}

impl Acks {
    /// Notes a batch; false if its number is not beyond all before.
    fn expect(&mut self, number: u64) -> bool {
        let is_next = number > self.last;
        if is_next {
            self.last = number;
            self.open.push_back((number, false));
        }
        is_next
    }

    /// The batch is durable. Gives how far all are, if that is further than before.
    fn done(&mut self, number: u64) -> Option<u64> {
        if let Ok(index) = self.open.binary_search_by_key(&number, |(number, _)| *number)
            && let Some((_, is_done)) = self.open.get_mut(index)
        {
            *is_done = true;
        }
        let mut upto = None;
        while let Some((number, true)) = self.open.front() {
            upto = Some(*number);
            self.open.pop_front();
        }
        upto
    }
}

/// The next line, once the publisher takes input.
async fn next_line<'a>(
    publisher: &Publisher,
    lines: &'a mut Lines<OwnedReadHalf>,
) -> Result<Option<&'a [u8]>, LineError> {
    publisher.ready().await;
    lines.next().await
}

fn ends_a_session(draft: &Draft) -> bool {
    matches!(draft.body, Body::SessionEnded(_))
}

/// Sockets are reached by their folder's owner only; this holds even if the folder's mode was changed.
fn check_peer(stream: &UnixStream) -> Result<(), BoxError> {
    let (peer, own) = (stream.peer_cred()?.uid(), rustix::process::geteuid().as_raw());
    if peer == own { Ok(()) } else { Err(format!("peer is user {peer}, not {own}").into()) }
}

/// An error and its causes, without anything of the line itself: what JSON says of what it did not expect
/// may quote it, and lines hold content.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        if !text.is_empty() {
            text.push_str(": ");
        }
        match error.downcast_ref::<serde_json::Error>() {
            Some(json) => return text + &place(json),
            None => text.push_str(&error.to_string()),
        }
        next = error.source();
    }
    text
}

/// What kind of error it is, and where.
fn place(error: &serde_json::Error) -> String {
    let kind = match error.classify() {
        Category::Io => "failed reading",
        Category::Syntax => "no JSON",
        Category::Data => "not as expected",
        Category::Eof => "cut short",
    };
    format!("{kind} at line {} column {}", error.line(), error.column())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_logged_of_a_bad_line_quotes_nothing_of_it() {
        let draft = r#"{"session":{"agent":"a","id":"s"},"at":"2026-01-01T00:00:00Z","kind":"mode.changed","data":"the private words"}"#;
        let lines = [
            r#"{"n":"the private words"}"#.to_owned(),
            r#"{"n":1,"counts":"the private words"}"#.to_owned(),
            format!(r#"{{"n":1,"drafts":[{draft}]}}"#),
        ];
        for line in lines {
            let error = Message::read(line.as_bytes()).expect_err("a bad line");
            let mut quoted = error.to_string();
            let mut source = std::error::Error::source(&error);
            while let Some(error) = source {
                quoted.push_str(&error.to_string());
                source = error.source();
            }
            assert!(quoted.contains("private"), "the test is none: {quoted}");
            let logged = chain(&error);
            assert!(!logged.contains("private"), "{logged}");
            assert!(logged.contains("not as expected at line 1 column "), "{logged}");
        }
    }

    #[test]
    fn an_acknowledgement_covers_everything_up_to_its_number() {
        let mut acks = Acks::default();
        assert!([3, 4, 7, 8].into_iter().all(|number| acks.expect(number)));
        assert!(!acks.expect(8));
        assert_eq!(acks.done(4), None);
        assert_eq!(acks.done(3), Some(4));
        assert_eq!(acks.done(99), None);
        assert_eq!(acks.done(8), None);
        assert_eq!(acks.done(7), Some(8));
    }
}
