//! From the configuration to running sinks.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use linelamp_core::bus::{Bus, Filter, SinkSetup, SinkSource};
use linelamp_core::detail::Detail;
use linelamp_core::id::SinkName;
use linelamp_core::sink::{BoxError, SinkFactory};
use linelamp_sinks::desktop::DesktopFactory;
use linelamp_sinks::jsonl::JsonlFactory;
use linelamp_sinks::store::{DurableSink, Store, StoreOptions};
use linelamp_sinks::webhook::WebhookFactory;
use serde_json::Value;

use crate::config::Config;
use crate::config::model::Maker;
use crate::exit::{Failure, USAGE};

/// The kind that is no lane: it is the journal behind the bus.
const STORE: &str = "store";

/// What the configuration asks for, not running yet.
pub(super) struct Sinks {
    store: Option<StoreOptions>,
    lanes: Vec<Plan>,
}

struct Plan {
    name: SinkName,
    factory: Arc<dyn SinkFactory>,
    options: Value,
    filter: Filter,
    detail: Detail,
    durable: bool,
}

impl Sinks {
    /// Reads what is asked for.
    ///
    /// # Errors
    ///
    /// If a kind is not known, or asks for something that is not there.
    pub(super) fn plan(config: &Config) -> Result<Self> {
        let mut sinks = Self { store: None, lanes: Vec::new() };
        for (name, sink) in &config.sinks {
            if !sink.component.enabled {
                continue;
            }
            let kind = match &sink.component.maker {
                Maker::Kind(kind) => kind.as_str(),
                Maker::Plugin { plugin, .. } => {
                    return Err(Failure::new(
                        USAGE,
                        format!(
                            "sink `{name}` wants plugin `{plugin}`: plugins cannot be loaded yet"
                        ),
                    )
                    .hint(format!("set sinks.{name}.enabled = false"))
                    .into());
                }
            };
            if kind == STORE {
                let mut options = StoreOptions::read(&sink.component.options)
                    .map_err(|error| refused(name, &format!("sink `{name}`: {error}")))?;
                options.detail = sink.detail;
                sinks.store = Some(options);
                continue;
            }
            let factory = factory(kind)
                .with_context(|| format!("sink `{name}` has the unknown kind `{kind}`"))?;
            sinks.lanes.push(Plan {
                name: SinkName::new(name.as_str()),
                factory,
                options: sink.component.options.clone(),
                // Only a project's file adds a second one, and no project's file is read here.
                filter: sink.filters.first().cloned().unwrap_or_default(),
                detail: sink.detail,
                // What leaves the machine must not be lost by a restart.
                durable: sink.durable.unwrap_or(kind == "webhook"),
            });
        }
        if sinks.store.is_none() {
            for plan in sinks.lanes.iter_mut().filter(|plan| plan.durable) {
                tracing::warn!(sink = %plan.name, "deliveries do not survive a restart: there is no store");
                plan.durable = false;
            }
        }
        Ok(sinks)
    }

    /// How the store is to be opened, if there is one: with a queue for each durable sink.
    pub(super) fn store(&self) -> Option<StoreOptions> {
        let durable = self
            .lanes
            .iter()
            .filter(|plan| plan.durable)
            .map(|plan| {
                let filter = plan.filter.clone();
                DurableSink::new(plan.name.clone(), plan.detail, move |event| filter.passes(event))
            })
            .collect();
        self.store.clone().map(|options| StoreOptions { durable, ..options })
    }

    /// The most detail that anybody is granted: so much must be read.
    pub(super) fn detail(&self) -> Detail {
        let content = self.lanes.iter().any(|plan| plan.detail == Detail::Content)
            || self.store.as_ref().is_some_and(|store| store.detail == Detail::Content);
        if content { Detail::Content } else { Detail::Metadata }
    }

    /// Builds every sink and gives it its lane.
    ///
    /// # Errors
    ///
    /// If an option is wrong: a daemon that would silently not tell somebody does not start.
    pub(super) fn add(&self, bus: &Bus, store: Option<&Arc<Store>>) -> Result<()> {
        for plan in &self.lanes {
            let name = &plan.name;
            let source = SinkSource::Factory(Arc::clone(&plan.factory), plan.options.clone());
            let setup = SinkSetup::new(name.clone(), source)
                .filter(plan.filter.clone())
                .detail(plan.detail);
            let added = match store.filter(|_| plan.durable) {
                Some(store) => bus.add_durable_sink(setup, Arc::clone(store) as _),
                None => bus.add_sink(setup),
            };
            added.map_err(|error| refused(name.as_str(), &chain(&error)))?;
        }
        Ok(())
    }
}

/// A sink that cannot be, with where to look.
fn refused(name: &str, problem: &str) -> Failure {
    Failure::new(USAGE, problem).hint(format!(
        "mend `[sinks.{name}]` in the configuration, or switch it off: sinks.{name}.enabled = false"
    ))
}

/// An error with its causes, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

fn factory(kind: &str) -> Option<Arc<dyn SinkFactory>> {
    match kind {
        "jsonl" => Some(Arc::new(JsonlFactory)),
        "webhook" => Some(Arc::new(WebhookFactory::new(Arc::new(resolve)))),
        "desktop" => Some(Arc::new(DesktopFactory)),
        _ => None,
    }
}

/// The value behind a reference. The value itself is in no message.
fn resolve(reference: &str) -> Result<String, BoxError> {
    if let Some(name) = reference.strip_prefix("env:") {
        return std::env::var(name).map_err(|_| format!("the variable {name} is not set").into());
    }
    if let Some(path) = reference.strip_prefix("file:") {
        return std::fs::read_to_string(path)
            .map_err(|error| format!("{path} cannot be read: {error}").into());
    }
    Err("a reference is `env:NAME` or `file:PATH`".into())
}
