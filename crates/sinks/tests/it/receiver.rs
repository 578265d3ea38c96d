//! An HTTP server for tests: answers what it is told and remembers what it got.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// One request as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Which connection it came on, from 0.
    pub(crate) connection: usize,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    answers: VecDeque<String>,
    requests: Vec<Request>,
}

impl Receiver {
    /// Gives these answers in order (status line and headers without their last line end), then 200.
    pub(crate) fn start(answers: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::listen(answers.into_iter().map(Into::into).collect(), None)
    }

    /// Always answers 200, over TLS, as `localhost` with the certificate of the tests.
    pub(crate) fn start_tls() -> Self {
        let certificate = CertificateDer::from(include_bytes!("tls/cert.der").to_vec());
        let key = PrivatePkcs8KeyDer::from(include_bytes!("tls/key.der").to_vec());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key.into())
            .expect("a certificate");
        Self::listen(VecDeque::new(), Some(Arc::new(config)))
    }

    fn listen(answers: VecDeque<String>, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let state = Arc::new(Mutex::new(State { answers, requests: Vec::new() }));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let (stream, shared) = (stream.expect("a connection"), Arc::clone(&shared));
                let tls = tls.clone();
                std::thread::spawn(move || match tls {
                    None => serve(stream, &shared, number),
                    Some(config) => {
                        let connection = ServerConnection::new(config).expect("a connection");
                        serve(StreamOwned::new(connection, stream), &shared, number);
                    }
                });
            }
        });
        Self { address, state }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.state.lock().expect("a lock").requests.clone()
    }
}

fn serve(stream: impl Read + Write, state: &Mutex<State>, connection: usize) {
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader, connection) {
        let answer = {
            let mut state = state.lock().expect("a lock");
            state.requests.push(request);
            state.answers.pop_front().unwrap_or_else(|| "200 OK".to_owned())
        };
        if answer == "hang" {
            // Until the other side gives up.
            let mut rest = Vec::new();
            reader.read_to_end(&mut rest).ok();
            return;
        }
        if answer == "close" {
            return;
        }
        let text = format!("HTTP/1.1 {answer}\r\ncontent-length: 2\r\n\r\nok");
        let stream = reader.get_mut();
        if stream.write_all(text.as_bytes()).and_then(|()| stream.flush()).is_err() {
            return;
        }
    }
}

fn read(reader: &mut BufReader<impl Read>, connection: usize) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok().filter(|read| *read > 0)?;
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let mut request =
        Request { line: line.trim_end().to_owned(), headers, body: Vec::new(), connection };
    let length = request.header("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
    request.body = vec![0; length];
    reader.read_exact(&mut request.body).ok()?;
    Some(request)
}
