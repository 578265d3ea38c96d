//! A scripted stand-in for the Messages API, on loopback.
//!
//! A script belongs to a marker, a piece of text that only one prompt of the test holds. The
//! newest user message with a marker selects the script, and the number of assistant messages
//! since selects the answer, so retries and side requests cannot shift it. What no script
//! answers (titles, probes, summaries, the end of a script) gets a small fixed reply.
//!
//! It is also the proxy of the sandbox: whatever the CLI would send to the outside arrives here
//! as `CONNECT`, is refused, and is remembered for [`Api::take_outside`].

use std::io::{self, BufReader};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::housekeeping;
use crate::http::{self, Request};
use crate::message::{self, content_events, text_of, usage};

/// The running stand-in; ends with the value.
#[derive(Debug)]
pub(crate) struct Api {
    port: u16,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    scripts: Mutex<Vec<Script>>,
    outside: Mutex<Vec<String>>,
    served: Mutex<Vec<String>>,
    next: AtomicU64,
    stopping: AtomicBool,
}

#[derive(Debug)]
struct Script {
    marker: String,
    answers: Vec<Answer>,
}

impl Api {
    /// Listens on a free port.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a port");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        let shared = Arc::new(Shared::default());
        let accepting = Arc::clone(&shared);
        let acceptor = thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                if accepting.stopping.load(Ordering::Relaxed) {
                    break;
                }
                let shared = Arc::clone(&accepting);
                // Ends with the connection; a peer that hangs up in the middle is no news.
                thread::spawn(move || shared.serve(connection).ok());
            }
        });
        Self { port, shared, acceptor: Some(acceptor) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Sets what the model answers, in order, to the prompt that holds `marker`.
    pub(crate) fn script(&self, marker: &str, answers: impl Into<Vec<Answer>>) {
        let script = Script { marker: marker.to_owned(), answers: answers.into() };
        locked(&self.shared.scripts).push(script);
    }

    /// What was asked of us so far, as `METHOD TARGET MARKER#STEP`: for failure messages and
    /// for cases about retries.
    pub(crate) fn served(&self) -> Vec<String> {
        locked(&self.shared.served).clone()
    }

    /// Every attempt to reach something other than us, since this was asked last.
    pub(crate) fn take_outside(&self) -> Vec<String> {
        std::mem::take(&mut *locked(&self.shared.outside))
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        for script in locked(&self.shared.scripts).iter() {
            script.answers.iter().for_each(Answer::release);
        }
        // Wakes the acceptor, which then sees the flag.
        if TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok()
            && let Some(acceptor) = self.acceptor.take()
        {
            acceptor.join().ok();
        }
    }
}

/// What a request of the CLI gets.
enum Choice {
    Answer(Answer),
    Error(u16),
}

impl Shared {
    fn serve(&self, connection: TcpStream) -> io::Result<()> {
        connection.set_nodelay(true)?;
        let mut to = connection.try_clone()?;
        let mut from = BufReader::new(connection);
        while let Some(request) = Request::read(&mut from)? {
            let path = request.target.split('?').next().unwrap_or_default();
            match (request.method.as_str(), path) {
                ("POST", "/v1/messages") => {
                    let body: Value = serde_json::from_slice(&request.body)?;
                    let (name, choice) = self.choose(&body);
                    locked(&self.served).push(format!("POST {} {name}", request.target));
                    match choice {
                        Choice::Answer(answer) => self.answer(&mut to, &body, &answer)?,
                        Choice::Error(status) => http::send_json(&mut to, status, &error(status))?,
                    }
                    continue;
                }
                ("POST", "/v1/messages/count_tokens") => {
                    let tokens = request.body.len() / 4;
                    http::send_json(&mut to, 200, &json!({"input_tokens": tokens}))?;
                }
                ("CONNECT", _) => {
                    locked(&self.outside).push(request.target.clone());
                    return http::send_json(&mut to, 403, &error(403));
                }
                ("HEAD", _) => http::send_json(&mut to, 200, &json!({}))?,
                _ => http::send_json(&mut to, 404, &error(404))?,
            }
            if request.target.starts_with("http") {
                locked(&self.outside).push(request.target.clone());
            }
            locked(&self.served).push(format!("{} {}", request.method, request.target));
        }
        Ok(())
    }

    /// Finds the answer, and a name for it.
    fn choose(&self, request: &Value) -> (String, Choice) {
        if let Some(answer) = housekeeping::answer_to(request) {
            return ("housekeeping".to_owned(), Choice::Answer(answer));
        }
        let messages = request["messages"].as_array().map_or(&[][..], Vec::as_slice);
        let mut scripts = locked(&self.scripts);
        for (position, message) in messages.iter().enumerate().rev() {
            if message["role"] != "user" {
                continue;
            }
            let text = text_of(message);
            let Some(script) = scripts.iter_mut().find(|script| text.contains(&script.marker))
            else {
                continue;
            };
            let step = messages.iter().skip(position + 1);
            let step = step.filter(|message| message["role"] == "assistant").count();
            let name = format!("{}#{step}", script.marker);
            return (name, script.choose(step));
        }
        ("unscripted".to_owned(), Choice::Answer(Answer::text("Nothing was scripted for this.")))
    }

    fn answer(&self, to: &mut TcpStream, request: &Value, answer: &Answer) -> io::Result<()> {
        if let Some(gate) = &answer.hold {
            while !gate.pass(Duration::from_secs(1)) {}
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let blocks = message::blocks(answer, number);
        let stop = if answer.calls_tools() { "tool_use" } else { "end_turn" };
        let mut whole = json!({"id": format!("msg_test{number:08}"), "type": "message",
            "role": "assistant", "model": request["model"], "content": [], "stop_reason": null,
            "stop_sequence": null, "usage": usage(1)});
        if request["stream"] != true {
            whole["content"] = blocks.into();
            whole["stop_reason"] = stop.into();
            whole["usage"] = usage(20);
            return http::send_json(to, 200, &whole);
        }
        http::begin_events(to)?;
        for (sent, event) in content_events(&whole, &blocks).iter().enumerate() {
            if answer.cut_after.is_some_and(|limit| sent >= limit) {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            http::send_event(to, event)?;
            thread::sleep(answer.delay);
        }
        if let Some(gate) = &answer.hang {
            while !gate.pass(Duration::from_secs(1)) {
                http::send_event(to, &json!({"type": "ping"}))?;
            }
        }
        let delta = json!({"stop_reason": stop, "stop_sequence": null});
        http::send_event(
            to,
            &json!({"type": "message_delta", "delta": delta, "usage": usage(20)}),
        )?;
        http::send_event(to, &json!({"type": "message_stop"}))?;
        http::end_events(to)
    }
}

impl Script {
    /// The answer of this step. Failures take no step: they come before the answer they delay,
    /// and an answer is cut off once.
    fn choose(&mut self, step: usize) -> Choice {
        let mut answers_before = 0;
        for answer in &mut self.answers {
            match &mut answer.error {
                Some((status, times)) if answers_before == step && *times > 0 => {
                    *times -= 1;
                    return Choice::Error(*status);
                }
                Some(_) => {}
                None if answers_before == step => {
                    let given = answer.clone();
                    answer.cut_after = None;
                    return Choice::Answer(given);
                }
                None => answers_before += 1,
            }
        }
        Choice::Answer(Answer::text("The script is over."))
    }
}

fn error(status: u16) -> Value {
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": format!("scripted {status}")}})
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
