//! Pokes: datagrams that say «look into the spool», as clients send them. Their content means nothing.

use std::io;

/// Where pokes come from. Without a source there are none, and the spool is looked at every second.
#[derive(Debug, Default)]
pub struct Pokes {
    #[cfg(unix)]
    socket: Option<tokio::net::UnixDatagram>,
}

impl Pokes {
    /// No pokes.
    pub fn none() -> Self {
        Self::default()
    }

    /// Pokes that come over a bound socket. Must be called within a runtime.
    ///
    /// # Errors
    ///
    /// If the socket cannot be watched.
    #[cfg(unix)]
    pub fn over(socket: std::os::unix::net::UnixDatagram) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { socket: Some(tokio::net::UnixDatagram::from_std(socket)?) })
    }

    /// Waits for the next poke; all that have come by then are one.
    #[cfg(unix)]
    pub(super) async fn next(&mut self) {
        let mut nothing = [0; 8];
        if let Some(socket) = &self.socket {
            match socket.recv(&mut nothing).await {
                Ok(_) => {
                    while socket.try_recv(&mut nothing).is_ok() {}
                    return;
                }
                Err(error) => {
                    tracing::warn!(%error, "pokes are lost; the spool is still looked at every second");
                    self.socket = None;
                }
            }
        }
        std::future::pending::<()>().await;
    }

    /// Never returns: there are no pokes here.
    #[cfg(not(unix))]
    pub(super) async fn next(&mut self) {
        std::future::pending::<()>().await;
    }
}
