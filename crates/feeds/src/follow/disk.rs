//! Work that blocks, done where blocking is no matter: one step at a time on the runtime's threads for that.

use linelamp_core::bus::PublishError;
use linelamp_core::feed::FeedError;
use linelamp_core::sink::BoxError;

use super::followed::Now;

/// Why a feed ends.
#[derive(Debug)]
pub(super) enum Stop {
    /// The bus takes nothing any more.
    Closed,
    /// Something is broken that trying again would not mend.
    Failed(BoxError),
}

impl From<PublishError> for Stop {
    fn from(_: PublishError) -> Self {
        Self::Closed
    }
}

impl Stop {
    /// What a feed says at its end: that the bus was closed is no error.
    pub(super) fn told(ended: Result<(), Self>) -> Result<(), FeedError> {
        match ended {
            Ok(()) | Err(Self::Closed) => Ok(()),
            Err(Self::Failed(error)) => Err(FeedError(error)),
        }
    }
}

/// What blocks whoever works with it.
pub(super) struct OnDisk<T> {
    /// Away while a thread has it.
    kept: Option<Box<T>>,
}

impl<T: Send + 'static> OnDisk<T> {
    pub(super) fn new(kept: T) -> Self {
        Self { kept: Some(Box::new(kept)) }
    }

    /// A look at it that does not block.
    pub(super) fn get(&self) -> &T {
        self.kept.as_ref().expect("it is back after each step")
    }

    /// Does one step.
    ///
    /// # Errors
    ///
    /// [`Stop::Failed`] if the step panicked; there is no next one then.
    pub(super) async fn step<R: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut T, Now) -> R + Send + 'static,
    ) -> Result<R, Stop> {
        let mut kept = self.kept.take().expect("it is back after each step");
        let done = tokio::task::spawn_blocking(move || {
            let done = work(&mut kept, Now::read());
            (kept, done)
        });
        let (kept, done) = done.await.map_err(|error| Stop::Failed(error.into()))?;
        self.kept = Some(kept);
        Ok(done)
    }
}
