//! From an entry to rows, before the transaction: filters, levels and JSON cost the file no lock.
//!
//! A prepared entry no longer holds the events themselves, so while the file cannot be written memory
//! holds no more detail than the file would.

use std::sync::Arc;

use linelamp_core::detail::Detail;
use linelamp_core::event::{CoalesceKey, Delivery};
use linelamp_core::id::SinkName;
use linelamp_core::journal::{Committed, Entry, Input};
use linelamp_core::state::SessionRecord;
use linelamp_core::{Event, EventId, Seq, SessionKey};

use super::option::DurableSink;
use super::queue::Load;

/// An entry, ready to be written.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) input: Option<Input>,
    pub(super) rows: Vec<Row>,
    pub(super) sessions: Vec<Arc<SessionRecord>>,
    pub(super) next_seq: Seq,
    pub(super) committed: Option<Committed>,
    /// What the entry counts for in the queue, where it stands until it is committed.
    pub(super) load: Load,
}

/// One event, ready to be written.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) seq: Seq,
    pub(super) id: EventId,
    pub(super) session: SessionKey,
    pub(super) observed_at: i64,
    pub(super) kind: Box<str>,
    pub(super) history: History,
    pub(super) queues: Vec<(SinkName, Arc<str>)>,
}

/// Where in the history an event belongs.
#[derive(Debug)]
pub(super) enum History {
    /// Kept.
    Event(Arc<str>),
    /// Kept until a newer one of the same key comes.
    Latest(String, Arc<str>),
    /// Not kept.
    None,
}

impl Prepared {
    pub(super) fn new(entry: Entry, detail: Detail, durable: &[DurableSink]) -> Self {
        let load = Load::of(&entry);
        let Entry { input, events, sessions, next_seq, committed } = entry;
        let rows = events.iter().filter_map(|event| Row::new(event, detail, durable)).collect();
        Self { input, rows, sessions, next_seq, committed, load }
    }

    /// About how much the entry adds to a transaction.
    pub(super) fn bytes(&self) -> usize {
        let of_row = |row: &Row| {
            let history = match &row.history {
                History::Event(json) | History::Latest(_, json) => json.len(),
                History::None => 0,
            };
            256 + history + row.queues.iter().map(|(_, json)| json.len()).sum::<usize>()
        };
        256 + self.rows.iter().map(of_row).sum::<usize>()
    }
}

impl Row {
    fn new(event: &Arc<Event>, detail: Detail, durable: &[DurableSink]) -> Option<Self> {
        let delivery = event.delivery();
        if matches!(delivery, Delivery::Append(_)) {
            return None;
        }
        let mut text = Text { event, metadata: None, content: None };
        let history = match delivery {
            Delivery::Essential => History::Event(text.at(detail)),
            Delivery::Latest(key) => History::Latest(name(&key), text.at(detail)),
            Delivery::Append(_) | Delivery::Sheddable => History::None,
        };
        let queues: Vec<_> = durable
            .iter()
            .filter(|sink| sink.accepts(event))
            .map(|sink| (sink.name.clone(), text.at(sink.detail)))
            .collect();
        if matches!(history, History::None) && queues.is_empty() {
            return None;
        }
        Some(Self {
            seq: event.seq,
            id: event.id,
            session: event.session.clone(),
            observed_at: event.observed_at.as_millisecond(),
            kind: event.body.kind().into(),
            history,
            queues,
        })
    }
}

/// The event's JSON at each level, made at most once.
struct Text<'a> {
    event: &'a Arc<Event>,
    metadata: Option<Arc<str>>,
    content: Option<Arc<str>>,
}

impl Text<'_> {
    fn at(&mut self, detail: Detail) -> Arc<str> {
        let slot = match detail {
            Detail::Metadata => &mut self.metadata,
            Detail::Content => &mut self.content,
        };
        Arc::clone(slot.get_or_insert_with(|| detail.apply(self.event).to_json().into()))
    }
}

/// The key within its session.
fn name(key: &CoalesceKey) -> String {
    match key {
        CoalesceKey::Block(_, message, block) => format!("block/{block}/{message}"),
        CoalesceKey::Output(_, call) => format!("output/{call}"),
        CoalesceKey::Usage(_, scope) => format!("usage/{scope}"),
        CoalesceKey::Reported(_) => "reported".to_owned(),
        CoalesceKey::Task(_, task) => format!("task/{task}"),
        CoalesceKey::Sink(sink) => format!("sink/{sink}"),
    }
}
