//! How the daemon is doing, in numbers and in one sentence.

use linelamp_core::bus::Bus;
use linelamp_core::event::SinkHealth;
use linelamp_feeds::ingest::Intake;
use linelamp_sinks::store::{Store, StoreState};
use serde_json::{Value, json};

use super::follow::Following;

/// Every counter, by name.
pub(super) fn counters(
    bus: &Bus,
    store: Option<&Store>,
    intake: &Intake,
    following: &Following,
) -> Value {
    let stats = bus.stats();
    let feeds: Value = stats
        .feeds
        .iter()
        .map(|feed| {
            let counts = json!({
                "published": feed.published,
                "confirmed": feed.confirmed,
                "invalid": feed.invalid,
                "over_rate": feed.over_rate,
            });
            (feed.feed.to_string(), counts)
        })
        .collect::<serde_json::Map<_, _>>()
        .into();
    let sinks: Value = stats
        .lanes
        .iter()
        .map(|lane| {
            let counts = json!({
                "health": lane.health,
                "last_error": lane.last_error,
                "durable": lane.durable,
                "delivered": lane.delivered,
                "queued": lane.queued,
                "filtered": lane.filtered,
                "dropped": lane.dropped.total(),
                "retries": lane.retries,
                "rejected": lane.rejected,
                "gaps": lane.gaps,
                "lag": lane.lag,
            });
            (lane.sink.to_string(), counts)
        })
        .collect::<serde_json::Map<_, _>>()
        .into();
    let store = store.map(|store| {
        let health = store.health();
        json!({
            "writes": health.state == StoreState::Writing,
            "waiting": health.waiting,
            "refused": health.refused,
            "dropped": health.dropped,
        })
    });
    json!({
        "published": stats.published,
        "uncommitted": stats.uncommitted,
        "feeds": feeds,
        "sinks": sinks,
        "store": store,
        "intake": intake.stats().counts(),
        "following": following.counters(),
    })
}

/// What the user should know although nobody asked.
pub(super) fn warning(bus: &Bus, store: Option<&Store>) -> Option<String> {
    if let Some(StoreState::Stalled { since, error }) = store.map(|store| store.health().state) {
        return Some(format!(
            "the store has not been able to write for {} s ({error}); events are kept in memory",
            since.as_secs()
        ));
    }
    let stats = bus.stats();
    let lane = stats.lanes.iter().find(|lane| lane.health == SinkHealth::Quarantined)?;
    let error = lane.last_error.as_deref().unwrap_or("see `linelamp logs`");
    Some(format!("sink `{}` is switched off after repeated failures: {error}", lane.sink))
}
