//! A bus inside another program: a feed written by hand, a sink written by hand.
#![expect(clippy::print_stdout, reason = "an example shows what it gets")]
use std::sync::Arc;
use std::time::Duration;

use linelamp_core::bus::{Bus, Drain, FeedSet, SinkSetup};
use linelamp_core::event::{TurnOrigin, TurnStarted, wire::to_ndjson};
use linelamp_core::feed::{Feed, FeedContext, FeedError};
use linelamp_core::sink::{BoxFuture, DeliverError, Sink};
use linelamp_core::{Draft, Event, SessionKey, Timestamp, Trust};

struct Hello;
impl Feed for Hello {
    fn run(self: Box<Self>, context: FeedContext) -> BoxFuture<'static, Result<(), FeedError>> {
        let turn = TurnStarted { turn: "t".into(), origin: TurnOrigin::Human, synthetic: false };
        let session = SessionKey::new("my-agent", "session-1");
        let answer = context.publisher.publish(Draft::new(session, Timestamp::now(), turn));
        Box::pin(async { answer.map(drop).map_err(|error| FeedError(error.into())) })
    }
}

type Delivered = Result<(), DeliverError>;
struct Print;
impl Sink for Print {
    fn deliver<'a>(&'a mut self, batch: &'a [Arc<Event>]) -> BoxFuture<'a, Delivered> {
        println!("{}", to_ndjson(batch));
        Box::pin(async { Ok(()) })
    }
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() {
    let bus = Bus::builder().host("this-machine").build();
    bus.add_sink(SinkSetup::new("print", Print)).expect("a new name");
    let mut feeds = FeedSet::new();
    feeds.spawn(Box::new(Hello), bus.publisher("hello", Trust::Authoritative));
    let report = bus.drain(Drain::new(Duration::from_secs(5)).feeds(feeds)).await;
    assert!(report.is_clean(), "{report:?}");
}
