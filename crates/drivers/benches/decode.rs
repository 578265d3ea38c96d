//! How many lines a second: splitting, the state reading, the full reading.
//!
//! The input is a session of mixed lines of 430 bytes on average, made here: pieces of text, whole
//! messages, calls with their results, and one turn in fifty lines. Run with
//! `cargo bench -p linelamp-drivers`; the counter shows lines per second.

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use linelamp_core::Timestamp;
use linelamp_core::digest::Digester;
use linelamp_core::driver::{DecoderOptions, Direction, Driver, Raw, Reading, Source};
use linelamp_drivers::claude_code::ClaudeCode;
use linelamp_drivers::line::{Piece, Splitter};

const LINES: usize = 100_000;

fn main() {
    divan::main();
}

/// Text of `size` bytes with the quotes, escapes and other letters that replies have.
fn text(size: usize) -> String {
    let sample =
        "The function returns a \\\"value\\\" for each line;\\nit never blocks. Größe: 42. ";
    sample.chars().cycle().take(size).collect::<String>().trim_end_matches('\\').to_owned()
}

const SESSION: &str = "11111111-2222-4333-8444-555555555555";

fn tail(number: usize) -> String {
    format!(
        r#""parent_tool_use_id":null,"session_id":"{SESSION}","uuid":"{number:08x}-2222-4333-8444-555555555555""#
    )
}

fn line(number: usize) -> String {
    let tail = tail(number);
    let turn = number / 50;
    match number % 50 {
        0 => format!(
            r#"{{"type":"system","subtype":"init","cwd":"/home/me/project","tools":["Bash","Edit","Read","Write","Task"],"model":"model-5","permissionMode":"default","claude_code_version":"2.1.332",{tail}}}"#
        ),
        1 => format!(
            r#"{{"type":"stream_event","event":{{"type":"message_start","message":{{"id":"msg_{turn}","type":"message","role":"assistant","model":"model-5","content":[],"usage":{{"input_tokens":2568,"output_tokens":1}}}}}},{tail}}}"#
        ),
        2 => format!(
            r#"{{"type":"stream_event","event":{{"type":"content_block_start","index":0,"content_block":{{"type":"text","text":""}}}},{tail}}}"#
        ),
        n @ (20 | 30 | 40) => format!(
            r#"{{"type":"assistant","message":{{"id":"msg_{turn}_{n}","type":"message","role":"assistant","model":"model-5","content":[{{"type":"text","text":"{}"}}],"stop_reason":null,"usage":{{"input_tokens":2571,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}}}},"request_id":"req_{number}",{tail}}}"#,
            text(600)
        ),
        n @ (21 | 31 | 41) => format!(
            r#"{{"type":"assistant","message":{{"id":"msg_{turn}_{n}","type":"message","role":"assistant","model":"model-5","content":[{{"type":"tool_use","id":"toolu_{number}","name":"Edit","input":{{"file_path":"/home/me/project/src/main.rs","old_string":"{}","new_string":"{}"}}}}],"stop_reason":null,"usage":{{"input_tokens":2571,"output_tokens":1}}}},{tail}}}"#,
            text(200),
            text(200)
        ),
        22 | 32 | 42 => format!(
            r#"{{"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"toolu_{}","type":"tool_result","content":"{}","is_error":false}}]}},{tail},"tool_use_result":{{"stdout":"{}","stderr":"","interrupted":false}},"tool_result_meta":[{{"id":"toolu_{}","permission_decision":{{"decision":"accept","source":"config"}}}}]}}"#,
            number - 1,
            text(350),
            text(350),
            number - 1
        ),
        49 => format!(
            r#"{{"duration_api_ms":573,"stop_reason":"end_turn","session_id":"{SESSION}","total_cost_usd":{}.5,"usage":{{"input_tokens":5233,"output_tokens":63}},"modelUsage":{{"model-5":{{"inputTokens":5233,"costUSD":0.02}}}},"permission_denials":[],"terminal_reason":"completed","is_error":false,"num_turns":2,"subtype":"success","result":"{}","type":"result","duration_ms":1729}}"#,
            turn,
            text(600)
        ),
        n => format!(
            r#"{{"type":"stream_event","event":{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{}"}}}},{tail},"api_message_id":"msg_{turn}"}}"#,
            text(6 + n * 3 / 2)
        ),
    }
}

fn lines() -> Vec<Vec<u8>> {
    let lines: Vec<Vec<u8>> = (0..LINES).map(|number| line(number).into_bytes()).collect();
    let mean = lines.iter().map(Vec::len).sum::<usize>() / LINES;
    assert!((400..=460).contains(&mean), "lines of {mean} bytes on average");
    lines
}

fn decode(bencher: Bencher<'_, '_>, reading: Reading) {
    let lines = lines();
    let driver = ClaudeCode::new();
    bencher
        .counter(ItemsCount::new(LINES))
        .with_inputs(|| {
            let options = DecoderOptions::new(reading, Digester::new(&[7; 32]));
            let decoder = driver.decoder(Source::Stream, options).expect("it has a stream");
            (decoder, Vec::with_capacity(64))
        })
        .bench_local_values(|(mut decoder, mut drafts)| {
            for bytes in &lines {
                drafts.clear();
                let raw = Raw::Line { direction: Direction::FromAgent, bytes };
                black_box(decoder.push(raw, Timestamp::UNIX_EPOCH, &mut drafts));
                black_box(&drafts);
            }
        });
}

#[divan::bench(sample_count = 20)]
fn state(bencher: Bencher<'_, '_>) {
    decode(bencher, Reading::State);
}

#[divan::bench(sample_count = 20)]
fn full(bencher: Bencher<'_, '_>) {
    decode(bencher, Reading::Full);
}

/// The whole path of a reader: chunks of a pipe, lines, drafts.
#[divan::bench(sample_count = 20)]
fn split_and_state(bencher: Bencher<'_, '_>) {
    let bytes = lines().join(&b'\n');
    let driver = ClaudeCode::new();
    bencher.counter(ItemsCount::new(LINES)).bench_local(|| {
        let options = DecoderOptions::new(Reading::State, Digester::new(&[7; 32]));
        let mut decoder = driver.decoder(Source::Stream, options).expect("it has a stream");
        let mut drafts = Vec::new();
        let mut splitter = Splitter::new();
        let mut take = |piece: Piece<'_>| {
            if let Piece::Line(bytes) = piece {
                drafts.clear();
                let raw = Raw::Line { direction: Direction::FromAgent, bytes };
                black_box(decoder.push(raw, Timestamp::UNIX_EPOCH, &mut drafts));
            }
        };
        for chunk in bytes.chunks(65_536) {
            splitter.push(chunk, &mut take);
        }
        splitter.finish(&mut take);
    });
}

#[divan::bench(sample_count = 20)]
fn split(bencher: Bencher<'_, '_>) {
    let bytes = lines().join(&b'\n');
    bencher.counter(BytesCount::new(bytes.len())).bench_local(|| {
        let mut splitter = Splitter::new();
        let mut count = 0;
        let mut take = |_: Piece<'_>| count += 1;
        for chunk in bytes.chunks(65_536) {
            splitter.push(chunk, &mut take);
        }
        splitter.finish(&mut take);
        assert_eq!(count, LINES);
    });
}

#[divan::bench(sample_count = 20)]
fn keep(bencher: Bencher<'_, '_>) {
    let lines = lines();
    let driver = ClaudeCode::new();
    bencher.counter(ItemsCount::new(LINES)).bench_local(|| {
        for bytes in &lines {
            black_box(driver.keep(Direction::FromAgent, bytes));
        }
    });
}
