//! As much of HTTP/1.1 as the CLI speaks to its API: requests with a length, keep-alive, answers
//! whole or in chunks.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// One request, read whole.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// Reads the next request of a connection; `None` where the peer has closed it.
    pub(crate) fn read(from: &mut BufReader<TcpStream>) -> io::Result<Option<Self>> {
        let mut line = String::new();
        if from.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_whitespace();
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            return Err(invalid(format!("not a request line: {line:?}")));
        };
        let (method, target) = (method.to_owned(), target.to_owned());
        let mut length = 0;
        loop {
            let mut header = String::new();
            from.read_line(&mut header)?;
            let Some((name, value)) = header.trim_end().split_once(':') else { break };
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                length = value.parse().map_err(|_| invalid(format!("length {value:?}")))?;
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                return Err(invalid("a request body in chunks is not supported".to_owned()));
            }
        }
        let mut body = vec![0; length];
        from.read_exact(&mut body)?;
        Ok(Some(Self { method, target, body }))
    }
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// Sends a whole JSON answer.
pub(crate) fn send_json(
    to: &mut TcpStream,
    status: u16,
    body: &serde_json::Value,
) -> io::Result<()> {
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    to.write_all(&[head.as_bytes(), body.as_bytes()].concat())
}

/// Begins an answer of server-sent events; [`send_event`] and [`end_events`] go on with it.
pub(crate) fn begin_events(to: &mut TcpStream) -> io::Result<()> {
    to.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\
          cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n",
    )
}

/// Sends one event, named after its `type`.
pub(crate) fn send_event(to: &mut TcpStream, event: &serde_json::Value) -> io::Result<()> {
    let name = event["type"].as_str().unwrap_or("message");
    let text = format!("event: {name}\ndata: {event}\n\n");
    to.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())
}

/// Ends the answer as it should be; closing the connection instead breaks it off.
pub(crate) fn end_events(to: &mut TcpStream) -> io::Result<()> {
    to.write_all(b"0\r\n\r\n")
}
