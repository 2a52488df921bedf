//! When to end: the first signal drains, the second stops.

use std::os::unix::net::UnixDatagram;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::DaemonError;

/// Counts SIGTERM and SIGINT from now on.
pub fn on_signals() -> Result<watch::Receiver<u32>, DaemonError> {
    let listen = |kind| signal(kind).map_err(DaemonError::io("signals", "listen"));
    let mut terminate = listen(SignalKind::terminate())?;
    let mut interrupt = listen(SignalKind::interrupt())?;
    let (sender, receiver) = watch::channel(0);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            sender.send_modify(|count| *count += 1);
        }
    });
    Ok(receiver)
}

/// Tells the service manager that started this process, if one did, such as `READY=1`.
pub fn notify_manager(state: &str) {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    // It may be gone, and nothing depends on it.
    let _ = UnixDatagram::unbound().and_then(|socket| socket.send_to(state.as_bytes(), path));
}
