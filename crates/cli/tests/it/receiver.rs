//! A webhook's receiver that keeps everything and is not always of good cheer.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

/// A receiver that keeps every body by delivery id, and answers now and then with an error.
#[derive(Debug, Default)]
pub(crate) struct Receiver {
    /// What came, by delivery id.
    pub(crate) bodies: Mutex<HashMap<String, Vec<Vec<u8>>>>,
}

impl Receiver {
    /// Starts on loopback and answers every so many requests with an error; gives its address as well.
    pub(crate) fn start(fails_every: usize) -> (Arc<Self>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/", listener.local_addr().expect("an address"));
        let receiver = Arc::new(Self::default());
        let shared = Arc::clone(&receiver);
        std::thread::spawn(move || {
            for (count, stream) in listener.incoming().flatten().enumerate() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || shared.serve(stream, count, fails_every));
            }
        });
        (receiver, url)
    }

    fn serve(
        &self,
        stream: std::net::TcpStream,
        mut turn: usize,
        fails_every: usize,
    ) -> Option<()> {
        let mut reader = BufReader::new(stream);
        loop {
            let (mut length, mut id) = (0, String::new());
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            loop {
                line.clear();
                reader.read_line(&mut line).ok()?;
                let (name, value) = line.trim().split_once(':').unwrap_or_default();
                match name.to_ascii_lowercase().as_str() {
                    "" => break,
                    "content-length" => length = value.trim().parse().ok()?,
                    "linelamp-delivery" => value.trim().clone_into(&mut id),
                    _ => {}
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).ok()?;
            self.bodies.lock().ok()?.entry(id).or_default().push(body);
            turn += 1;
            // The delivery is here, but the sender cannot know: it must come again, the same.
            let answer: &[u8] = if turn.is_multiple_of(fails_every) {
                b"HTTP/1.1 503 Unavailable\r\nContent-Length: 0\r\n\r\n"
            } else {
                b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"
            };
            reader.get_mut().write_all(answer).ok()?;
        }
    }
}
