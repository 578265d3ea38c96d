//! The ring that carries events from the publish lock to the pumps.
//!
//! It is an `async-broadcast` channel behind a type of our own. Any holder of the raw type could turn
//! overflow off and so make the publisher wait; a channel whose last receiver goes closes for good.
//! So the raw type never leaves this file, and one inactive receiver is held for life.

use async_broadcast::{InactiveReceiver, Receiver, RecvError, Sender, TryRecvError, TrySendError};

/// The sending end. Sending never waits: the oldest item goes when the ring is full.
#[derive(Debug)]
pub(super) struct Ring<T> {
    sender: Sender<T>,
    keep: InactiveReceiver<T>,
}

/// One reader's place in the ring.
#[derive(Debug)]
pub(super) struct RingReceiver<T>(Receiver<T>);

/// What a reader got.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken<T> {
    /// The next item.
    Item(T),
    /// The ring overtook this reader: so many items are gone.
    Lapped(u64),
}

impl<T: Clone> Ring<T> {
    /// A ring of `capacity` places.
    pub(super) fn new(capacity: usize) -> Self {
        let (mut sender, receiver) = async_broadcast::broadcast(capacity);
        sender.set_overflow(true);
        sender.set_await_active(false);
        Self { sender, keep: receiver.deactivate() }
    }

    /// Puts an item on the ring. False if the ring is closed.
    pub(super) fn send(&self, item: T) -> bool {
        match self.sender.try_broadcast(item) {
            // Without readers nobody misses it.
            Ok(_) | Err(TrySendError::Inactive(_)) => true,
            Err(TrySendError::Closed(_)) => false,
            Err(TrySendError::Full(_)) => unreachable!("overflow mode makes room"),
        }
    }

    /// A reader that starts after the newest item.
    pub(super) fn receiver(&self) -> RingReceiver<T> {
        RingReceiver(self.keep.activate_cloned())
    }

    /// How many items some reader has not taken yet.
    pub(super) fn len(&self) -> usize {
        self.sender.len()
    }

    /// Lets readers take what is left and then see the end.
    pub(super) fn close(&self) {
        self.sender.close();
    }
}

impl<T: Clone> RingReceiver<T> {
    /// Waits for the next item; none when the ring is closed and read to the end. May be dropped at any
    /// time without losing an item.
    pub(super) async fn recv(&mut self) -> Option<Taken<T>> {
        match self.0.recv_direct().await {
            Ok(item) => Some(Taken::Item(item)),
            Err(RecvError::Overflowed(count)) => Some(Taken::Lapped(count)),
            Err(RecvError::Closed) => None,
        }
    }

    /// The next item, if there is one now.
    pub(super) fn try_recv(&mut self) -> Option<Taken<T>> {
        match self.0.try_recv() {
            Ok(item) => Some(Taken::Item(item)),
            Err(TryRecvError::Overflowed(count)) => Some(Taken::Lapped(count)),
            Err(TryRecvError::Empty | TryRecvError::Closed) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_ring_forgets_the_oldest_and_says_how_many() {
        let ring = Ring::new(4);
        let mut reader = ring.receiver();
        for item in 0..10 {
            assert!(ring.send(item));
        }
        assert_eq!(reader.try_recv(), Some(Taken::Lapped(6)));
        assert_eq!(reader.try_recv(), Some(Taken::Item(6)));
    }

    #[test]
    fn a_ring_without_readers_takes_items_and_stays_open() {
        let ring = Ring::new(2);
        drop(ring.receiver());
        for item in 0..5 {
            assert!(ring.send(item));
        }
        let mut late = ring.receiver();
        assert_eq!(late.try_recv(), None, "a late reader starts after the newest item");
        ring.send(9);
        assert_eq!(late.try_recv(), Some(Taken::Item(9)));
    }

    #[tokio::test]
    async fn a_closed_ring_can_be_read_to_its_end() {
        let ring = Ring::new(4);
        let mut reader = ring.receiver();
        ring.send(1);
        ring.close();
        assert!(!ring.send(2));
        assert_eq!(reader.recv().await, Some(Taken::Item(1)));
        assert_eq!(reader.recv().await, None);
    }
}
