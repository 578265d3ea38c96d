//! The end of the process, and of the stream.

use linelamp_core::driver::Decoded;
use linelamp_core::event::{Decision, EndReason, SessionEnded, TurnOutcome};
use linelamp_core::process::ProcessExit;

use super::decoder::StreamDecoder;

/// Exit codes with which the program reports the signal that ended it.
const SIGNALLED: [i32; 5] = [129, 130, 131, 137, 143];

/// How the process ended, as the agent's word for the turn's end that it never said.
fn how(exit: ProcessExit) -> String {
    match (exit.signal, exit.code) {
        (Some(signal), _) => format!("signal {signal}"),
        (None, Some(code)) => format!("exit {code}"),
        (None, None) => "exit".to_owned(),
    }
}

impl StreamDecoder {
    /// The process is gone. A turn still open was never finished: lost if the program left as if
    /// all were well, failed otherwise.
    pub(super) fn exit(&mut self, exit: ProcessExit) -> Decoded {
        if self.ended {
            return Decoded::Understood;
        }
        let clean = exit.signal.is_none() && exit.code == Some(0);
        let outcome = if clean { TurnOutcome::Lost } else { TurnOutcome::Failed };
        // A turn that failed by itself makes the program leave with 1.
        let told = self.turns.failed && exit.code == Some(1);
        self.close_as(outcome, Some(how(exit)));
        let reason = match exit.code {
            _ if exit.signal.is_some() => EndReason::Killed,
            Some(code) if SIGNALLED.contains(&code) => EndReason::Killed,
            Some(0) => EndReason::Exit,
            Some(_) if told => EndReason::Exit,
            Some(_) => EndReason::Crashed,
            None => EndReason::Unknown,
        };
        self.outlet.main(SessionEnded {
            reason,
            exit_code: exit.code,
            signal: exit.signal,
            process: self.outlet.process(),
            error: None,
        });
        self.ended = true;
        Decoded::Understood
    }

    /// The stream says no more, and nobody saw the process end.
    pub(super) fn close(&mut self) {
        if !self.ended {
            self.close_as(TurnOutcome::Lost, None);
        }
    }

    fn close_as(&mut self, outcome: TurnOutcome, raw: Option<String>) {
        self.settle_requests(|_| true, Decision::Cancelled);
        self.end_marked_tasks();
        self.end_turn_as(outcome, raw);
    }
}
