//! Keeps a panic of somebody else's code where it happened.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;

/// Runs `call`; a panic comes back as its message.
pub(super) fn contain<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    // Whoever panicked is thrown away or counted as broken, so what it left half done is not seen.
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| message(&*panic))
}

/// Runs a future; a panic in it comes back as its message.
pub(super) async fn contain_future<'a, T>(
    make: impl FnOnce() -> Pin<Box<dyn Future<Output = T> + Send + 'a>>,
) -> Result<T, String> {
    let mut future = contain(make)?;
    let outcome = poll_fn(|context| match contain(|| future.as_mut().poll(context)) {
        Ok(poll) => poll.map(Ok),
        Err(message) => std::task::Poll::Ready(Err(message)),
    })
    .await;
    // Dropping it runs its code once more.
    contain(move || drop(future))?;
    outcome
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("no message"))
}
