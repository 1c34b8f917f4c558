//! What an interrupt does to a client: it cancels the statement that runs. A second one ends the process.

use std::sync::{Mutex, PoisonError};

use super::connection::{Connection, Server};

/// A statement that can be cancelled.
struct Running {
    server: Server,
    key: (i32, i32),
    was_cancelled: bool,
}

static RUNNING: Mutex<Option<Running>> = Mutex::new(None);

/// Lets interrupts cancel the statements of a connection, while the value lives.
pub struct Interruptible(());

impl Interruptible {
    /// Begins.
    pub fn new(connection: &Connection) -> Interruptible {
        let (server, key) = connection.canceller();
        *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = Some(Running { server, key, was_cancelled: false });
        Interruptible(())
    }
}

impl Drop for Interruptible {
    fn drop(&mut self) {
        *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Takes an interrupt. Returns whether a statement is cancelled by it; otherwise the process is to end.
pub fn interrupted() -> bool {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(running) = running.as_mut().filter(|running| !running.was_cancelled) else { return false };
    running.was_cancelled = true;
    running.server.cancel(running.key);
    true
}
