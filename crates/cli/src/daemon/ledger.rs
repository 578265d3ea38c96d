//! What intake asks the store, off the runtime's threads.

use std::sync::Arc;

use linelamp_core::journal::{Cursor, Position};
use linelamp_core::sink::{BoxError, BoxFuture};
use linelamp_feeds::ingest::Ledger;
use linelamp_sinks::store::{Store, StoreError};

/// The store as intake sees it.
#[derive(Debug)]
pub(crate) struct StoreLedger(pub(crate) Arc<Store>);

impl Ledger for StoreLedger {
    fn known<'a>(
        &'a self,
        positions: &'a [Position],
    ) -> BoxFuture<'a, Result<Vec<bool>, BoxError>> {
        let store = Arc::clone(&self.0);
        let positions = positions.to_vec();
        Box::pin(async move {
            let ask = move || positions.iter().map(|position| store.is_known(position)).collect();
            let known: Result<_, StoreError> = tokio::task::spawn_blocking(ask).await?;
            Ok(known?)
        })
    }

    fn cursors(&self, prefix: &str) -> BoxFuture<'_, Result<Vec<Cursor>, BoxError>> {
        let (store, prefix) = (Arc::clone(&self.0), prefix.to_owned());
        Box::pin(
            async move { Ok(tokio::task::spawn_blocking(move || store.cursors(&prefix)).await??) },
        )
    }

    fn has_room(&self) -> bool {
        self.0.has_room()
    }
}
