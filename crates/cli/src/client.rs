//! The client side of `control.sock`, blocking: a command asks one thing and prints the answer.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::daemon::protocol::{Hello, MAX_LINE, PROTOCOL, Request, Response};
use crate::exit::{Failure, TIMEOUT};
use crate::socket::Address;

/// How long a healthy daemon may take for one answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// A connection to the daemon.
#[derive(Debug)]
pub(crate) struct Client {
    reader: BufReader<UnixStream>,
    /// The beginning of a line whose end has not come yet.
    begun: Vec<u8>,
    /// The daemon's greeting.
    pub(crate) daemon: Hello,
}

impl Client {
    /// Connects and exchanges greetings.
    ///
    /// # Errors
    ///
    /// [`Failure::no_daemon`] if nobody listens; a timeout if the daemon hangs.
    pub(crate) fn connect(state: &Path) -> Result<Self> {
        let path = state.join("run");
        let stream = Address::of(&path, "control.sock")
            .and_then(|address| UnixStream::connect(address.path()))
            .map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound | std::io::ErrorKind::ConnectionRefused => {
                    anyhow::Error::new(Failure::no_daemon())
                }
                _ => anyhow::Error::new(error).context(format!("cannot reach {}", path.display())),
            })?;
        stream.set_read_timeout(Some(ANSWER_LIMIT)).context("cannot set a time limit")?;
        stream.set_write_timeout(Some(ANSWER_LIMIT)).context("cannot set a time limit")?;
        let mut client = Self {
            reader: BufReader::new(stream),
            begun: Vec::new(),
            daemon: Hello::new("client"),
        };
        client.send(&Hello::new("control"))?;
        let line = client.read_line()?.ok_or_else(Failure::no_daemon)?;
        let hello: Hello =
            serde_json::from_str(&line).context("the daemon's greeting is not readable")?;
        if hello.linelamp != PROTOCOL {
            bail!(
                "the daemon (version {}) speaks protocol {}, this program speaks {PROTOCOL}",
                hello.version,
                hello.linelamp
            );
        }
        client.daemon = hello;
        Ok(client)
    }

    /// Asks and takes the first answer.
    pub(crate) fn ask(&mut self, request: &Request) -> Result<Response> {
        self.send(request)?;
        match self.next()? {
            Some(Response::Error { message }) => bail!("the daemon answers: {message}"),
            Some(response) => Ok(response),
            None => bail!("the daemon closed the connection without an answer"),
        }
    }

    /// The next answer of a request that has several; none when the daemon is gone.
    pub(crate) fn next(&mut self) -> Result<Option<Response>> {
        let Some(line) = self.read_line()? else { return Ok(None) };
        Ok(Some(serde_json::from_str(&line).context("the daemon's answer is not readable")?))
    }

    /// As [`next`](Self::next), but none as well when nothing comes within the time limit.
    pub(crate) fn poll(&mut self) -> Result<Option<Response>> {
        match self.reader.fill_buf() {
            Ok(_) => self.next(),
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(Self::hung(error)),
        }
    }

    /// From here on answers may take for ever, or `limit`.
    pub(crate) fn patient(&mut self, limit: Option<Duration>) -> Result<()> {
        self.reader.get_ref().set_read_timeout(limit).context("cannot lift the time limit")
    }

    fn send(&mut self, message: &impl serde::Serialize) -> Result<()> {
        let mut line = serde_json::to_vec(message).context("cannot write a request")?;
        line.push(b'\n');
        self.reader.get_mut().write_all(&line).map_err(Self::hung)
    }

    fn read_line(&mut self) -> Result<Option<String>> {
        // What came before a time limit stays for the next call.
        let limit = (MAX_LINE - self.begun.len().min(MAX_LINE)) as u64;
        let read = self.reader.by_ref().take(limit).read_until(b'\n', &mut self.begun);
        if read.map_err(Self::hung)? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8(std::mem::take(&mut self.begun));
        Ok(Some(line.context("the daemon sent something that is no text")?))
    }

    fn hung(error: std::io::Error) -> anyhow::Error {
        match error.kind() {
            std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => {
                Failure::new(TIMEOUT, "the daemon does not answer")
                    .hint("it may be stopped or overloaded; see `linelamp logs`")
                    .into()
            }
            _ => anyhow::Error::new(error).context("the connection to the daemon broke"),
        }
    }
}
