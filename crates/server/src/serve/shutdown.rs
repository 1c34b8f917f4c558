//! The end of a server: what signals do, and the order in which it ends.
//!
//! First signal: no new connections, idle clients are told, running statements may finish. When the time is over they are
//! cancelled. Then a checkpoint is taken and the database is closed. Second signal: the process ends at once, as by a crash.
//!
//! Invariant: while the database recovers, a signal ends the process at once: there is nobody to wait for.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::server::Server;

/// What a server is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It takes connections.
    Serving,
    /// It ends.
    Ending,
}

/// The exit status of a process that was interrupted.
const INTERRUPTED: i32 = 130;
/// How long cancelled statements may take to notice.
const CANCELLED_MAX: Duration = Duration::from_secs(5);

static SERVER: OnceLock<Arc<Server>> = OnceLock::new();
static SIGNALS: AtomicU32 = AtomicU32::new(0);

/// Makes signals end `server` in good order.
pub fn end_by_signals(server: &Arc<Server>) {
    // A process runs one server.
    drop(SERVER.set(server.clone()));
}

/// Takes a signal. Returns whether a server ends by it; otherwise the process is to end.
pub fn interrupted() -> bool {
    let Some(server) = SERVER.get() else { return false };
    if SIGNALS.fetch_add(1, Ordering::Relaxed) > 0 {
        std::process::exit(INTERRUPTED);
    }
    eprintln!("osier ends when its clients have; a second signal ends it at once");
    server.phase.send_replace(Phase::Ending);
    true
}

/// Waits until all connections have ended: for `patience`, and then until cancelled statements have. Returns whether they have.
pub async fn drain(server: &Server, patience: Duration) -> bool {
    if tokio::time::timeout(patience, server.registry.until_empty()).await.is_ok() {
        return true;
    }
    // A client may begin its next statement just before it sees the end: again and again.
    let cancelling = async {
        loop {
            server.registry.cancel_all();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        () = server.registry.until_empty() => true,
        () = cancelling => false,
        () = tokio::time::sleep(CANCELLED_MAX) => false,
    }
}
