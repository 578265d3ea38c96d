//! Keeps a panic of somebody else's code where it happened.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

/// Runs `call`; a panic comes back as its message.
pub(super) fn contain<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    // Whoever panicked is thrown away or counted as broken, so what it left half done is not seen.
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| message(&*panic))
}

/// Runs a future; a panic in it comes back as its message. May be dropped at any time.
pub(super) async fn contain_future<'a, T>(
    make: impl FnOnce() -> Boxed<'a, T>,
) -> Result<T, String> {
    let mut guarded = Guarded(Some(contain(make)?));
    poll_fn(|context| {
        let Some(future) = &mut guarded.0 else {
            return Poll::Ready(Err("was polled after its end".to_owned()));
        };
        match contain(|| future.as_mut().poll(context)) {
            Ok(poll) => poll.map(Ok),
            Err(message) => Poll::Ready(Err(message)),
        }
    })
    .await
}

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A future whose own code is contained also when it is dropped.
struct Guarded<'a, T>(Option<Boxed<'a, T>>);

impl<T> Drop for Guarded<'_, T> {
    fn drop(&mut self) {
        let future = self.0.take();
        if let Err(panic) = contain(move || drop(future)) {
            tracing::warn!("a future {panic} while it was dropped");
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("no message"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct PanicsOnDrop;

    impl Drop for PanicsOnDrop {
        fn drop(&mut self) {
            panic!("on drop");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_stays_inside_wherever_it_happens() {
        let early = contain_future(|| -> Boxed<'static, ()> { panic!("early") }).await;
        assert_eq!(early, Err("panicked: early".to_owned()));
        let late = contain_future(|| Box::pin(async { panic!("late {}", 1) })).await;
        assert_eq!(late, Err::<(), _>("panicked: late 1".to_owned()));
        let cut = contain_future(|| {
            let bomb = PanicsOnDrop;
            Box::pin(async move {
                std::future::pending::<()>().await;
                drop(bomb);
            })
        });
        let limit = std::time::Duration::from_secs(1);
        assert!(tokio::time::timeout(limit, cut).await.is_err());
    }
}
