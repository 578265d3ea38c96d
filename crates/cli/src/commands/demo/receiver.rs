//! The receiving end of the demo's webhook: a server on loopback that takes what it gets.
//!
//! It reads no more of HTTP than the demo's own sender writes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};

/// A request body is not read beyond this.
const LARGEST_BODY: usize = 1 << 20;

/// What came in.
#[derive(Clone, Debug, Default)]
pub(super) struct Received {
    /// How many requests.
    pub(super) count: usize,
    /// How many of them were signed.
    pub(super) signed: usize,
}

/// A running receiver. It ends with the process.
#[derive(Debug)]
pub(super) struct Receiver {
    address: SocketAddr,
    received: Arc<Mutex<Received>>,
}

impl Receiver {
    /// Starts on a free port.
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("cannot listen on loopback")?;
        let address = listener.local_addr().context("cannot tell the port")?;
        let received = Arc::new(Mutex::new(Received::default()));
        let shared = Arc::clone(&received);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                // A connection that breaks off has delivered nothing; the sender tries again.
                std::thread::spawn(move || serve(stream, &shared).ok());
            }
        });
        Ok(Self { address, received })
    }

    /// Where to send to.
    pub(super) fn url(&self) -> String {
        format!("http://{}/events", self.address)
    }

    /// What came in so far.
    pub(super) fn received(&self) -> Received {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn serve(stream: TcpStream, received: &Mutex<Received>) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut reader = BufReader::new(stream);
    loop {
        let (mut length, mut signed) = (0_usize, false);
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        loop {
            line.clear();
            reader.read_line(&mut line)?;
            let header = line.trim_end().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            signed |= header.starts_with("linelamp-signature:");
        }
        let mut body = vec![0; length.min(LARGEST_BODY)];
        reader.read_exact(&mut body)?;
        {
            let mut received = received.lock().unwrap_or_else(PoisonError::into_inner);
            received.count += 1;
            received.signed += usize::from(signed);
        }
        reader.get_mut().write_all(b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n")?;
    }
}
